//! The number of referral entries: searches need not look for referrals when it is zero.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::*;
use ironbark_store::{BulkBuilder, Database, Effect, ValueChange};

const NAME: &str = "ou=away,dc=example,dc=com";

fn referral() -> Vec<(&'static str, &'static str)> {
    vec![
        ("objectClass", "referral"),
        ("objectClass", "extensibleObject"),
        ("ou", "away"),
        ("ref", "ldap://elsewhere/"),
    ]
}

fn count(database: &Database) -> u64 {
    database.snapshot().unwrap().view().referral_count().unwrap()
}

#[test]
fn referrals_are_counted_as_they_come_change_and_go() {
    let store = store();
    store.people();
    assert_eq!(count(&store.database), 0);
    store.apply(&[add(NAME, &referral())]).unwrap();
    assert_eq!(count(&store.database), 1);
    let classes = |names: &[&str]| {
        let change = ValueChange::Replace {
            attribute: "objectClass".into(),
            values: values(names),
        };
        modify(NAME, vec![change])
    };
    store.apply(&[classes(&["organizationalUnit"])]).unwrap();
    assert_eq!(count(&store.database), 0);
    store.apply(&[classes(&["referral", "extensibleObject"])]).unwrap();
    let moved = "ou=off,dc=example,dc=com";
    store
        .apply(&[Effect::Rename {
            dn: NAME.into(),
            new_dn: moved.into(),
            changes: Vec::new(),
        }])
        .unwrap();
    assert_eq!(count(&store.database), 1);
    store.apply(&[Effect::Delete { dn: moved.into() }]).unwrap();
    assert_eq!(count(&store.database), 0);
    let mut abandoned = store.database.write().unwrap();
    abandoned.apply_effect(&add(NAME, &referral())).unwrap();
    drop(abandoned);
    store
        .apply(&[add("cn=plain,dc=example,dc=com", &[("cn", "plain")])])
        .unwrap();
    assert_eq!(count(&store.database), 0);
}

#[test]
fn a_bulk_build_counts_referrals() {
    let directory = tempfile::tempdir().unwrap();
    let mut builder = BulkBuilder::new(options(directory.path()), schema(), 3 << 20).unwrap();
    builder
        .add(&entry(
            "dc=example,dc=com",
            &[("objectClass", "domain"), ("dc", "example")],
        ))
        .unwrap();
    builder.add(&entry(NAME, &referral())).unwrap();
    builder.finish().unwrap();
    let database = Database::open(options(directory.path()), schema()).unwrap();
    assert_eq!(count(&database), 1);
}
