//! The attributes of an answer have the record's values, in every storage form.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use std::ops::ControlFlow;

use common::*;
use ironbark_ber::{Writer, tags};
use ironbark_store::{AnswerCache, Kinds, Location, Record};

/// The answer, put together value by value.
fn expected(record: &Record<'_>, kinds: Kinds, names: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    record
        .for_each_attribute(&mut |attribute| {
            let name = attribute.name();
            let is_operational = name.starts_with(b"entry") || name == b"createTimestamp";
            let is_wanted = if is_operational { kinds.operational } else { kinds.user };
            if !is_wanted && !names.contains(&name) {
                return Ok(());
            }
            let mut writer = Writer::new(&mut out);
            let whole = writer.begin(tags::SEQUENCE);
            writer.octet_string(name);
            let values = writer.begin(tags::SET);
            attribute.for_each(&mut |value| {
                writer.octet_string(value);
                ControlFlow::Continue(())
            })?;
            writer.end(values);
            writer.end(whole);
            Ok(())
        })
        .unwrap();
    out
}

/// Some are so long that the lengths in an answer take one octet, two or three.
fn uid(n: usize) -> String {
    format!("u{n}{}", "-".repeat(n * 5))
}

/// People whose attributes have every storage form: in place, shared by entries and by attributes, packed, that of the
/// name.
fn people() -> Store {
    let store = store();
    store.people();
    let long = "x".repeat(300);
    let adds: Vec<_> = (0..60)
        .map(|n| {
            let uid = uid(n);
            let name = format!("uid={uid},ou=people,dc=example,dc=com");
            let (phone, id) = (
                format!("4912345{n:05}"),
                format!("597ae2f6-16a6-1027-98f4-d28b5365{n:04}"),
            );
            add(
                &name,
                &[
                    ("objectClass", "inetOrgPerson"),
                    ("uid", &uid),
                    // The same set under several attributes is stored once, and answered under each name.
                    ("cn", "the same text everywhere"),
                    ("sn", "the same text everywhere"),
                    ("title", "the same text everywhere"),
                    ("telephoneNumber", &phone),
                    ("description", &long),
                    ("description", &uid),
                    ("entryUUID", &id),
                    ("createTimestamp", "20261121214300Z"),
                ],
            )
        })
        .collect();
    store.apply(&adds).unwrap();
    store
}

#[test]
fn answers_hold_each_value_under_its_own_attribute() {
    let store = people();
    let snapshot = store.database.snapshot().unwrap();
    let view = snapshot.view();
    let (mut cache, mut out) = (AnswerCache::default(), Vec::new());
    let all = Kinds {
        user: true,
        operational: true,
    };
    let user = Kinds {
        user: true,
        operational: false,
    };
    let none = Kinds {
        user: false,
        operational: false,
    };
    let wanted: [(Kinds, &[&[u8]]); 4] = [
        (all, &[]),
        (user, &[]),
        (user, &[b"entryUUID"]),
        (none, &[b"sn", b"title"]),
    ];
    // Twice: the second answer uses the form that was made for the first one.
    for n in (0..60).chain(0..60) {
        let name = dn(&format!("uid={},ou=people,dc=example,dc=com", uid(n)));
        let Location::Entry(id) = view.locate(&name).unwrap() else {
            panic!("{} is missing", name.pretty());
        };
        let record = view.record(id).unwrap().unwrap();
        for (kinds, names) in wanted {
            out.clear();
            let schema = schema();
            let lists = |description: &ironbark_model::AttributeDescription| {
                names.contains(&schema.description_text(description).as_bytes())
            };
            record.append_attributes(&mut out, &mut cache, kinds, lists).unwrap();
            assert_eq!(out, expected(&record, kinds, names), "u{n} {kinds:?} {names:?}");
        }
    }
    let entries = (0..60).filter(|n| {
        let name = dn(&format!("uid={},ou=people,dc=example,dc=com", uid(*n)));
        let Location::Entry(id) = view.locate(&name).unwrap() else {
            return false;
        };
        view.record(id)
            .unwrap()
            .unwrap()
            .attributes()
            .any(|a| a.shared_set().is_some())
    });
    assert!(entries.count() > 30, "sets are shared, or the test tells nothing");
}
