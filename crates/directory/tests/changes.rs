//! The log of changes of a database: causal stamps, changes of another server's log.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod harness;

use std::sync::Arc;

use harness::Site;
use ironbark_directory::{NamingContext, Replayed};
use ironbark_model::ResultCode;
use ironbark_store::{Applied, ChangeRecord, ContextVector, change::Position};

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

/// What a server makes of a change that it is given.
fn replay(site: &Site, record: &ChangeRecord) -> Replayed {
    let replayed = site.directory.replay(&context(site), record.clone());
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
    // Its clock stands where the other's stood, and its changes come behind.
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
