//! Bulk build: makes the same database as adding entry by entry, in any order; a failure leaves nothing behind.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tests"
)]

use crate::common;

use common::*;
use ironbark_model::Entry;
use ironbark_store::{BulkBuilder, ContextVector, Csn, Database, DitScope, PreparedEntry, Preparer, StoreError};

const ALL: &str = "dc=example,dc=com";

fn entries(count: usize) -> Vec<Entry> {
    let mut entries = vec![
        entry(ALL, &[("objectClass", "domain"), ("dc", "example")]),
        entry(
            "ou=people,dc=example,dc=com",
            &[("objectClass", "organizationalUnit"), ("ou", "people")],
        ),
    ];
    for n in 0..count {
        let (uid, cn) = (format!("u{n}"), format!("User Number {n}"));
        let name = format!("uid={uid},ou=people,dc=example,dc=com");
        let entry_uuid = format!("{n:08x}-0000-4000-8000-000000000000");
        entries.push(entry(
            &name,
            &[
                ("objectClass", "inetOrgPerson"),
                ("uid", &uid),
                ("cn", &cn),
                ("sn", ["Smith", "Jones"][n % 2]),
                ("entryUUID", &entry_uuid),
                (
                    "description",
                    "a text that all of them have in common, and that is worth sharing",
                ),
            ],
        ));
    }
    let members: Vec<String> = (0..200)
        .map(|n| format!("uid=u{n},ou=people,dc=example,dc=com"))
        .collect();
    let mut lines = vec![("objectClass", "groupOfNames"), ("cn", "all")];
    lines.extend(members.iter().map(|member| ("member", member.as_str())));
    entries.push(entry("cn=all,dc=example,dc=com", &lines));
    entries
}

#[test]
fn a_bulk_build_equals_single_additions() {
    let entries = entries(3000);
    let single = store();
    let mut write = single.database.write().unwrap();
    for entry in &entries {
        write.load(entry).unwrap();
    }
    write.commit().unwrap();

    // In memory, and with many runs in files.
    for memory_limit in [64 << 20, 20_000] {
        bulk_equals(&single, &entries, memory_limit);
    }
}

fn bulk_equals(single: &Store, entries: &[Entry], memory_limit: usize) {
    let directory = tempfile::tempdir().unwrap();
    let mut builder = BulkBuilder::new(options(directory.path()), schema(), memory_limit).unwrap();
    for entry in entries {
        builder.add(entry).unwrap();
    }
    let runs = std::fs::read_dir(directory.path().join("bulk-build.tmp")).unwrap();
    let runs = runs.filter(|file| {
        file.as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with("keys.")
    });
    assert_eq!(runs.count() > 10, memory_limit == 20_000);
    builder.finish().unwrap();
    let bulk = Store {
        database: Database::open(options(directory.path()), schema()).unwrap(),
        directory,
    };
    let (a, b) = (single.database.snapshot().unwrap(), bulk.database.snapshot().unwrap());
    assert_eq!(a.view().digest().unwrap(), b.view().digest().unwrap());
    for filter in [
        "(uid=u2999)",
        "(cn=*ber 17*)",
        "(sn=jones)",
        "(cn~=numbar)",
        "(member=uid=u5,ou=people,dc=example,dc=com)",
    ] {
        assert_eq!(
            bulk.search(ALL, DitScope::Subtree, filter),
            single.search(ALL, DitScope::Subtree, filter),
            "{filter}"
        );
        assert_eq!(
            bulk.explain(ALL, DitScope::Subtree, filter),
            single.explain(ALL, DitScope::Subtree, filter),
            "{filter}"
        );
    }
    drop((a, b));
    // It is an ordinary database.
    bulk.apply(&[add("cn=later,dc=example,dc=com", &[("cn", "later")])])
        .unwrap();
    assert_eq!(bulk.search(ALL, DitScope::Subtree, "(cn=later)").len(), 1);
    assert!(!bulk.directory.path().join("bulk-build.tmp").exists());
    assert_sound(&bulk.database);
    assert_sound(&single.database);
}

/// With a log before it or without, under a handle that was open before.
#[test]
fn a_build_goes_whole_into_an_open_database_that_never_had_entries() {
    let entries = entries(3000);
    let single = store();
    let mut write = single.database.write().unwrap();
    for entry in &entries {
        write.load(entry).unwrap();
    }
    write.commit().unwrap();
    let csn = Csn::parse(b"20260101000000.000001Z#000000#001#000000").unwrap();
    let vector = std::iter::once(csn).collect();
    let live = store();
    let before = live.database.snapshot().unwrap();
    let indexes = live.database.options().indexes.clone();
    let mut builder = BulkBuilder::beside(&live.database, indexes.clone(), 64 << 20).unwrap();
    assert!(
        BulkBuilder::beside(&live.database, indexes.clone(), 64 << 20).is_err(),
        "one at a time"
    );
    for entry in &entries {
        builder.add(entry).unwrap();
    }
    let gone = (
        [7; 16],
        Csn::parse(b"20260101000000.000001Z#000000#001#000000").unwrap(),
    );
    builder.install(&live.database, &vector, &vector, &[gone]).unwrap();
    assert_eq!(before.view().entry_count().unwrap(), 0, "a snapshot stays as it was");
    drop(before);
    {
        let (a, b) = (single.database.snapshot().unwrap(), live.database.snapshot().unwrap());
        assert_eq!(a.view().digest().unwrap(), b.view().digest().unwrap());
        assert_eq!(b.view().context_vector().unwrap(), Some(vector.clone()));
    }
    for filter in ["(uid=u2999)", "(cn=*ber 17*)", "(sn=jones)", "(!(sn=jones))"] {
        let (found, expected) = (
            live.explain(ALL, DitScope::Subtree, filter),
            single.explain(ALL, DitScope::Subtree, filter),
        );
        assert_eq!(found, expected, "{filter}");
        assert_eq!(
            live.search(ALL, DitScope::Subtree, filter),
            single.search(ALL, DitScope::Subtree, filter),
            "{filter}"
        );
    }
    live.apply(&[add("cn=later,dc=example,dc=com", &[("cn", "later")])])
        .unwrap();
    assert_eq!(live.search(ALL, DitScope::Subtree, "(cn=later)").len(), 1);
    assert!(!live.directory.path().join("bulk-build.tmp").exists());
    assert_sound(&live.database);
    assert!(
        BulkBuilder::beside(&live.database, indexes, 64 << 20).is_err(),
        "it has entries now"
    );
}

#[test]
fn a_build_for_a_database_that_gets_entries_meanwhile_changes_nothing() {
    let live = store();
    let indexes = live.database.options().indexes.clone();
    let mut builder = BulkBuilder::beside(&live.database, indexes, 64 << 20).unwrap();
    for entry in &entries(3) {
        builder.add(entry).unwrap();
    }
    live.apply(&[add(ALL, &[("objectClass", "domain"), ("dc", "example")])])
        .unwrap();
    let nothing = ContextVector::default();
    assert!(builder.install(&live.database, &nothing, &nothing, &[]).is_err());
    assert_eq!(live.database.snapshot().unwrap().view().entry_count().unwrap(), 1);
    assert!(!live.directory.path().join("bulk-build.tmp").exists());
    assert_sound(&live.database);
}

fn prepare(preparer: &mut Preparer, entry: &Entry) -> PreparedEntry {
    let attributes = entry.attributes.iter();
    let attributes = attributes.map(|found| (&found.description, found.values.iter().map(Vec::as_slice)));
    preparer.prepare(entry.dn.clone(), attributes).unwrap()
}

#[test]
fn threads_prepare_and_order_is_kept() {
    let entries = entries(500);
    let directory = tempfile::tempdir().unwrap();
    let mut builder = BulkBuilder::new(options(directory.path()), schema(), 8 << 20).unwrap();
    let preparers = builder.preparers();
    let ready: Vec<_> = std::thread::scope(|scope| {
        let parts: Vec<_> = entries
            .chunks(100)
            .map(|part| {
                let mut preparer = preparers.preparer();
                scope.spawn(move || {
                    part.iter()
                        .map(|entry| prepare(&mut preparer, entry))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    for (prepared, id) in ready.iter().zip(1..) {
        assert_eq!(builder.add_prepared(prepared).unwrap(), id);
    }
    builder.finish().unwrap();
    let database = Database::open(options(directory.path()), schema()).unwrap();
    assert_eq!(
        database.snapshot().unwrap().view().entry_count().unwrap(),
        entries.len() as u64
    );
}

#[test]
fn superiors_may_come_late() {
    let mut entries = entries(50);
    let digest_of = |entries: &[Entry]| {
        let directory = tempfile::tempdir().unwrap();
        let mut builder = BulkBuilder::new(options(directory.path()), schema(), 8 << 20).unwrap();
        for entry in entries {
            builder.add(entry).unwrap();
        }
        builder.finish().unwrap();
        let database = Database::open(options(directory.path()), schema()).unwrap();
        let snapshot = database.snapshot().unwrap();
        assert_eq!(search(snapshot.view(), ALL, DitScope::Subtree, "(uid=*)").len(), 50);
        snapshot.view().digest().unwrap()
    };
    let ordered = digest_of(&entries);
    entries.reverse();
    assert_eq!(digest_of(&entries), ordered);
}

#[test]
fn errors_name_the_entry_and_the_build_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut builder = BulkBuilder::new(options(directory.path()), schema(), 8 << 20).unwrap();
    let entries = entries(3);
    builder.add(&entries[0]).unwrap();
    let again = builder.add(&entries[0]).unwrap_err();
    assert!(again.to_string().contains("dc=example,dc=com: entry exists"), "{again}");
    assert!(builder.add(&entry("dc=org", &[("dc", "org")])).is_err());
    builder.add(&entries[2]).unwrap();
    assert_eq!(builder.missing_superiors(5), ["ou=people,dc=example,dc=com"]);
    let error = builder.finish().unwrap_err();
    assert!(error.to_string().contains("ou=people,dc=example,dc=com"), "{error}");
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_database_with_entries_is_not_built_over() {
    let store = store();
    store.people();
    let Store { database, directory } = store;
    drop(database);
    let error = BulkBuilder::new(options(directory.path()), schema(), 1 << 20)
        .err()
        .unwrap();
    assert!(matches!(error, StoreError::Format(_)));
    let database = Database::open(options(directory.path()), schema()).unwrap();
    assert_eq!(database.snapshot().unwrap().view().entry_count().unwrap(), 3);
}

#[test]
fn a_file_that_comes_while_another_is_built_is_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let mut builder = BulkBuilder::new(options(directory.path()), schema(), 1 << 20).unwrap();
    for entry in &entries(3) {
        builder.add(entry).unwrap();
    }
    // Another process makes the database, writes to it, and has closed it when the build ends.
    let database = Database::open(options(directory.path()), schema()).unwrap();
    let mut write = database.write().unwrap();
    write
        .apply_effect(&add(ALL, &[("objectClass", "domain"), ("dc", "example")]))
        .unwrap();
    write.commit().unwrap();
    drop(database);
    let refused = builder.finish().unwrap_err();
    assert!(matches!(refused, StoreError::InUse(_)), "{refused}");
    let database = Database::open(options(directory.path()), schema()).unwrap();
    assert_eq!(database.snapshot().unwrap().view().entry_count().unwrap(), 1);
    assert!(!directory.path().join("bulk-build.tmp").exists());
}
