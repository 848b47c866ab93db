//! Entries through effects: names, values, renames, external sets, digests, limits.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tests"
)]

use crate::common;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use common::*;
use ironbark_model::{Dn, Entry};
use ironbark_store::{
    BucketSums, ChangeRecord, Database, DitScope, Effect, Location, StoreError, Subtrees, ValueChange,
};

fn entry_of(store: &Store, name: &str) -> Entry {
    let snapshot = store.database.snapshot().unwrap();
    let view = snapshot.view();
    let record = view.record(locate(view, name)).unwrap().unwrap();
    record.to_entry(view.dn(record.id).unwrap()).unwrap()
}

#[test]
fn an_entry_comes_back_as_it_was_added() {
    let store = store();
    store.people();
    let lines = [
        ("objectClass", "inetOrgPerson"),
        ("uid", "anna"),
        ("cn", "Anna  Zeta"),
        ("cn", "Anna Alpha"),
        ("sn", "Zeta"),
        ("cn;lang-de", "Änne"),
        ("entryUUID", "597ae2f6-16a6-1027-98f4-d28b5365dc14"),
        ("createTimestamp", "20260101000000Z"),
        ("entryCSN", "20260101000000.000001Z#000000#000#000000"),
    ];
    store
        .apply(&[add("uid=anna,ou=people,dc=example,dc=com", &lines)])
        .unwrap();
    let found = entry_of(&store, "UID=Anna, ou=People,dc=example,dc=com");
    assert_eq!(found, entry("uid=anna,ou=people,dc=example,dc=com", &lines));
    assert_eq!(found.dn.pretty(), "uid=anna,ou=people,dc=example,dc=com");
}

#[test]
fn locate_tells_the_closest_superior() {
    let store = store();
    store.people();
    let snapshot = store.database.snapshot().unwrap();
    let view = snapshot.view();
    let people = locate(view, "ou=people,dc=example,dc=com");
    let missing = view.locate(&dn("cn=a,cn=b,ou=people,dc=example,dc=com")).unwrap();
    assert_eq!(
        missing,
        Location::Missing {
            ancestor: Some((people, 3))
        }
    );
    assert_eq!(
        view.locate(&dn("dc=org")).unwrap(),
        Location::Missing { ancestor: None }
    );
    assert!(view.has_subordinates(locate(view, "dc=example,dc=com")).unwrap());
    assert!(!view.has_subordinates(people).unwrap());
}

#[test]
fn entries_below_others_are_found_once_and_a_few_at_a_time() {
    let store = store();
    store.people();
    let inner = add(
        "ou=inner,ou=people,dc=example,dc=com",
        &[("objectClass", "organizationalUnit")],
    );
    let person = |number: usize| {
        let above = ["ou=people", "ou=inner,ou=people"][number % 2];
        add(
            &format!("uid=u{number},{above},dc=example,dc=com"),
            &[("objectClass", "account")],
        )
    };
    let all: Vec<_> = std::iter::once(inner).chain((0..2_500).map(person)).collect();
    store.apply(&all).unwrap();
    let snapshot = store.database.snapshot().unwrap();
    let view = snapshot.view();
    let (mut subtrees, mut found, mut rounds) = (Subtrees::default(), Vec::new(), 0);
    // As after thousands of renames.
    for _ in 0..2_000 {
        for name in ["ou=people,dc=example,dc=com", "ou=inner,ou=people,dc=example,dc=com"] {
            subtrees.add(locate(view, name));
        }
        rounds += usize::from(!subtrees.is_done());
        let before = found.len();
        subtrees.walk(view, &mut |id| found.push(id)).unwrap();
        assert!(found.len() - before <= 1_000);
    }
    // Each is found below its superior, and looked at itself.
    assert!(subtrees.is_done() && (5..=7).contains(&rounds), "{rounds}");
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 2_501);
}

#[test]
fn effects_that_do_not_fit_are_refused() {
    let store = store();
    store.people();
    let refused = |effect: Effect| {
        let error = store.apply(&[effect]).unwrap_err();
        assert!(matches!(error, StoreError::Inapplicable(_)), "{error}");
    };
    refused(add("ou=people,dc=example,dc=com", &[("ou", "people")]));
    refused(add("cn=a,ou=nowhere,dc=example,dc=com", &[("cn", "a")]));
    refused(add("cn=a,dc=org", &[("cn", "a")]));
    refused(Effect::Delete {
        dn: "ou=x,dc=example,dc=com".into(),
    });
    let delete = ValueChange::Delete {
        attribute: "ou".into(),
        values: values(&["other"]),
    };
    refused(modify("ou=people,dc=example,dc=com", vec![delete]));
    refused(Effect::Rename {
        dn: "ou=people,dc=example,dc=com".into(),
        new_dn: "ou=people,ou=people,dc=example,dc=com".into(),
        changes: vec![],
    });
    assert_eq!(store.database.snapshot().unwrap().view().entry_count().unwrap(), 3);
}

#[test]
fn replace_moves_an_attribute_to_the_end_and_delete_removes_by_normal_form() {
    let store = store();
    store.people();
    let name = "cn=a,ou=people,dc=example,dc=com";
    store
        .apply(&[
            add(
                name,
                &[
                    ("objectClass", "person"),
                    ("cn", "a"),
                    ("sn", "x"),
                    ("description", "One Two"),
                ],
            ),
            modify(
                name,
                vec![
                    ValueChange::Replace {
                        attribute: "sn".into(),
                        values: values(&["y", "z"]),
                    },
                    ValueChange::Add {
                        attribute: "cn".into(),
                        values: values(&["b"]),
                    },
                    ValueChange::Delete {
                        attribute: "description".into(),
                        values: values(&["one  TWO"]),
                    },
                    ValueChange::Replace {
                        attribute: "seeAlso".into(),
                        values: vec![],
                    },
                ],
            ),
        ])
        .unwrap();
    let expected = entry(
        name,
        &[
            ("objectClass", "person"),
            ("cn", "a"),
            ("cn", "b"),
            ("sn", "y"),
            ("sn", "z"),
        ],
    );
    assert_eq!(entry_of(&store, name), expected);
    let all = "dc=example,dc=com";
    assert_eq!(store.search(all, DitScope::Subtree, "(sn=x)"), [""; 0]);
    assert_eq!(store.search(all, DitScope::Subtree, "(sn=Y)"), [name]);
    assert_eq!(store.search(all, DitScope::Subtree, "(cn=b)"), [name]);
}

#[test]
fn a_subtree_rename_moves_all_and_bumps_the_structure_version() {
    let store = store();
    store.people();
    store
        .apply(&[add(
            "cn=a,ou=people,dc=example,dc=com",
            &[("objectClass", "person"), ("cn", "a")],
        )])
        .unwrap();
    let version = |store: &Store| store.database.snapshot().unwrap().view().structure_version().unwrap();
    let before = version(&store);
    store
        .apply(&[Effect::Rename {
            dn: "ou=people,dc=example,dc=com".into(),
            new_dn: "ou=Staff,ou=groups,dc=example,dc=com".into(),
            changes: vec![ValueChange::Replace {
                attribute: "ou".into(),
                values: values(&["Staff"]),
            }],
        }])
        .unwrap();
    assert_ne!(version(&store), before);
    let found = store.search("ou=groups,dc=example,dc=com", DitScope::Subtree, "(cn=a)");
    assert_eq!(found, ["cn=a,ou=Staff,ou=groups,dc=example,dc=com"]);
    let snapshot = store.database.snapshot().unwrap();
    assert!(matches!(
        snapshot.view().locate(&dn("cn=a,ou=people,dc=example,dc=com")).unwrap(),
        Location::Missing { .. }
    ));
    // Changing only the case keeps the place.
    drop(snapshot);
    store
        .apply(&[Effect::Rename {
            dn: "ou=staff,ou=groups,dc=example,dc=com".into(),
            new_dn: "ou=STAFF,ou=groups,dc=example,dc=com".into(),
            changes: vec![],
        }])
        .unwrap();
    let found = store.search("dc=example,dc=com", DitScope::Subtree, "(cn=a)");
    assert_eq!(found, ["cn=a,ou=STAFF,ou=groups,dc=example,dc=com"]);
    assert_sound(&store.database);
}

/// Values that the name has too are stored with it alone.
#[test]
fn values_stay_when_the_name_changes() {
    let store = store();
    store.people();
    let people = "ou=people,dc=example,dc=com";
    let long = "long ".repeat(40);
    for (cn, rdn, new_rdn) in [
        ("Anna", "cn=Anna", "cn=anna b"),
        ("a,b+c=d", r"cn=a\,b\+c=d", "cn=x"),
        ("a=b", "cn=a=b", "sn=a=b"),
        (long.trim(), &format!("cn={}", long.trim()), "sn=Anna"),
    ] {
        let (name, new_name) = (format!("{rdn},{people}"), format!("{new_rdn},{people}"));
        let lines = [
            ("objectClass", "inetOrgPerson"),
            ("cn", cn),
            ("sn", "Anna"),
            ("displayName", cn),
            ("title", "cn"),
        ];
        store.apply(&[add(&name, &lines)]).unwrap();
        assert_eq!(entry_of(&store, &name), entry(&name, &lines));
        let rename = |from: &str, to: &str| Effect::Rename {
            dn: from.into(),
            new_dn: to.into(),
            changes: vec![],
        };
        store.apply(&[rename(&name, &new_name)]).unwrap();
        assert_eq!(entry_of(&store, &new_name), entry(&new_name, &lines));
        let another = vec![ValueChange::Add {
            attribute: "displayName".into(),
            values: values(&["another"]),
        }];
        store
            .apply(&[rename(&new_name, &name), modify(&name, another)])
            .unwrap();
        let both = [&lines[..4], &[("displayName", "another")], &lines[4..]].concat();
        assert_eq!(entry_of(&store, &name), entry(&name, &both));
        let found = store.search(people, DitScope::Subtree, "(&(title=cn)(displayName=another))");
        assert_eq!(found.len(), 1, "{found:?}");
        store.apply(&[Effect::Delete { dn: name.into() }]).unwrap();
        assert_sound(&store.database);
    }
}

fn member(number: u32) -> Vec<u8> {
    format!("uid=user{number},ou=people,dc=example,dc=com").into_bytes()
}

#[test]
fn a_big_group_changes_by_the_member() {
    let store = store();
    store.people();
    let name = "cn=all,ou=groups,dc=example,dc=com";
    let members: Vec<Vec<u8>> = (0..5000).map(member).collect();
    let mut attributes = attributes(&[("objectClass", "groupOfNames"), ("cn", "all")]);
    attributes.push(("member".into(), members));
    store
        .apply(&[Effect::Add {
            dn: name.into(),
            attributes,
        }])
        .unwrap();
    let all = "dc=example,dc=com";
    let with = |number: u32| format!("(member={})", String::from_utf8(member(number)).unwrap());
    assert_eq!(store.search(all, DitScope::Subtree, &with(4999)), [name]);
    assert_eq!(store.search(all, DitScope::Subtree, &with(5000)), [""; 0]);
    store
        .apply(&[modify(
            name,
            vec![
                ValueChange::Delete {
                    attribute: "member".into(),
                    values: vec![member(17)],
                },
                ValueChange::Add {
                    attribute: "member".into(),
                    values: vec![member(5000)],
                },
            ],
        )])
        .unwrap();
    assert_eq!(store.search(all, DitScope::Subtree, &with(17)), [""; 0]);
    assert_eq!(store.search(all, DitScope::Subtree, &with(5000)), [name]);
    let found = entry_of(&store, name);
    let expected: Vec<Vec<u8>> = (0..=5000).filter(|n| *n != 17).map(member).collect();
    assert_eq!(found.attributes[2].values, expected);
    let missing = ValueChange::Delete {
        attribute: "member".into(),
        values: vec![member(17)],
    };
    assert!(store.apply(&[modify(name, vec![missing])]).is_err());
    // With few values left, they move back into the record. Then none are left.
    let gone: Vec<Vec<u8>> = (10..=5000).filter(|n| *n != 17).map(member).collect();
    store
        .apply(&[modify(
            name,
            vec![ValueChange::Delete {
                attribute: "member".into(),
                values: gone,
            }],
        )])
        .unwrap();
    assert_eq!(entry_of(&store, name).attributes[2].values.len(), 10);
    assert_eq!(store.search(all, DitScope::Subtree, &with(3)), [name]);
    assert_eq!(store.search(all, DitScope::Subtree, &with(30)), [""; 0]);
    store
        .apply(&[modify(
            name,
            vec![ValueChange::Replace {
                attribute: "member".into(),
                values: vec![],
            }],
        )])
        .unwrap();
    assert_eq!(store.search(all, DitScope::Subtree, &with(3)), [""; 0]);
    assert_eq!(store.search(all, DitScope::Subtree, "(member=*)"), [""; 0]);
    assert_sound(&store.database);
}

/// Additions, a deletion, a subtree rename and a modification, as one record each.
fn history() -> Vec<ChangeRecord> {
    let people = (0..50).map(|n| {
        let (name, cn) = (format!("cn=p{n},ou=people,dc=example,dc=com"), format!("p{n}"));
        let text = "always the same text";
        add(
            &name,
            &[
                ("objectClass", "person"),
                ("cn", &cn),
                ("sn", "s"),
                ("description", text),
            ],
        )
    });
    let changes = [
        Effect::Delete {
            dn: "cn=p7,ou=people,dc=example,dc=com".into(),
        },
        Effect::Rename {
            dn: "ou=people,dc=example,dc=com".into(),
            new_dn: "ou=staff,dc=example,dc=com".into(),
            changes: vec![],
        },
        modify(
            "cn=p9,ou=staff,dc=example,dc=com",
            vec![ValueChange::Add {
                attribute: "telephoneNumber".into(),
                values: values(&["+1 2"]),
            }],
        ),
    ];
    let effects = base_tree().into_iter().chain(people).chain(changes);
    (0..).zip(effects).map(|(n, effect)| record(n, vec![effect])).collect()
}

fn digest(store: &Store) -> [u8; 32] {
    store.database.snapshot().unwrap().view().digest().unwrap()
}

fn replay(store: &Store, records: &[ChangeRecord]) {
    let mut write = store.database.write().unwrap();
    for record in records {
        write.apply(record).unwrap();
    }
    write.commit().unwrap();
}

#[test]
fn replaying_records_gives_the_same_digest_whatever_the_ids() {
    let (first, second, records) = (store(), store(), history());
    for record in &records {
        replay(&first, std::slice::from_ref(record));
    }
    // Numbers the entries differently: an entry was added and deleted before.
    second.apply(&base_tree()[..1]).unwrap();
    second
        .apply(&[Effect::Delete {
            dn: "dc=example,dc=com".into(),
        }])
        .unwrap();
    replay(&second, &records);
    assert_eq!(digest(&first), digest(&second));
    let replace = ValueChange::Replace {
        attribute: "sn".into(),
        values: values(&["t"]),
    };
    second
        .apply(&[modify("cn=p9,ou=staff,dc=example,dc=com", vec![replace])])
        .unwrap();
    assert_ne!(digest(&first), digest(&second));
}

#[test]
fn a_record_is_applied_once() {
    let (store, records) = (store(), history());
    replay(&store, &records);
    let before = digest(&store);
    replay(&store, &records);
    assert_eq!(digest(&store), before);
    let position = store.database.snapshot().unwrap().view().position().unwrap();
    assert_eq!(
        position,
        Some((records.last().unwrap().csn.to_string(), records.len() as u64))
    );
}

#[test]
fn a_snapshot_stays_as_it_was_and_a_dropped_transaction_leaves_nothing() {
    let store = store();
    store.people();
    let snapshot = store.database.snapshot().unwrap();
    let version = snapshot.version();
    {
        let mut write = store.database.write().unwrap();
        write
            .apply_effect(&add("ou=x,dc=example,dc=com", &[("ou", "x"), ("cn;lang-fr", "y")]))
            .unwrap();
        assert_eq!(write.view().entry_count().unwrap(), 4);
        assert_eq!(write.view().version(), None);
    }
    assert_eq!(store.database.snapshot().unwrap().version(), version);
    store
        .apply(&[add("ou=z,dc=example,dc=com", &[("ou", "z"), ("sn;lang-fr", "y")])])
        .unwrap();
    assert_ne!(store.database.snapshot().unwrap().version(), version);
    assert_eq!(snapshot.view().entry_count().unwrap(), 3);
    assert_eq!(entry_of(&store, "ou=z,dc=example,dc=com").attributes.len(), 2);
}

#[test]
fn a_full_map_refuses_writes_and_serves_reads() {
    let store = store_with(|options| options.max_size = Some(1 << 20));
    store.people();
    let text = "x".repeat(3000);
    let mut full = false;
    for n in 0..1000 {
        let name = format!("cn=p{n},ou=people,dc=example,dc=com");
        let text = format!("{n}{text}");
        match store.apply(&[add(&name, &[("cn", "a"), ("description", &text)])]) {
            Ok(()) => {}
            Err(StoreError::Full(_)) => {
                full = true;
                break;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(full);
    assert!(
        !store
            .search("dc=example,dc=com", DitScope::Subtree, "(cn=a)")
            .is_empty()
    );
    // Deleting makes room.
    for n in 0..5 {
        let dn = format!("cn=p{n},ou=people,dc=example,dc=com").into();
        store.apply(&[Effect::Delete { dn }]).unwrap();
    }
    store
        .apply(&[add("cn=again,ou=people,dc=example,dc=com", &[("cn", "again")])])
        .unwrap();
    assert_sound(&store.database);
}

#[test]
fn a_database_is_reopened_with_all_it_had() {
    let store = store();
    store.people();
    let name = "cn=a,ou=people,dc=example,dc=com";
    let text = "shared by repetition ".repeat(10);
    for n in 0..20 {
        let name = format!("cn=p{n},ou=people,dc=example,dc=com");
        store
            .apply(&[add(&name, &[("cn", "p"), ("description", &text)])])
            .unwrap();
    }
    store
        .apply(&[add(name, &[("cn;lang-de", "a"), ("description", &text)])])
        .unwrap();
    let digest = store.database.snapshot().unwrap().view().digest().unwrap();
    let Store { database, directory } = store;
    drop(database);
    let options = options(directory.path());
    let database = Database::open(options.clone(), schema()).unwrap();
    assert_eq!(database.snapshot().unwrap().view().digest().unwrap(), digest);
    drop(database);
    let read_only = ironbark_store::DatabaseOptions {
        read_only: true,
        ..options
    };
    let database = Database::open(read_only, schema()).unwrap();
    assert_eq!(database.snapshot().unwrap().view().digest().unwrap(), digest);
    assert!(database.write().is_err());
}

#[test]
fn copies_are_databases() {
    let store = store();
    store.people();
    for compact in [false, true] {
        let target = tempfile::tempdir().unwrap();
        store.database.copy_to(target.path(), compact).unwrap();
        let copy = Database::open(options(target.path()), schema()).unwrap();
        let (a, b) = (store.database.snapshot().unwrap(), copy.snapshot().unwrap());
        assert_eq!(a.view().digest().unwrap(), b.view().digest().unwrap());
        assert!(
            store.database.copy_to(target.path(), compact).is_err(),
            "an existing file is kept"
        );
    }
    assert_eq!(store.database.stat().unwrap().entries, 3);
}

#[test]
fn the_empty_suffix_needs_no_root_entry() {
    let store = store_with(|options| options.suffixes = vec![Dn::root()]);
    store
        .apply(&[
            add("dc=com", &[("objectClass", "domain"), ("dc", "com")]),
            add("dc=example,dc=com", &[("objectClass", "domain"), ("dc", "example")]),
            add("dc=org", &[("objectClass", "domain"), ("dc", "org")]),
        ])
        .unwrap();
    let snapshot = store.database.snapshot().unwrap();
    let view = snapshot.view();
    assert_eq!(view.locate(&Dn::root()).unwrap(), Location::Missing { ancestor: None });
    let compiled = compile("(objectClass=domain)");
    let plan = view.plan(0, DitScope::OneLevel, &compiled).unwrap();
    let mut found = 0;
    let mut candidates = view.candidates(&plan, 0).unwrap();
    while let Some(id) = candidates.next_id().unwrap() {
        found += usize::from(view.in_scope(id, 0, DitScope::OneLevel).unwrap());
    }
    assert_eq!(found, 2);
    drop(candidates);
    drop(snapshot);
    store.apply(&[add("", &[("objectClass", "top")])]).unwrap();
    let snapshot = store.database.snapshot().unwrap();
    let view = snapshot.view();
    let Location::Entry(root) = view.locate(&Dn::root()).unwrap() else {
        panic!()
    };
    assert!(view.has_subordinates(root).unwrap());
    assert_eq!(view.children(root).unwrap().count(), 2);
    let com = locate(view, "dc=com");
    assert!(view.in_scope(com, root, DitScope::OneLevel).unwrap());
    assert!(
        view.in_scope(locate(view, "dc=example,dc=com"), root, DitScope::Subtree)
            .unwrap()
    );
    assert!(!view.in_scope(root, root, DitScope::Children).unwrap());
    assert_eq!(view.dn(com).unwrap().pretty(), "dc=com");
    assert_sound(&store.database);
}

#[test]
fn superiors_may_come_late_in_a_load() {
    let store = store();
    let mut write = store.database.write().unwrap();
    let load = |write: &mut ironbark_store::WriteTransaction<'_>, name: &str| {
        write
            .load(&entry(name, &[("objectClass", "organizationalUnit")]))
            .unwrap()
    };
    let leaf = load(&mut write, "ou=c,ou=b,ou=a,dc=example,dc=com");
    assert_eq!(leaf, 4);
    assert_eq!(
        write.missing_superiors(9).unwrap(),
        [
            "dc=example,dc=com",
            "ou=a,dc=example,dc=com",
            "ou=b,ou=a,dc=example,dc=com"
        ]
    );
    assert_eq!(
        write.view().locate(&dn("ou=x,ou=a,dc=example,dc=com")).unwrap(),
        Location::Missing { ancestor: None }
    );
    assert_eq!(load(&mut write, "ou=a,dc=example,dc=com"), 2);
    assert_eq!(load(&mut write, "dc=example,dc=com"), 1);
    assert_eq!(load(&mut write, "ou=b,ou=a,dc=example,dc=com"), 3);
    assert!(write.missing_superiors(9).unwrap().is_empty());
    write.commit().unwrap();
    let found = store.search(
        "dc=example,dc=com",
        DitScope::Subtree,
        "(objectClass=organizationalUnit)",
    );
    assert_eq!(found.len(), 4);
    assert_sound(&store.database);
}

#[test]
fn a_foreign_or_newer_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("data.mdb"), vec![7u8; 10_000]).unwrap();
    assert!(matches!(
        Database::open(options(directory.path()), schema()),
        Err(StoreError::Format(_))
    ));
    let missing = directory.path().join("nowhere");
    assert!(matches!(
        Database::open(options(&missing), schema()),
        Err(StoreError::File { .. })
    ));
}

#[test]
fn a_file_of_another_lmdb_is_said_to_be_of_another_program() {
    use std::os::unix::fs::FileExt;
    let directory = tempfile::tempdir().unwrap();
    drop(Database::open(options(directory.path()), schema()).unwrap());
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(directory.path().join("data.mdb"))
        .unwrap();
    // The version stands behind the header of the page and the mark, in both of the first pages.
    for page in [0, 4_096] {
        file.write_all_at(&99_u32.to_ne_bytes(), page + 16 + 4).unwrap();
    }
    let Err(StoreError::Format(text)) = Database::open(options(directory.path()), schema()) else {
        panic!("it is opened");
    };
    assert!(text.contains("another program made this LMDB file"), "{text}");
}

#[test]
fn files_get_the_wanted_mode() {
    use std::os::unix::fs::PermissionsExt;
    let store = store_with(|options| options.mode = 0o640);
    for name in ["data.mdb", "lock.mdb"] {
        let mode = std::fs::metadata(store.directory.path().join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777 & !0o022, 0o640 & !0o022);
    }
}

/// Sets the flag when the writer ends, also after a failure.
struct Set<'f>(&'f AtomicBool);

impl Drop for Set<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn readers_see_whole_transactions_while_a_writer_works() {
    let store = store();
    store.people();
    let done = AtomicBool::new(false);
    let group = "ou=groups,dc=example,dc=com";
    std::thread::scope(|scope| {
        let _readers_end = Set(&done);
        for _ in 0..2 {
            scope.spawn(|| {
                let (mut last, description) = (0, schema().attribute_description(b"description").unwrap());
                while !done.load(Ordering::Acquire) {
                    let snapshot = store.database.snapshot().unwrap();
                    let view = snapshot.view();
                    let record = view.record(locate(view, group)).unwrap().unwrap();
                    let number = record.values(&description).map_or(0, |attribute| {
                        let value = attribute.to_attribute().unwrap().values.remove(0);
                        String::from_utf8(value).unwrap().parse::<u64>().unwrap()
                    });
                    assert_eq!(view.entry_count().unwrap(), 3 + number);
                    let found = search(view, "dc=example,dc=com", DitScope::Subtree, &format!("(cn=p{number})"));
                    assert_eq!(found.len() as u64, number.min(1));
                    assert!(number >= last);
                    last = number;
                }
            });
        }
        for n in 1..=150 {
            // New descriptions and shared sets are added while readers read.
            let (name, cn, option) = (
                format!("cn=p{n},ou=people,dc=example,dc=com"),
                format!("p{n}"),
                format!("sn;lang-x{n}"),
            );
            let text = "a text that is worth sharing, as it comes again and again";
            let number = ValueChange::Replace {
                attribute: "description".into(),
                values: values(&[&n.to_string()]),
            };
            store
                .apply(&[
                    add(&name, &[("cn", &cn), (&option, "y"), ("title", text)]),
                    modify(group, vec![number]),
                ])
                .unwrap();
        }
    });
    assert_sound(&store.database);
}

#[test]
fn another_schema_takes_effect_at_once() {
    let store = store();
    store.people();
    let database = store
        .database
        .under(schema(), store.database.options().suffixes.clone())
        .unwrap();
    assert!(database.is_same_file(&store.database));
    let found = |database: &Database| {
        let snapshot = database.snapshot().unwrap();
        search(snapshot.view(), "dc=example,dc=com", DitScope::Subtree, "(ou=people)").len()
    };
    assert_eq!(found(&database), 1);
    // The bare system schema lacks attributes that entries have.
    let system = ironbark_model::Schema::system();
    assert!(!database.lost_attributes(&system).is_empty());
    let error = database.under(system, Vec::new()).unwrap_err();
    assert!(matches!(error, StoreError::Format(_)));
    assert_eq!(found(&store.database), 1);
    assert_sound(&store.database);
}

fn csn(second: u8) -> String {
    format!("202601010000{second:02}.000000Z#000000#001#000000")
}

fn uuid(number: u8) -> String {
    format!("{number:02x}000000-0000-4000-8000-000000000000")
}

fn stamped(name: &str, number: u8, second: u8) -> Effect {
    let (uuid, csn) = (uuid(number), csn(second));
    let lines = [
        ("objectClass", "person"),
        ("sn", "s"),
        ("entryUUID", &*uuid),
        ("entryCSN", &*csn),
    ];
    add(name, &lines)
}

fn person(number: u8, second: u8) -> Effect {
    stamped(&format!("cn=a{number},ou=people,dc=example,dc=com"), number, second)
}

fn store_of(numbers: &[u8], second: u8) -> Store {
    let store = store();
    store.people();
    for number in numbers {
        store.apply(&[person(*number, second)]).unwrap();
    }
    store
}

fn sums(store: &Store) -> Arc<BucketSums> {
    store.database.bucket_sums(&|| true).unwrap().unwrap()
}

/// The buckets whose sums differ.
fn differing(one: &BucketSums, other: &BucketSums) -> Vec<usize> {
    let buckets = 0..one.sums.len();
    buckets.filter(|at| one.sums[*at] != other.sums[*at]).collect()
}

#[test]
fn sums_of_buckets_are_those_of_the_entries_at_any_time() {
    // The order and the IDs do not matter.
    let (first, other) = (store_of(&[1, 2, 3], 0), store_of(&[3, 1, 2], 0));
    assert_eq!(sums(&first).sums, sums(&other).sums);
    assert_eq!((sums(&first).entries, sums(&first).root()), (3, sums(&other).root()));
    // A change, an entry more and an entry less are seen at once, each in its bucket.
    let changed = |store: &Store| differing(&sums(store), &sums(&other));
    let newer = csn(1);
    let change = ValueChange::Replace {
        attribute: "entryCSN".into(),
        values: values(&[&newer]),
    };
    first
        .apply(&[modify("cn=a2,ou=people,dc=example,dc=com", vec![change])])
        .unwrap();
    assert_eq!(changed(&first), [0x020]);
    first.apply(&[person(4, 0)]).unwrap();
    assert_eq!(changed(&first), [0x020, 0x040]);
    assert_ne!(sums(&first).root(), sums(&other).root());
    // Without a change they are not computed again; who is not waited for is not served.
    assert!(Arc::ptr_eq(&sums(&first), &sums(&first)));
    first.apply(&[person(5, 0)]).unwrap();
    assert!(first.database.bucket_sums(&|| true).unwrap().is_some());
}

#[test]
fn sums_of_buckets_tell_superiors_and_not_what_moves_with_them() {
    let store = store_of(&[1, 2, 3], 0);
    store
        .apply(&[stamped("cn=below,cn=a1,ou=people,dc=example,dc=com", 6, 0)])
        .unwrap();
    let before = sums(&store);
    let rename = |to: &str| Effect::Rename {
        dn: "cn=a1,ou=people,dc=example,dc=com".into(),
        new_dn: to.into(),
        changes: vec![],
    };
    store.apply(&[rename("cn=A1,ou=people,dc=example,dc=com")]).unwrap();
    assert_eq!(differing(&sums(&store), &before), Vec::<usize>::new());
    store
        .apply(&[rename("cn=a1,cn=a2,ou=people,dc=example,dc=com")])
        .unwrap();
    assert_eq!(differing(&sums(&store), &before), [0x010]);
}
