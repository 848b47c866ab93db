//! A search for one entry by an indexed equality takes nothing from the heap: plan, candidate, record, evaluation,
//! scope.
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
use ironbark_store::{AnswerCache, Kinds, Scope};

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
        let plan = view.plan(base, Scope::Subtree, filter).unwrap();
        let mut candidates = view.candidates(&plan, 0).unwrap();
        let mut found = 0;
        while let Some(record) = candidates.next_record().unwrap() {
            let matches = record.evaluate(filter, &mut scratch) == Truth::True;
            found += usize::from(matches && record.is_in_scope(base, Scope::Subtree).unwrap());
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
