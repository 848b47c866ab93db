//! The commit of a group of modifications, with and without rows of the log. The disk is not counted.

use ironbark_model::Dn;
use ironbark_store::{ChangeRecord, Csn, Database, Effect, LogMode, RecordedEffect, ValueChange};

use crate::{accounts::Accounts, count};

/// Commits of each kind.
const COMMITS: usize = 200;
/// Modifications in a commit.
const GROUP: usize = 4;

/// Counts commits.
pub fn count_all(accounts: &Accounts) {
    let configuration = accounts.site.directory.configuration();
    let database = configuration.contexts.iter().find_map(|context| context.database());
    let database = database.expect("a database");
    let names: Vec<String> = accounts
        .all
        .iter()
        .map(|account| Dn::parse(&configuration.schema, account.dn.as_bytes()).expect("a DN"))
        .map(|dn| dn.pretty().to_owned())
        .collect();
    for (name, mode) in [
        ("commit-of-four", LogMode::Off),
        ("commit-of-four-with-row", LogMode::RowsAndContext),
    ] {
        count(name, COMMITS, &mut |number| commit(database, &names, mode, number));
    }
}

fn commit(database: &Database, names: &[String], mode: LogMode, number: usize) {
    let mut transaction = database.write().expect("a transaction");
    transaction.log(mode);
    for number in number * GROUP..(number + 1) * GROUP {
        let micros = number as u64;
        let csn = Csn::parse(format!("20260101000000.{micros:06}Z#000000#001#000000").as_bytes()).expect("a CSN");
        let replace = |attribute: &str, value: String| ValueChange::Replace {
            attribute: attribute.into(),
            values: vec![value.into_bytes()],
        };
        let effect = Effect::Modify {
            dn: names[number % names.len()].clone().into(),
            changes: vec![
                replace("description", format!("change {number}")),
                replace("entryCSN", csn.text()),
                replace("modifiersName", "cn=root,dc=ex".to_owned()),
                replace("modifyTimestamp", "20260101000000Z".to_owned()),
            ],
        };
        transaction.apply_effect(&effect).expect("applies");
        let before = transaction.take_before();
        let mut record = ChangeRecord {
            csn,
            unix_micros: i64::try_from(micros).expect("small"),
            author: "cn=root,dc=ex".into(),
            effects: vec![RecordedEffect {
                before,
                ..effect.into()
            }],
            ..ChangeRecord::default()
        };
        transaction.record(&mut record).expect("records");
    }
    transaction.commit().expect("commits");
}
