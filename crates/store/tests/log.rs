//! The log of changes: rows in the transaction of the change, their content, trimming, replay.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::common;

use common::*;
use ironbark_store::{
    Applied, ChangeRecord, Csn, Database, Effect, LogLimits, LogMode, LogState, RecordedEffect, StoreError,
    ValueChange,
    change::{Gone, Position},
    check::Extent,
};
use proptest::prelude::*;

type RawTable<'e> = heed::Database<'e, heed::types::Bytes, heed::types::Bytes>;

const UUID: &str = "597ae2f6-16a6-1027-98f4-d28b5365dc14";
const ANN: &str = "cn=ann,ou=people,dc=example,dc=com";

fn csn(number: u64) -> Csn {
    Csn::parse(format!("20260101000000.{number:06}Z#000000#001#000000").as_bytes()).unwrap()
}

/// Makes each effect a change of its own, all in one transaction. Returns the records.
fn write(store: &Store, mode: LogMode, numbered: impl IntoIterator<Item = (u64, Effect)>) -> Vec<ChangeRecord> {
    write_timed(store, mode, numbered, 1)
}

/// As [`write`]; the change with number n is made `n * micros` after 1970 began.
fn write_timed(
    store: &Store,
    mode: LogMode,
    numbered: impl IntoIterator<Item = (u64, Effect)>,
    micros: i64,
) -> Vec<ChangeRecord> {
    let mut transaction = store.database.write().unwrap();
    transaction.log(mode);
    let mut records = Vec::new();
    for (number, effect) in numbered {
        transaction.apply_effect(&effect).unwrap();
        let before = transaction.take_before();
        let mut record = ChangeRecord {
            csn: csn(number),
            unix_micros: i64::try_from(number).unwrap() * micros,
            effects: vec![RecordedEffect {
                before,
                ..effect.into()
            }],
            ..ChangeRecord::default()
        };
        transaction.record(&mut record).unwrap();
        records.push(record);
    }
    transaction.commit().unwrap();
    records
}

fn tree() -> impl Iterator<Item = (u64, Effect)> {
    let ann = [
        ("objectClass", "person"),
        ("cn", "ann"),
        ("sn", "Lee"),
        ("description", "One"),
        ("description", "Two"),
        ("entryUUID", UUID),
    ];
    (1..).zip(base_tree().into_iter().chain([add(ANN, &ann)]))
}

fn rows(store: &Store, first: u64) -> Vec<ChangeRecord> {
    let snapshot = store.database.snapshot().unwrap();
    let rows = snapshot.view().changes(first).unwrap();
    rows.map(Result::unwrap).collect()
}

fn state(store: &Store) -> LogState {
    store.database.snapshot().unwrap().view().log_state().unwrap()
}

fn everything(keep_from: u64) -> LogLimits {
    LogLimits {
        bytes: 0,
        changes_since: i64::MIN,
        tombstones_since: None,
        keep_from,
    }
}

fn uuid_bytes() -> [u8; 16] {
    let mut bytes = [0; 16];
    let digits: Vec<u8> = UUID.bytes().filter(|byte| *byte != b'-').collect();
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    }
    bytes
}

#[test]
fn rows_are_there_with_the_change_and_with_nothing_else() {
    let store = store();
    let records = write(&store, LogMode::Rows, tree());
    assert_eq!(rows(&store, 0), records);
    assert_eq!(rows(&store, 3), records[2..]);
    let found = state(&store);
    assert_eq!((found.first, found.last), (Some(1), 4));
    assert!(found.generation != 0 && found.bytes > 0);
    assert!(
        records
            .iter()
            .all(|record| record.position.generation == found.generation)
    );
    {
        let mut transaction = store.database.write().unwrap();
        transaction.log(LogMode::Rows);
        transaction.apply_effect(&Effect::Delete { dn: ANN.into() }).unwrap();
        transaction.record(&mut ChangeRecord::default()).unwrap();
    }
    assert_eq!(rows(&store, 0), records, "a dropped transaction leaves nothing");
    assert_sound(&store.database);
}

#[test]
fn a_database_without_followers_has_numbers_and_no_rows() {
    let store = store();
    write(&store, LogMode::Off, tree());
    assert_eq!(rows(&store, 0), []);
    let expected = LogState {
        last: 4,
        ..LogState::default()
    };
    assert_eq!(state(&store), expected);
    let snapshot = store.database.snapshot().unwrap();
    assert_eq!(snapshot.view().position().unwrap(), Some((csn(4).text(), 4)));
    assert_eq!(snapshot.view().context_vector().unwrap(), None);
}

#[test]
fn rows_say_what_is_gone() {
    let store = store();
    write(&store, LogMode::Rows, tree());
    let attribute = |name: &str, values: &[&str]| (name.into(), common::values(values));
    let (description, one) = attribute("description", &["ONE"]);
    let (sn, other) = attribute("sn", &["Li"]);
    let (phone, number) = attribute("telephoneNumber", &["+1"]);
    let changes = vec![
        ValueChange::Delete {
            attribute: description,
            values: one,
        },
        ValueChange::Replace {
            attribute: sn,
            values: other,
        },
        ValueChange::Add {
            attribute: phone,
            values: number,
        },
    ];
    let written = write(
        &store,
        LogMode::Rows,
        [(5, modify(ANN, changes)), (6, Effect::Delete { dn: ANN.into() })],
    );
    let befores: Vec<_> = written.iter().map(|record| &record.effects[0].before).collect();
    assert!(befores.iter().all(|before| before.entry_uuid == uuid_bytes()));
    let gone = vec![values(&["One"]), values(&["Lee"]), Vec::new()];
    assert_eq!(befores[0].gone, Gone::Values(gone));
    let Gone::Entry(entry) = &befores[1].gone else {
        panic!("{:?}", befores[1]);
    };
    assert!(entry.contains(&attribute("telephoneNumber", &["+1"])) && entry.contains(&attribute("sn", &["Li"])));
    let view = store.database.snapshot().unwrap();
    assert_eq!(view.view().tombstone(&uuid_bytes()).unwrap(), Some((csn(6), 6)));
    drop(view);
    write(&store, LogMode::Rows, tree().skip(3));
    let view = store.database.snapshot().unwrap();
    assert_eq!(view.view().tombstone(&uuid_bytes()).unwrap(), None, "it is there again");
}

#[test]
fn the_vector_is_there_once_it_was_begun_and_then_goes_on() {
    let store = store();
    write(&store, LogMode::RowsAndContext, tree());
    let vector = |store: &Store| {
        let snapshot = store.database.snapshot().unwrap();
        let vector = snapshot.view().context_vector().unwrap();
        vector.map(|vector| vector.iter().collect::<Vec<_>>())
    };
    assert_eq!(vector(&store), Some(vec![csn(4)]));
    let position = |number| {
        store
            .database
            .snapshot()
            .unwrap()
            .view()
            .position_of(csn(number))
            .unwrap()
    };
    assert_eq!(
        [position(1), position(3), position(4), position(5)],
        [Some(1), Some(3), Some(4), None]
    );
    let other = Csn::parse(b"20250101000000.000000Z#000000#002#000000").unwrap();
    let mut transaction = store.database.write().unwrap();
    transaction.merge_context([other, csn(1)]).unwrap();
    transaction.commit().unwrap();
    assert_eq!(vector(&store), Some(vec![csn(4), other]), "it is never lowered");
    write(&store, LogMode::Off, [(9, Effect::Delete { dn: ANN.into() })]);
    assert_eq!(vector(&store), Some(vec![csn(9), other]));
}

#[test]
fn what_is_loaded_without_records_ends_the_log_there() {
    let store = store();
    write(&store, LogMode::Rows, tree());
    let mut load = store.database.write().unwrap();
    load.load(&entry(
        "ou=loaded,dc=example,dc=com",
        &[("objectClass", "organizationalUnit"), ("ou", "loaded")],
    ))
    .unwrap();
    load.commit().unwrap();
    assert_eq!((state(&store).first, state(&store).last), (Some(6), 5));
    assert_eq!(rows(&store, 0).len(), 4, "a follower may not have taken them");
    let after = write(&store, LogMode::Rows, [(9, Effect::Delete { dn: ANN.into() })]);
    assert_eq!(after[0].position.sequence, 6);
    // Without a log, later changes have no rows, and the log ends.
    write(
        &store,
        LogMode::Off,
        [(
            10,
            Effect::Delete {
                dn: "ou=loaded,dc=example,dc=com".into(),
            },
        )],
    );
    assert_eq!(state(&store).first, None);
}

/// Makes each effect a change of its own, a minute after the last, and so a row.
fn write_apart(store: &Store, mode: LogMode, numbered: impl IntoIterator<Item = (u64, Effect)>) {
    for one in numbered {
        write_timed(store, mode, [one], MINUTE);
    }
}

/// Makes each effect a change of its own, in a transaction of its own, at about the same time.
fn write_at_once(store: &Store, mode: LogMode, numbered: impl IntoIterator<Item = (u64, Effect)>) {
    for one in numbered {
        write(store, mode, [one]);
    }
}

/// In microseconds.
const MINUTE: i64 = 60_000_000;

#[test]
fn the_log_is_trimmed_in_steps_and_never_below_a_follower() {
    let store = store();
    write_apart(&store, LogMode::Rows, tree());
    let step = store.database.trim_log(&everything(4), 2).unwrap();
    assert_eq!((step.rows, step.is_complete, step.first_kept), (2, false, Some(3)));
    assert_eq!(state(&store).first, Some(3));
    let step = store.database.trim_log(&everything(4), 2).unwrap();
    assert_eq!((step.rows, step.is_complete), (1, true));
    assert_eq!(rows(&store, 0).len(), 1);
    let by_age = LogLimits {
        bytes: u64::MAX,
        changes_since: 5 * MINUTE,
        ..everything(u64::MAX)
    };
    assert_eq!(store.database.trim_log(&by_age, 100).unwrap().rows, 1);
    let expected = LogState {
        first: Some(5),
        bytes: 0,
        ..state(&store)
    };
    assert_eq!(state(&store), expected);
    assert_eq!(
        write(&store, LogMode::Rows, [(9, Effect::Delete { dn: ANN.into() })])[0]
            .position
            .sequence,
        5
    );
    assert_sound(&store.database);
}

#[test]
fn changes_of_a_transaction_go_together_once_the_last_may_go() {
    let store = store();
    write(&store, LogMode::Rows, tree());
    assert_eq!(store.database.trim_log(&everything(4), 9).unwrap().rows, 0);
    let by_age = LogLimits {
        bytes: u64::MAX,
        changes_since: 4,
        ..everything(u64::MAX)
    };
    assert_eq!(store.database.trim_log(&by_age, 9).unwrap().rows, 0);
    assert_eq!(rows(&store, 0).len(), 4);
    assert_eq!(store.database.trim_log(&everything(5), 9).unwrap().rows, 1);
    assert_eq!((state(&store).first, rows(&store, 0).len()), (Some(5), 0));
}

#[test]
fn a_reader_begins_behind_what_it_has_of_each_server() {
    let store = store();
    let of = |server: u16, number: u64| {
        Csn::parse(format!("20260101000000.{number:06}Z#000000#{server:03x}#000000").as_bytes()).unwrap()
    };
    let second = |number| of(2, number);
    write_apart(&store, LogMode::RowsAndContext, tree());
    // Changes of server 2 between changes of server 1; the second of them came with a cookie alone.
    for (number, cookie) in [(10, None), (20, Some(second(25))), (30, None)] {
        let mut transaction = store.database.write().unwrap();
        transaction.log(LogMode::RowsAndContext);
        let effect = modify(
            ANN,
            vec![ValueChange::Replace {
                attribute: "description".into(),
                values: values(&[&number.to_string()]),
            }],
        );
        transaction.apply_effect(&effect).unwrap();
        let mut record = ChangeRecord {
            csn: if cookie.is_some() { csn(number) } else { second(number) },
            unix_micros: number.cast_signed() * MINUTE,
            cookie: cookie.into_iter().collect(),
            effects: vec![effect.into()],
            ..ChangeRecord::default()
        };
        transaction.record(&mut record).unwrap();
        transaction.commit().unwrap();
    }
    let snapshot = store.database.snapshot().unwrap();
    let view = snapshot.view();
    let behind = |csn| view.position_behind(csn).unwrap();
    assert_eq!([second(10), second(11), second(24)].map(behind), [Some(5); 3]);
    assert_eq!([second(25), second(29)].map(behind), [Some(6); 2]);
    assert_eq!([second(30), second(99)].map(behind), [Some(7); 2]);
    assert_eq!([csn(4), csn(19), csn(20)].map(behind), [Some(4), Some(4), Some(6)]);
    assert_eq!([behind(second(1)), view.position_of(second(11)).unwrap()], [None, None]);
    let before_all = |server| view.position_before_all(server).unwrap();
    assert_eq!(
        [1, 2, 3].map(before_all),
        [Some(0); 3],
        "the log began with the database"
    );
    drop(snapshot);
    store.database.trim_log(&everything(6), 99).unwrap();
    let snapshot = store.database.snapshot().unwrap();
    let view = snapshot.view();
    assert_eq!(state(&store).first, Some(6));
    assert_eq!(
        [1, 2, 3].map(|server| view.position_before_all(server).unwrap()),
        [None, None, Some(5)]
    );
}

#[test]
fn a_csn_is_found_wherever_the_log_still_goes_on_from_it() {
    let store = store();
    let other = Csn::parse(b"20260101000000.000007Z#000000#002#000000").unwrap();
    write_apart(&store, LogMode::Rows, tree());
    let mut transaction = store.database.write().unwrap();
    transaction.log(LogMode::Rows);
    transaction.apply_effect(&Effect::Delete { dn: ANN.into() }).unwrap();
    let mut foreign = ChangeRecord {
        csn: other,
        unix_micros: 5 * MINUTE,
        effects: vec![Effect::Delete { dn: ANN.into() }.into()],
        ..ChangeRecord::default()
    };
    transaction.record(&mut foreign).unwrap();
    transaction.commit().unwrap();
    let many = (6..300).map(|n| {
        let changes = vec![ValueChange::Replace {
            attribute: "description".into(),
            values: values(&[&"x".repeat(400), &n.to_string()]),
        }];
        (n, modify("ou=people,dc=example,dc=com", changes))
    });
    write_timed(&store, LogMode::Rows, many, MINUTE);
    let found = |csn| store.database.snapshot().unwrap().view().position_of(csn).unwrap();
    let numbers: Vec<_> = [1, 4, 6, 150, 299]
        .map(csn)
        .into_iter()
        .chain([other])
        .map(found)
        .collect();
    assert_eq!(numbers, [Some(1), Some(4), Some(6), Some(150), Some(299), Some(5)]);
    let never = Csn::parse(b"20260101000000.000003Z#000000#002#000000").unwrap();
    assert_eq!([found(csn(5)), found(csn(300)), found(never)], [None; 3]);
    assert_eq!(rows(&store, 150).len(), 150, "from within a row on");
    // The greatest CSN of each server before the first change leads to the last deleted change.
    store.database.trim_log(&everything(6), 5).unwrap();
    assert_eq!(state(&store).first, Some(6));
    assert_eq!(
        [found(csn(3)), found(csn(4)), found(other), found(csn(6))],
        [None, Some(5), Some(5), Some(6)]
    );
    store.database.trim_log(&everything(u64::MAX), 99).unwrap();
    assert_eq!(
        [found(csn(298)), found(csn(299))],
        [None, Some(299)],
        "nothing is left, and nothing is missing"
    );
    assert_sound(&store.database);
}

/// A change whose row is so long that it goes to `changes` at once, with those that wait.
fn long(number: u64) -> (u64, Effect) {
    let mut state = number;
    let digits = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'a' + u8::try_from(state >> 60).unwrap())
    });
    let description: String = digits.take(16_000).collect();
    let changes = vec![ValueChange::Replace {
        attribute: "description".into(),
        values: values(&[&description]),
    }];
    (number, modify("ou=people,dc=example,dc=com", changes))
}

/// Opens the table `changes` and the table `meta` as anyone can, and lets `change` change them.
fn change_tables(
    store: Store,
    change: impl FnOnce(&mut heed::RwTxn<'_>, [RawTable<'_>; 2]),
) -> (Database, tempfile::TempDir) {
    let Store { database, directory } = store;
    drop(database);
    {
        #[allow(unsafe_code, reason = "a map of a file that nobody else changes")]
        let env = unsafe { heed::EnvOpenOptions::new().max_dbs(16).open(directory.path()) }.unwrap();
        let txn = env.read_txn().unwrap();
        let opened = env.open_databases_and_commit(txn, |opener, txn| {
            let tables = ["changes", "meta"].map(|name| opener.open_database(txn, Some(name)).unwrap().unwrap());
            Ok::<_, heed::Error>(heed::CommitOrAbort::<_, ()>::Commit(tables))
        });
        let tables = opened.unwrap().commit().unwrap();
        let mut txn = env.write_txn().unwrap();
        change(&mut txn, tables);
        txn.commit().unwrap();
        env.prepare_for_closing().wait();
    }
    let database = Database::open(options(directory.path()), schema()).unwrap();
    (database, directory)
}

#[test]
fn the_last_row_grows_with_each_commit_until_it_is_full() {
    let store = store();
    write_at_once(&store, LogMode::Rows, tree());
    write_at_once(&store, LogMode::Rows, [long(5)]);
    let edits = (6..9).map(|number| {
        let changes = vec![ValueChange::Replace {
            attribute: "description".into(),
            values: values(&[&number.to_string(), &"x".repeat(400)]),
        }];
        (number, modify(ANN, changes))
    });
    write_at_once(&store, LogMode::Rows, edits);
    let (database, directory) = change_tables(store, |txn, [changes, meta]| {
        assert_eq!(changes.len(txn).unwrap(), 1, "the first five are full together");
        for key in [&b"log-recent"[..], b"log-recent-behind"] {
            assert!(meta.get(txn, key).unwrap().is_some_and(|waiting| waiting.len() <= 1650));
        }
        assert_eq!(meta.get(txn, b"log-recent").unwrap().unwrap().len(), 1650);
    });
    let store = Store { database, directory };
    // The row goes on after the database was closed.
    write_at_once(&store, LogMode::Rows, [(9, Effect::Delete { dn: ANN.into() })]);
    for first in 0..11 {
        let numbers: Vec<_> = rows(&store, first).iter().map(|row| row.position.sequence).collect();
        assert_eq!(numbers, (first.max(1)..10).collect::<Vec<_>>());
    }
    let found = |number| {
        let snapshot = store.database.snapshot().unwrap();
        snapshot.view().position_of(csn(number)).unwrap()
    };
    let expected: Vec<_> = (1..10).map(Some).chain([None]).collect();
    assert_eq!((1..11).map(found).collect::<Vec<_>>(), expected);
    for (keep_from, first) in [(4, 1), (7, 6), (9, 6), (10, 10)] {
        store.database.trim_log(&everything(keep_from), 99).unwrap();
        assert_eq!(
            (state(&store).first, rows(&store, 0).len() as u64),
            (Some(first), 10 - first)
        );
    }
    assert_eq!(state(&store).bytes, 0);
    write_at_once(&store, LogMode::Rows, [long(10)]);
    assert_eq!(rows(&store, 0).len(), 1);
    assert_sound(&store.database);
}

#[test]
fn the_log_is_as_long_as_its_rows_are() {
    let store = store();
    write_at_once(&store, LogMode::Rows, tree());
    for number in 5..40 {
        // Commits that are dropped leave no trace in the row that goes on.
        let mut dropped = store.database.write().unwrap();
        dropped.log(LogMode::Rows);
        let (_, effect) = long(number);
        dropped.apply_effect(&effect).unwrap();
        let effects = vec![effect.into()];
        let mut record = ChangeRecord {
            effects,
            ..ChangeRecord::default()
        };
        dropped.record(&mut record).unwrap();
        drop(dropped);
        let text = "y".repeat(usize::try_from(number * 37).unwrap());
        let changes = vec![ValueChange::Replace {
            attribute: "description".into(),
            values: values(&[&text]),
        }];
        write_at_once(&store, LogMode::Rows, [(number, modify(ANN, changes))]);
    }
    let (bytes, count) = (state(&store).bytes, rows(&store, 0).len());
    assert_eq!(count, 39);
    let (_database, _directory) = change_tables(store, |txn, [changes, meta]| {
        let settled: usize = changes.iter(txn).unwrap().map(|row| row.unwrap().1.len()).sum();
        let parts =
            [&b"log-recent"[..], b"log-recent-behind"].map(|key| meta.get(txn, key).unwrap().map_or(0, <[u8]>::len));
        // A number of one octet stands before the row that waits.
        let waiting = parts.iter().sum::<usize>().saturating_sub(1);
        assert_eq!(bytes, (settled + waiting) as u64);
    });
}

#[test]
fn the_last_row_may_get_shorter_with_its_vector() {
    let store = store();
    let mut tree = tree();
    write(&store, LogMode::RowsAndContext, tree.next());
    let of_server = |server| Csn::parse(format!("20260101000000.000000Z#000000#{server:03x}#000000").as_bytes());
    let mut transaction = store.database.write().unwrap();
    transaction.merge_context((1..100).filter_map(of_server)).unwrap();
    transaction.commit().unwrap();
    write(&store, LogMode::RowsAndContext, tree.next());
    let mut transaction = store.database.write().unwrap();
    transaction.put_context(&[csn(2)].into_iter().collect()).unwrap();
    transaction.commit().unwrap();
    write(&store, LogMode::RowsAndContext, tree);
    assert_eq!(rows(&store, 0).len(), 4);
    assert_sound(&store.database);
}

#[test]
fn damage_among_the_last_rows_is_told() {
    for cut in [1, 40, 200] {
        let store = store();
        write_at_once(&store, LogMode::Rows, tree());
        let (database, directory) = change_tables(store, |txn, [_, meta]| {
            let waiting = meta.get(txn, b"log-recent").unwrap().unwrap().to_vec();
            meta.put(txn, b"log-recent", &waiting[..waiting.len() - cut]).unwrap();
        });
        let snapshot = database.snapshot().unwrap();
        let rows: Vec<_> = snapshot.view().changes(0).unwrap().collect();
        assert!(rows.len() < 5 && matches!(rows.last(), Some(Err(StoreError::Format(_)))));
        drop(snapshot);
        drop((database, directory));
    }
}

#[test]
fn a_gap_that_damage_made_ends_the_search_for_a_csn() {
    let store = store();
    write_apart(&store, LogMode::Rows, tree());
    write_apart(&store, LogMode::Rows, [long(5)]);
    let (database, _directory) = change_tables(store, |txn, [changes, _]| {
        for key in [1, 2, 3] {
            assert!(changes.delete(txn, &[key]).unwrap());
        }
    });
    let found = |number| database.snapshot().unwrap().view().position_of(csn(number)).unwrap();
    assert_eq!([found(1), found(3), found(4), found(6)], [None, None, Some(4), None]);
}

#[test]
fn followers_are_remembered_until_they_no_longer_follow() {
    let store = store();
    let mut transaction = store.database.write().unwrap();
    transaction.put_follower("one", 7, b"notes").unwrap();
    transaction.put_follower("two", 300, b"").unwrap();
    transaction.commit().unwrap();
    let found = |name| store.database.snapshot().unwrap().view().follower(name).unwrap();
    assert_eq!(found("one"), Some((7, b"notes".to_vec())));
    store.database.keep_followers(&["two"]).unwrap();
    assert_eq!((found("one"), found("two")), (None, Some((300, Vec::new()))));
}

#[test]
fn a_restored_database_has_another_log() {
    let store = store();
    write(&store, LogMode::Rows, tree());
    let before = state(&store);
    let mut transaction = store.database.write().unwrap();
    transaction.mark_restored().unwrap();
    transaction.commit().unwrap();
    let after = state(&store);
    assert_ne!(after.generation, before.generation);
    assert_eq!(after.first, Some(6));
    assert!(store.database.snapshot().unwrap().view().is_restored().unwrap());
}

#[test]
fn changes_of_another_log_and_those_that_come_too_early_are_refused() {
    let (source, target) = (store(), store());
    let records = write(&source, LogMode::Rows, tree());
    let apply = |record: &ChangeRecord| {
        let mut transaction = target.database.write().unwrap();
        let applied = transaction.apply(record)?;
        transaction.commit()?;
        Ok(applied)
    };
    assert!(matches!(apply(&records[1]), Err(StoreError::Inapplicable(_))));
    assert_eq!(apply(&records[0]).unwrap(), Applied::Now);
    assert_eq!(apply(&records[0]).unwrap(), Applied::Before);
    let foreign = ChangeRecord {
        position: Position {
            generation: 1,
            ..records[1].position
        },
        ..records[1].clone()
    };
    assert!(matches!(apply(&foreign), Err(StoreError::Inapplicable(_))));
    assert_eq!(apply(&records[1]).unwrap(), Applied::Now);
}

/// Delivers records to a replica in groups, as they come: some twice, some too early, some groups dropped. Refused
/// records come again at the end.
fn deliver(target: &Database, records: &[ChangeRecord], deliveries: &[(usize, usize, bool)]) {
    let in_order = std::iter::once((0, records.len(), true));
    for (first, count, commits) in deliveries.iter().copied().chain(in_order) {
        let first = first % records.len();
        let group = records.iter().skip(first).take(count);
        let mut transaction = target.write().unwrap();
        transaction.log(LogMode::RowsAndContext);
        let all = group
            .map(|record| transaction.apply(record))
            .collect::<Result<Vec<_>, _>>();
        if all.is_ok() && commits {
            transaction.commit().unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_interleaving_of_deliveries_gives_the_source(
        deliveries in prop::collection::vec((0usize..40, 1usize..8, any::<bool>()), 0..30)
    ) {
        let (source, target) = (store(), store());
        let people = (0..20u64).map(|n| {
            let cn = format!("p{n}");
            add(&format!("cn={cn},ou=people,dc=example,dc=com"), &[("objectClass", "person"), ("cn", &cn), ("sn", "s")])
        });
        let gone = (0..20u64).step_by(3).map(|n| Effect::Delete { dn: format!("cn=p{n},ou=people,dc=example,dc=com").into() });
        let moved = Effect::Rename {
            dn: "ou=people,dc=example,dc=com".into(),
            new_dn: "ou=staff,dc=example,dc=com".into(),
            changes: vec![],
        };
        let effects = base_tree().into_iter().chain(people).chain(gone).chain([moved]);
        let records = write(&source, LogMode::RowsAndContext, (1..).zip(effects));
        deliver(&target.database, &records, &deliveries);
        let digest = |store: &Store| store.database.snapshot().unwrap().view().digest().unwrap();
        let vector = |store: &Store| store.database.snapshot().unwrap().view().context_vector().unwrap();
        prop_assert_eq!(digest(&source), digest(&target));
        prop_assert_eq!(vector(&source), vector(&target));
        prop_assert_eq!(rows(&source, 0), rows(&target, 0));
        let numbers = |store: &Store| (state(store).first, state(store).last, state(store).generation);
        prop_assert_eq!(numbers(&source), numbers(&target));
    }
}

#[test]
fn the_deep_check_finds_two_entries_with_one_uuid() {
    let store = store();
    write(&store, LogMode::Rows, tree());
    assert_sound(&store.database);
    let twin = [
        ("objectClass", "person"),
        ("cn", "twin"),
        ("sn", "Lee"),
        ("entryUUID", UUID),
    ];
    write(
        &store,
        LogMode::Rows,
        [(9, add("cn=twin,ou=people,dc=example,dc=com", &twin))],
    );
    let report = store.database.check(Extent::Everything, &mut |_| {}).unwrap();
    let texts = report.findings.texts();
    assert!(
        texts.len() == 1 && texts[0].contains("has the entryUUID of entry"),
        "{texts:?}"
    );
}
