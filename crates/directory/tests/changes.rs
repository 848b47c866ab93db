//! The log of changes of a database: the context vector, causal stamps, changes of another server's log.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use ironbark_directory::{NamingContext, Replayed};
use ironbark_harness::Site;
use ironbark_ldap_proto::{CompareRequest, Request, Scope};
use ironbark_model::ResultCode;
use ironbark_store::{Applied, ChangeRecord, ContextVector, Effect, ValueChange, change::Position};

const LOGGED: &str = "changelog-size 1000000";

fn context(site: &Site) -> Arc<NamingContext> {
    let configuration = site.directory.configuration();
    Arc::clone(configuration.contexts.first().expect("a database"))
}

fn rows(site: &Site) -> Vec<ChangeRecord> {
    let context = context(site);
    let snapshot = context.database().expect("a store").snapshot().expect("readable");
    let rows = snapshot.view().changes(0).expect("readable");
    rows.collect::<Result<_, _>>().expect("readable")
}

fn state(site: &Site) -> ([u8; 32], Option<ContextVector>) {
    let context = context(site);
    let snapshot = context.database().expect("a store").snapshot().expect("readable");
    let view = snapshot.view();
    (
        view.digest().expect("readable"),
        view.context_vector().expect("readable"),
    )
}

fn compares(site: &mut Site, dn: &str, value: &str) -> u32 {
    let request = CompareRequest {
        entry: dn.as_bytes(),
        attribute: b"contextCSN",
        value: value.as_bytes(),
    };
    site.send(&Request::Compare(request), &[]).code
}

#[test]
fn the_suffix_entry_shows_the_vector_and_no_other_entry_does() {
    let mut site = Site::populated(LOGGED);
    let last = rows(&site).last().expect("changes").csn.text();
    let line = format!("contextCSN: {last}\n");
    for names in [&["contextCSN"][..], &["+"]] {
        let found = site.search("dc=ex", Scope::WholeSubtree, "(objectClass=*)", names);
        let with_it: Vec<_> = found.iter().filter(|entry| entry.contains("contextCSN")).collect();
        assert_eq!(with_it.len(), 1);
        assert!(
            with_it
                .iter()
                .all(|entry| entry.starts_with("dn: dc=ex\n") && entry.contains(&line))
        );
    }
    assert!(!site.read("dc=ex", &["*"]).expect("there").contains("contextCSN"));
    assert_eq!(compares(&mut site, "dc=ex", &last), 6);
    assert_eq!(compares(&mut site, "dc=ex", &last.replace("#000#", "#001#")), 5);
    assert_eq!(compares(&mut site, "ou=p,dc=ex", &last), 16);
    assert_eq!(site.modify("dc=ex", "replace: description\nd: x").code, 0);
    let next = rows(&site).last().expect("changes").csn.text();
    assert!(next > last);
    assert_eq!(compares(&mut site, "dc=ex", &next), 6);
}

#[test]
fn a_database_without_a_log_shows_no_vector_and_one_that_gets_one_takes_in_what_its_entry_holds() {
    let held = "20250101000000.000000Z#000000#00a#000000";
    let mut site = Site::populated("");
    assert!(!site.read("dc=ex", &["+"]).expect("there").contains("contextCSN"));
    let context = context(&site);
    // As a tool does without a running server.
    let mut transaction = context.database().expect("a store").write().expect("a transaction");
    let change = ValueChange::Add {
        attribute: "contextCSN".into(),
        values: vec![held.into()],
    };
    let effect = Effect::Modify {
        dn: "dc=ex".into(),
        changes: vec![change],
    };
    transaction.apply_effect(&effect).expect("applied");
    transaction.commit().expect("committed");
    let shown = |site: &mut Site| site.read("dc=ex", &["contextCSN"]).expect("there");
    assert_eq!(shown(&mut site), format!("contextCSN: {held}\n"));
    let configuration = site.configuration("", LOGGED);
    site.directory.reconfigure(configuration).expect("a log more");
    // The entries were added here, before there was a log.
    let own = site.read("cn=c,ou=p,dc=ex", &["entryCSN"]).expect("there");
    let own = own.trim().trim_start_matches("entryCSN: ").to_owned();
    assert_eq!(shown(&mut site), format!("contextCSN: {own}\ncontextCSN: {held}\n"));
    assert_eq!(site.modify("ou=p,dc=ex", "replace: description\nd: x").code, 0);
    let last = rows(&site).last().expect("a change").csn;
    assert_eq!(shown(&mut site), format!("contextCSN: {last}\ncontextCSN: {held}\n"));
    // The database keeps no vector for the entry any more.
    let configuration = site.configuration("", "");
    site.directory.reconfigure(configuration).expect("a log less");
    assert_eq!(site.modify("ou=p,dc=ex", "replace: description\nd: y").code, 0);
    let (_, vector) = state(&site);
    assert_eq!(vector.expect("it goes on").iter().count(), 2);
    assert!(!shown(&mut site).contains(&last.text()));
}

#[test]
fn a_database_with_a_log_finds_entries_by_uuid_without_saying_so() {
    let site = Site::populated(LOGGED);
    let context = context(&site);
    let database = context.database().expect("a store");
    let mut names: Vec<_> = database
        .options()
        .indexes
        .iter()
        .filter(|index| index.equality)
        .map(|index| index.attribute.to_string())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["entryUUID", "objectClass"],
        "a row for each CSN would double what a change writes"
    );
}

#[test]
fn a_log_that_grows_fast_keeps_to_its_size() {
    let mut site = Site::populated("changelog-size 20000");
    let octets = |site: &Site| {
        let context = context(site);
        let snapshot = context.database().expect("a store").snapshot().expect("readable");
        snapshot.view().log_state().expect("readable").bytes
    };
    let mut longest = 0;
    for number in 0..400 {
        let change = format!("replace: description\nd: {number}");
        assert_eq!(site.modify("dc=ex", &change).code, 0);
        longest = longest.max(octets(&site));
    }
    // An eighth may be added before a check, and one more row meanwhile.
    assert!((20_000..24_000).contains(&longest), "{longest}");
    assert!(rows(&site).len() < 200);
}

/// The server's result for a change that it is given.
fn replay(site: &Site, record: &ChangeRecord) -> Replayed {
    let replayed = ironbark_directory::replay(&site.directory, &context(site), record.clone());
    replayed.expect("room").blocking_recv().expect("an end")
}

#[test]
fn changes_of_another_log_come_true_once_and_in_their_order() {
    let mut source = Site::populated(LOGGED);
    source.must_add("cn=x,ou=p,dc=ex", "objectClass: person\nsn: s\ndescription: one");
    assert_eq!(source.modify("cn=x,ou=p,dc=ex", "add: description\nd: two").code, 0);
    assert_eq!(source.rename("cn=x,ou=p,dc=ex", "cn=y", Some("dc=ex")).code, 0);
    assert_eq!(source.delete("cn=b,ou=p,dc=ex").code, 0);
    let records = rows(&source);
    let mut target = Site::open(LOGGED);
    let code = |replayed: Replayed| replayed.map_err(|error| error.result_code);
    for (number, record) in records.iter().enumerate() {
        if let Some(early) = records.get(number + 1) {
            assert_eq!(code(replay(&target, early)), Err(ResultCode::OTHER), "{number}");
        }
        assert_eq!(code(replay(&target, record)), Ok(Applied::Now), "{number}");
        assert_eq!(code(replay(&target, record)), Ok(Applied::Before), "{number}");
    }
    assert_eq!(state(&target), state(&source));
    assert_eq!(rows(&target), records);
    let foreign = ChangeRecord {
        position: Position {
            generation: 1,
            sequence: records.len() as u64 + 1,
        },
        ..ChangeRecord::default()
    };
    assert_eq!(code(replay(&target, &foreign)), Err(ResultCode::OTHER));
    // Its clock shows the same time as the other's, and its changes come later.
    target.must_add("cn=own,dc=ex", "objectClass: person\nsn: s");
    let own = rows(&target).last().expect("a change").csn;
    assert!(records.iter().all(|record| record.csn < own));
}

#[test]
fn a_change_that_lies_far_ahead_of_the_clock_is_refused() {
    let source = Site::populated(LOGGED);
    source.clock.advance(std::time::Duration::from_hours(48));
    let mut source = source;
    assert_eq!(source.modify("dc=ex", "replace: description\nd: x").code, 0);
    let records = rows(&source);
    let target = Site::open(LOGGED);
    let (last, before) = records.split_last().expect("changes");
    for record in before {
        assert_eq!(replay(&target, record).ok(), Some(Applied::Now));
    }
    let refused = replay(&target, last).expect_err("two days ahead");
    assert_eq!(refused.result_code, ResultCode::UNWILLING_TO_PERFORM);
    assert_eq!(rows(&target).len(), before.len());
}
