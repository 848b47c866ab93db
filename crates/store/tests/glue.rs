//! Glue keeps the place of a deleted or missing superior, and goes with its last subordinate.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::*;
use ironbark_store::{ChangeRecord, Csn, Effect, Location, LogMode, RecordedEffect, ValueChange};

const TOP: &str = "dc=example,dc=com";
const PEOPLE: &str = "ou=people,dc=example,dc=com";
const ANN: &str = "cn=ann,ou=people,dc=example,dc=com";
const UUID: &str = "597ae2f6-16a6-1027-98f4-d28b5365dc14";
const UUID_OCTETS: [u8; 16] = *b"\x59\x7a\xe2\xf6\x16\xa6\x10\x27\x98\xf4\xd2\x8b\x53\x65\xdc\x14";

/// Whether there is an entry of this name, and whether it is glue.
fn is_glue(store: &Store, name: &str) -> Option<bool> {
    let snapshot = store.database.snapshot().unwrap();
    let view = snapshot.view();
    match view.locate(&dn(name)).unwrap() {
        Location::Entry(id) => Some(view.record(id).unwrap().unwrap().is_glue()),
        Location::Missing { .. } => None,
    }
}

fn tree() -> Store {
    let store = store();
    let class = ("objectClass", "organizationalUnit");
    store
        .apply(&[
            add(TOP, &[("objectClass", "domain"), ("dc", "example")]),
            add(PEOPLE, &[class, ("ou", "people"), ("entryUUID", UUID)]),
            add(ANN, &[("objectClass", "person"), ("cn", "ann"), ("sn", "Lee")]),
        ])
        .unwrap();
    store
}

fn delete(name: &str) -> Effect {
    Effect::Delete { dn: name.into() }
}

fn rename(name: &str, new: &str) -> Effect {
    Effect::Rename {
        dn: name.into(),
        new_dn: new.into(),
        changes: Vec::new(),
    }
}

#[test]
fn an_entry_with_subordinates_becomes_glue_and_goes_with_the_last_of_them() {
    let store = tree();
    store.apply(&[delete(PEOPLE)]).unwrap();
    assert_eq!(is_glue(&store, PEOPLE), Some(true));
    assert_eq!(is_glue(&store, ANN), Some(false));
    assert_sound(&store.database);
    store.apply(&[delete(TOP)]).unwrap();
    assert_eq!(is_glue(&store, TOP), Some(true));
    store.apply(&[delete(ANN)]).unwrap();
    assert_eq!([TOP, PEOPLE, ANN].map(|name| is_glue(&store, name)), [None; 3]);
    assert_eq!(store.database.snapshot().unwrap().view().entry_count().unwrap(), 0);
    assert_sound(&store.database);
}

#[test]
fn glue_goes_when_its_last_subordinate_moves_away() {
    let store = tree();
    let deep = "ou=deep,ou=people,dc=example,dc=com";
    let moved = "cn=ann,ou=deep,ou=people,dc=example,dc=com";
    store
        .apply(&[Effect::glue(deep.into()), rename(ANN, moved), delete(PEOPLE)])
        .unwrap();
    assert_eq!([PEOPLE, deep].map(|name| is_glue(&store, name)), [Some(true); 2]);
    store.apply(&[rename(moved, "cn=ann,dc=example,dc=com")]).unwrap();
    assert_eq!([PEOPLE, deep].map(|name| is_glue(&store, name)), [None; 2]);
    assert_eq!(is_glue(&store, TOP), Some(false));
    assert_sound(&store.database);
}

#[test]
fn an_entry_takes_the_place_of_glue_and_nothing_else() {
    let store = tree();
    store.apply(&[delete(PEOPLE)]).unwrap();
    let version = || store.database.snapshot().unwrap().view().structure_version().unwrap();
    let before = version();
    let again = add(
        "ou=People,dc=example,dc=com",
        &[("objectClass", "organizationalUnit"), ("ou", "People")],
    );
    store.apply(std::slice::from_ref(&again)).unwrap();
    assert_eq!(is_glue(&store, PEOPLE), Some(false));
    assert!(
        version() > before,
        "names that readers remember may be spelt differently"
    );
    let snapshot = store.database.snapshot().unwrap();
    let view = snapshot.view();
    let Location::Entry(ann) = view.locate(&dn(ANN)).unwrap() else {
        panic!("it has stayed")
    };
    assert_eq!(view.dn(ann).unwrap().pretty(), "cn=ann,ou=People,dc=example,dc=com");
    drop(snapshot);
    assert!(store.apply(&[again]).is_err(), "an entry gives its place to no other");
    assert_sound(&store.database);
}

#[test]
fn a_change_of_the_classes_makes_glue_of_an_entry() {
    let store = tree();
    let change = |class: &str| {
        let values = values(&[class]);
        let attribute = "objectClass".into();
        modify(PEOPLE, vec![ValueChange::Replace { attribute, values }])
    };
    store.apply(&[change("glue")]).unwrap();
    assert_eq!(is_glue(&store, PEOPLE), Some(true));
    store.apply(&[change("organizationalUnit")]).unwrap();
    assert_eq!(is_glue(&store, PEOPLE), Some(false));
    assert_sound(&store.database);
}

/// Writes one record of another server's change.
fn write(store: &Store, effect: Option<Effect>, record: ChangeRecord) {
    let mut transaction = store.database.write().unwrap();
    transaction.log(LogMode::RowsAndContext);
    let mut record = record;
    if let Some(effect) = effect {
        transaction.apply_effect(&effect).unwrap();
        let before = transaction.take_before();
        record.effects.push(RecordedEffect {
            before,
            ..effect.into()
        });
    }
    transaction.record(&mut record).unwrap();
    transaction.commit().unwrap();
}

fn csn(number: u64) -> Csn {
    Csn::parse(format!("20260101000000.{number:06}Z#000000#002#000000").as_bytes()).unwrap()
}

fn tombstone(store: &Store, uuid: [u8; 16]) -> Option<Csn> {
    let snapshot = store.database.snapshot().unwrap();
    snapshot.view().tombstone(&uuid).unwrap().map(|(csn, _)| csn)
}

#[test]
fn what_becomes_glue_leaves_a_tombstone_and_so_does_what_was_never_here() {
    let store = tree();
    let of_peer = |number: u64| ChangeRecord {
        csn: csn(number),
        via: 2,
        ..ChangeRecord::default()
    };
    write(&store, Some(delete(PEOPLE)), of_peer(1));
    assert_eq!(tombstone(&store, UUID_OCTETS), Some(csn(1)));
    let buried = ChangeRecord {
        buried: vec![[9; 16], UUID_OCTETS],
        ..of_peer(2)
    };
    write(&store, None, buried.clone());
    assert_eq!(tombstone(&store, [9; 16]), Some(csn(2)));
    assert_eq!(tombstone(&store, UUID_OCTETS), Some(csn(2)));
    let last = store.database.snapshot().unwrap().view().changes(2).unwrap().last();
    assert_eq!(last.unwrap().unwrap().buried, buried.buried);
    let class = ("objectClass", "organizationalUnit");
    let again = add(PEOPLE, &[class, ("ou", "people"), ("entryUUID", UUID)]);
    write(&store, Some(again), of_peer(3));
    assert_eq!(tombstone(&store, UUID_OCTETS), None);
}

#[test]
fn the_vector_takes_in_the_cookie_of_a_peer_and_the_csn_of_an_own_change() {
    let store = tree();
    let vector = || {
        let snapshot = store.database.snapshot().unwrap();
        let vector = snapshot.view().context_vector().unwrap();
        vector.unwrap_or_default().iter().collect::<Vec<_>>()
    };
    let record = |number: u64, via: u16, cookie: Vec<Csn>| ChangeRecord {
        csn: csn(number),
        via,
        cookie,
        ..ChangeRecord::default()
    };
    write(&store, None, record(5, 2, Vec::new()));
    write(&store, None, record(6, ChangeRecord::UNKNOWN_PEER, Vec::new()));
    assert_eq!(vector(), [], "others of the same refresh may still come");
    write(&store, None, record(5, 2, vec![csn(4)]));
    assert_eq!(vector(), [csn(4)]);
    write(&store, None, record(7, 0, Vec::new()));
    assert_eq!(vector(), [csn(7)]);
    let mut transaction = store.database.write().unwrap();
    transaction.log(LogMode::RowsAndContext);
    transaction.record(&mut record(8, 0, Vec::new())).unwrap();
    assert!(transaction.vector().unwrap().covers(csn(8)), "before its commit, too");
}

#[test]
fn the_digest_of_the_content_knows_no_order() {
    let digests = |lines: [(&str, &str); 4]| {
        let store = store();
        store.apply(&[add(TOP, &lines)]).unwrap();
        let snapshot = store.database.snapshot().unwrap();
        let view = snapshot.view();
        (view.digest().unwrap(), view.content_digest().unwrap())
    };
    let class = ("objectClass", "domain");
    let (dc, one, two) = (("dc", "example"), ("description", "1"), ("description", "2"));
    let (first, second) = (digests([class, dc, one, two]), digests([two, one, dc, class]));
    assert_ne!(first.0, second.0);
    assert_eq!(first.1, second.1);
    assert_ne!(first.1, digests([class, dc, one, ("description", "3")]).1);
}
