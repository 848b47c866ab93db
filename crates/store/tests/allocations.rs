//! What takes memory, and how much: a search for one entry by an indexed equality takes none (plan, candidate, record,
//! evaluation, scope), and a change record about as much as it says.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod common;

use common::*;
use ironbark_model::Truth;
use ironbark_store::{
    AnswerCache, ChangeRecord, DitScope, Kinds, ValueChange,
    change::{Before, Gone, RequestedChange, RequestedKind, RequestedModification},
};

#[test]
fn an_equality_search_takes_no_memory() {
    let store = store();
    store.people();
    let adds: Vec<_> = (0..200)
        .map(|n| {
            let (uid, name) = (format!("u{n}"), format!("uid=u{n},ou=people,dc=example,dc=com"));
            add(
                &name,
                &[
                    ("objectClass", "inetOrgPerson"),
                    ("uid", &uid),
                    ("cn", "x"),
                    ("sn", "y"),
                ],
            )
        })
        .collect();
    store.apply(&adds).unwrap();
    let filters = [compile("(uid=u17)"), compile("(&(objectClass=inetOrgPerson)(uid=U99))")];
    let snapshot = store.database.snapshot().unwrap();
    let view = snapshot.view();
    let base = locate(view, "dc=example,dc=com");
    let (mut scratch, mut answer) = (Vec::with_capacity(64), Vec::with_capacity(4096));
    let mut answers = AnswerCache::default();
    let everything = Kinds {
        user: true,
        operational: true,
    };
    let mut search = |filter| {
        let plan = view.plan(base, DitScope::Subtree, filter).unwrap();
        let mut candidates = view.candidates(&plan, 0).unwrap();
        let mut found = 0;
        while let Some(record) = candidates.next_record().unwrap() {
            let matches = record.evaluate(filter, &mut scratch) == Truth::True;
            found += usize::from(matches && record.is_in_scope(base, DitScope::Subtree).unwrap());
            answer.clear();
            record
                .append_attributes(&mut answer, &mut answers, everything, |_| false)
                .unwrap();
            assert!(!answer.is_empty());
        }
        assert_eq!(found, 1);
    };
    for filter in &filters {
        // The first answer with a shared set makes its encoded form.
        search(filter);
        assert_eq!(allocation_counter::measure(|| search(filter)).count_total, 0);
    }
}

#[test]
fn a_change_record_knows_its_memory() {
    let name = "uid=ann,ou=people,dc=example,dc=com";
    let change = |attribute: &str, value: &str| ValueChange::Replace {
        attribute: attribute.into(),
        values: values(&[value]),
    };
    let changes = vec![
        change("description", "new"),
        change("modifyTimestamp", "20260101000000Z"),
    ];
    let mut modified = record(1, vec![modify(name, changes)]);
    modified.effects[0].before = Before {
        gone: Gone::Values(vec![values(&["old"]), values(&["20250101000000Z"])]),
        ..Before::default()
    };
    let mut requested = modified.clone();
    requested.requested = vec![RequestedChange::Modify {
        dn: name.into(),
        modifications: vec![RequestedModification {
            kind: RequestedKind::Replace,
            attribute: "description".into(),
            values: values(&["new"]),
        }],
    }];
    let many: Vec<_> = (0..500).map(|n| format!("value {n}")).collect();
    let lines: Vec<_> = many.iter().map(|value| ("description", &**value)).collect();
    let added = record(2, vec![add(name, &lines)]);
    for record in [modified, requested, added] {
        let mut copy: Option<ChangeRecord> = None;
        let held = allocation_counter::measure(|| copy = Some(record.clone())).bytes_current;
        let held = usize::try_from(held).unwrap() + size_of::<ChangeRecord>();
        let told = record.octets();
        assert!((held..2 * held + 200).contains(&told), "{told} for {held}");
    }
}
