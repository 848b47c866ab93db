//! The planner: the answer of an index equals that of a scan of all entries.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tests"
)]

use crate::common;

use std::ops::ControlFlow;

use common::*;
use ironbark_model::{Budget, CompiledFilter, Filter};
use ironbark_store::{DitScope, Effect, Plan, TermKind, ValueChange, View};
use proptest::prelude::*;

const ALL: &str = "dc=example,dc=com";

fn filled() -> Store {
    let store = store();
    store.people();
    let mut effects = Vec::new();
    for n in 0..400 {
        let (cn, level) = (
            format!("User {n} {}", ["Smith", "Smyth", "Jones"][n % 3]),
            format!("{}", n % 50),
        );
        let name = format!("uid=u{n},ou=people,dc=example,dc=com");
        let uid = format!("u{n}");
        effects.push(add(
            &name,
            &[
                ("objectClass", ["person", "inetOrgPerson"][n % 2]),
                ("uid", &uid),
                ("cn", &cn),
                ("sn", ["Smith", "Smyth", "Jones"][n % 3]),
                ("level", &level),
            ],
        ));
    }
    store.apply(&effects).unwrap();
    store
}

#[test]
fn equality_goes_straight_to_the_entry() {
    let store = filled();
    assert_eq!(
        store.search(ALL, DitScope::Subtree, "(uid=U17)"),
        ["uid=u17,ou=people,dc=example,dc=com"]
    );
    let plan = store.explain(ALL, DitScope::Subtree, "(uid=u17)");
    assert_eq!(plan, "way: index\ncandidates: 1\n  uid equality: 1");
    assert_eq!(
        store.explain(ALL, DitScope::Base, "(uid=u17)"),
        "way: the base entry alone\ncandidates: 1"
    );
}

#[test]
fn an_attribute_that_no_entry_has_gives_nothing() {
    let store = filled();
    assert_eq!(
        store.explain(ALL, DitScope::Subtree, "(seeAlso=cn=x)"),
        "way: index\ncandidates: 0\n  seeAlso equality: 0"
    );
    assert!(store.search(ALL, DitScope::Subtree, "(noSuchAttribute=x)").is_empty());
}

#[test]
fn a_filter_nested_as_deeply_as_it_may_is_planned_on_a_small_stack() {
    let store = filled();
    let nested = |open: &str| format!("{}(uid=u1){}", open.repeat(4_000), ")".repeat(4_000));
    for open in ["(!", "(&", "(|", "(&(objectClass=*)", "(|(uid=nobody)"] {
        let text = nested(open);
        let filter = Filter::parse(text.as_bytes(), 4_096).unwrap();
        let mut compiled = CompiledFilter::default();
        compiled.compile(&schema(), &filter);
        let planned = std::thread::scope(|scope| {
            let small = std::thread::Builder::new().stack_size(256 * 1_024);
            small
                .spawn_scoped(scope, || {
                    let snapshot = store.database.snapshot().unwrap();
                    let view = snapshot.view();
                    view.plan(locate(view, ALL), DitScope::Subtree, &compiled).is_ok()
                })
                .unwrap()
                .join()
        });
        assert!(planned.is_ok_and(|planned| planned), "{open}");
    }
}

#[test]
fn unindexed_items_are_named() {
    let store = filled();
    let snapshot = store.database.snapshot().unwrap();
    let view = snapshot.view();
    let plan = view
        .plan(
            locate(view, ALL),
            DitScope::Subtree,
            &compile("(|(uid=u*)(dc=example)(dc=x)(ou=*))"),
        )
        .unwrap();
    assert!(!plan.indexed);
    let terms: Vec<_> = plan.unindexed_terms().map(|term| (term.kind, term.attribute)).collect();
    assert_eq!(
        terms,
        [
            (TermKind::Substring, "uid"),
            (TermKind::Equality, "dc"),
            (TermKind::Presence, "ou")
        ]
    );
}

#[test]
fn object_classes_answer_for_their_superclasses() {
    let store = filled();
    for (class, count) in [
        ("inetOrgPerson", 200),
        ("person", 400),
        ("top", 403),
        ("organizationalUnit", 2),
    ] {
        let filter = format!("(objectClass={class})");
        assert_eq!(store.search(ALL, DitScope::Subtree, &filter).len(), count, "{class}");
    }
    assert!(
        store
            .explain(ALL, DitScope::Subtree, "(objectClass=inetOrgPerson)")
            .starts_with("way: index\ncandidates: 200")
    );
}

#[test]
fn a_small_subtree_is_walked() {
    let store = filled();
    let plan = store.explain("ou=groups,dc=example,dc=com", DitScope::Subtree, "(objectClass=*)");
    assert_eq!(plan, "way: walk of the subtree\ncandidates: 1");
    let plan = store.explain(ALL, DitScope::OneLevel, "(description=x*)");
    assert!(
        plan.starts_with("way: index\ncandidates: 0") || plan.starts_with("way: walk"),
        "{plan}"
    );
    assert_eq!(store.search(ALL, DitScope::OneLevel, "(ou=*)").len(), 2);
    assert_eq!(store.search(ALL, DitScope::Children, "(objectClass=*)").len(), 402);
}

#[test]
fn a_walk_passes_over_no_row_by_itself() {
    let store = filled();
    let snapshot = store.database.snapshot().unwrap();
    let view = snapshot.view();
    for (base, scope) in [
        ("ou=people,dc=example,dc=com", DitScope::OneLevel),
        (ALL, DitScope::Subtree),
    ] {
        let plan = view.plan(locate(view, base), scope, &compile("(!(sn=jones))")).unwrap();
        assert_eq!(rows(view, &plan), 403, "who asked looks at the clock between them");
    }
}

fn rows(view: View<'_>, plan: &Plan) -> usize {
    let (mut count, mut candidates) = (0, view.candidates(plan, 0).unwrap());
    while candidates.next_record().unwrap().is_some() {
        count += 1;
    }
    count
}

#[test]
fn candidates_go_on_after_any_id() {
    let store = filled();
    let snapshot = store.database.snapshot().unwrap();
    let view = snapshot.view();
    for filter in [
        "(objectClass=person)",
        "(sn=jones)",
        "(l=x)",
        "(!(sn=jones))",
        "(uid=u3)",
    ] {
        let plan = view
            .plan(locate(view, ALL), DitScope::Subtree, &compile(filter))
            .unwrap();
        let all = {
            let (mut all, mut candidates) = (Vec::new(), view.candidates(&plan, 0).unwrap());
            while let Some(id) = candidates.next_id().unwrap() {
                all.push(id);
            }
            all
        };
        for after in [0, 1, 5, 100, 402, 403, 404, u64::MAX] {
            let mut candidates = view.candidates(&plan, after).unwrap();
            let next = candidates.next_id().unwrap();
            assert_eq!(next, all.iter().copied().find(|&id| id > after), "{filter} {after}");
        }
    }
}

#[test]
fn parts_of_names_can_be_searched() {
    let store = filled();
    assert_eq!(
        store.search(ALL, DitScope::Subtree, "(ou:dn:=groups)"),
        ["ou=groups,dc=example,dc=com"]
    );
    assert_eq!(store.search(ALL, DitScope::Subtree, "(ou:dn:=people)").len(), 401);
    // Attributes of names have no options.
    assert!(
        store
            .search(ALL, DitScope::Subtree, "(ou;lang-en:dn:=people)")
            .is_empty()
    );
}

#[test]
fn language_tags_and_subtypes_are_indexed_with_their_type() {
    let store = store_with(|options| {
        options.indexes = vec![
            index("name", "eq"),
            index("cn", "eq,nolang"),
            index("sn", "eq,nosubtypes"),
        ];
    });
    store.people();
    store
        .apply(&[
            add("uid=a,dc=example,dc=com", &[("uid", "a"), ("cn", "x")]),
            add("uid=b,dc=example,dc=com", &[("uid", "b"), ("cn;lang-de", "x")]),
            add("uid=c,dc=example,dc=com", &[("uid", "c"), ("sn;lang-de-ch", "x")]),
        ])
        .unwrap();
    let search = |filter: &str| {
        let snapshot = store.database.snapshot().unwrap();
        let found = search(snapshot.view(), ALL, DitScope::Subtree, filter);
        assert_eq!(found, scan(snapshot.view(), ALL, DitScope::Subtree, filter), "{filter}");
        found.len()
    };
    assert_eq!(search("(name=x)"), 3);
    assert_eq!(search("(cn=x)"), 2);
    assert_eq!(search("(cn;lang-de=x)"), 1);
    assert_eq!(search("(cn;lang-fr=x)"), 0);
    assert_eq!(search("(sn;lang-de-=x)"), 1);
    assert!(
        store
            .explain(ALL, DitScope::Subtree, "(name=x)")
            .contains("name equality: 3")
    );
    // The index of `cn` alone lacks some values; the index of its superior has all.
    assert!(
        store
            .explain(ALL, DitScope::Subtree, "(cn=x)")
            .contains("cn equality: 3")
    );
}

#[test]
fn chains_are_followed_through_the_index_and_without_it() {
    for indexed in [true, false] {
        let store = store_with(|options| {
            if !indexed {
                options.indexes.clear();
            }
        });
        store.people();
        let group = |n: &str, of: &[&str]| {
            let mut lines = vec![("objectClass", "groupOfNames"), ("cn", n)];
            lines.extend(of.iter().map(|of| ("memberOfGroup", *of)));
            add(&format!("cn={n},ou=groups,dc=example,dc=com"), &lines)
        };
        let name = |n: &str| format!("cn={n},ou=groups,dc=example,dc=com");
        store
            .apply(&[
                group("a", &[&name("b")]),
                group("b", &[&name("C"), &name("nowhere")]),
                group("c", &[&name("a")]),
                group("d", &[&name("d")]),
                group("e", &[&name("d"), &name("b")]),
            ])
            .unwrap();
        let chain = |target: &str| {
            let filter = format!("(memberOfGroup:1.2.840.113556.1.4.1941:={})", name(target));
            let found = store.search(ALL, DitScope::Subtree, &filter);
            let snapshot = store.database.snapshot().unwrap();
            assert_eq!(
                found,
                scan(snapshot.view(), ALL, DitScope::Subtree, &filter),
                "{filter}"
            );
            found
        };
        assert_eq!(chain("c"), [name("a"), name("b"), name("c"), name("e")]);
        assert_eq!(chain("d"), [name("d"), name("e")]);
        assert_eq!(chain("nowhere").len(), 4);
        assert!(chain("f").is_empty());
    }
}

#[test]
fn an_index_defined_later_is_built_on_demand() {
    let mut store = filled();
    let Store { database, directory } = store;
    drop(database);
    let mut later = options(directory.path());
    later.indexes.push(index("description", "eq"));
    later.indexes.push(index("uid", "sub"));
    later.indexes.retain(|index| &*index.attribute != "sn");
    let database = ironbark_store::Database::open(later, schema()).unwrap();
    assert_eq!(database.inactive_indexes(), ["description eq", "uid sub"]);
    store = Store { database, directory };
    assert!(
        store
            .explain(ALL, DitScope::Subtree, "(uid=*7)")
            .starts_with("way: scan")
    );
    assert!(
        store
            .explain(ALL, DitScope::Subtree, "(sn=smith)")
            .contains("not indexed")
    );
    let mut done = 0;
    let mut note = |n| {
        done = n;
        ControlFlow::Continue(())
    };
    assert!(store.database.reindex(&[], &mut note).unwrap());
    assert_eq!(done, 403);
    assert!(store.database.inactive_indexes().is_empty());
    assert!(
        store
            .explain(ALL, DitScope::Subtree, "(uid=*17)")
            .starts_with("way: index")
    );
    let mut goes_on = |_| ControlFlow::Continue(());
    store.database.reindex(&["cn"], &mut goes_on).unwrap();
    assert!(store.database.reindex(&["ou"], &mut goes_on).is_err());
    assert_eq!(store.search(ALL, DitScope::Subtree, "(cn=user 8 jones)").len(), 1);
    assert_eq!(store.search(ALL, DitScope::Subtree, "(uid=*17)").len(), 4);
}

/// A random person: attribute values from small pools, so that lists overlap.
fn person() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let word = prop_oneof![
        Just("Smith"),
        Just("smyth"),
        Just("Jones"),
        Just("jo"),
        Just("x"),
        Just("Ann Jones"),
        Just("")
    ];
    let attribute = prop_oneof![
        (Just("cn"), word.clone().prop_map(|w| format!("{w}n"))),
        (Just("cn;lang-de"), word.clone().prop_map(|w| format!("d {w}"))),
        (Just("sn"), word.prop_map(|w| format!("{w} s"))),
        (Just("level"), (-300i64..300).prop_map(|n| n.to_string())),
        (Just("born"), (1u32..13).prop_map(|m| format!("2001{m:02}01000000Z"))),
        (Just("description"), (0u8..4).prop_map(|n| format!("d{n}"))),
    ];
    proptest::collection::vec(attribute, 0..8)
}

fn filter() -> impl Strategy<Value = String> {
    let item = prop_oneof![
        Just("(objectClass=person)".to_owned()),
        Just("(objectClass=*)".to_owned()),
        prop_oneof![Just("Smithn"), Just("jon"), Just("d x"), Just("zz")].prop_map(|v| format!("(cn={v})")),
        prop_oneof![Just("smith s"), Just(" JO  S "), Just("x s")].prop_map(|v| format!("(sn={v})")),
        prop_oneof![
            Just("S*"),
            Just("*n"),
            Just("*mi*"),
            Just("jo*n"),
            Just("*o*e*"),
            Just("*e"),
            Just("d *"),
            Just("*jon*on*")
        ]
        .prop_map(|v| format!("(cn={v})")),
        (-310i64..310).prop_map(|n| format!("(level>={n})")),
        (-310i64..310).prop_map(|n| format!("(level<={n})")),
        (-310i64..310).prop_map(|n| format!("(level={n})")),
        (1u32..13).prop_map(|m| format!("(born>=2001{m:02}01000000Z)")),
        Just("(born=*)".to_owned()),
        Just("(cn=*)".to_owned()),
        prop_oneof![Just("smit"), Just("jonz"), Just("ann")].prop_map(|v| format!("(cn~={v})")),
        (0u8..4).prop_map(|n| format!("(description=d{n})")),
        Just("(seeAlso=*)".to_owned()),
        Just("(nonsense=1)".to_owned()),
        Just("(cn;lang-de=d x)".to_owned()),
        Just("(name=x s)".to_owned()),
    ];
    item.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|f| format!("(&{})", f.concat())),
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|f| format!("(|{})", f.concat())),
            inner.prop_map(|f| format!("(!{f})")),
        ]
    })
}

fn add_person(n: usize, lines: &[(&'static str, String)]) -> Effect {
    let uid = format!("p{n}");
    let mut all = vec![
        ("objectClass", ["person", "inetOrgPerson"][n % 2]),
        ("uid", uid.as_str()),
    ];
    for (name, value) in lines {
        // The values of one attribute are distinct: the operations ensure that.
        if !all
            .iter()
            .any(|(known, other)| known == name && other.eq_ignore_ascii_case(value))
        {
            all.push((*name, value));
        }
    }
    let above = ["ou=people,dc=example,dc=com", "ou=groups,dc=example,dc=com"][usize::from(n.is_multiple_of(5))];
    add(&format!("uid={uid},{above}"), &all)
}

fn become_person(dn: &str, lines: &[(&'static str, String)]) -> Effect {
    let Effect::Add { attributes, .. } = add_person(0, lines) else {
        unreachable!()
    };
    let changes = attributes
        .into_iter()
        .skip(2)
        .map(|(attribute, values)| ValueChange::Replace { attribute, values })
        .chain([ValueChange::Replace {
            attribute: "sn".into(),
            values: vec![],
        }])
        .collect();
    Effect::Modify { dn: dn.into(), changes }
}

/// The entries among the candidates above `after` that match, at most `most`, with their IDs.
fn slice(view: View<'_>, plan: &Plan, filter: &CompiledFilter, after: u64, most: usize) -> Vec<(u64, String)> {
    let (mut found, mut scratch) = (Vec::new(), Vec::new());
    let mut candidates = view.candidates(plan, after).unwrap();
    while found.len() < most
        && let Some(record) = candidates.next_record().unwrap()
    {
        if record.evaluate(filter, &mut scratch) == ironbark_model::Truth::True {
            found.push((record.id, view.dn(record.id).unwrap().pretty().to_owned()));
        }
    }
    found
}

#[test]
fn a_search_whose_index_goes_loses_no_entry() {
    let Store { database, directory } = filled();
    let filter = compile("(&(sn=smith)(cn=user*smith))");
    let (plan, first) = {
        let snapshot = database.snapshot().unwrap();
        let view = snapshot.view();
        let plan = view.plan(locate(view, ALL), DitScope::Subtree, &filter).unwrap();
        assert!(plan.to_string().starts_with("way: index\n"), "{plan}");
        let first = slice(view, &plan, &filter, 0, 50);
        (plan, first)
    };
    drop(database);
    let mut fewer = options(directory.path());
    fewer.indexes.retain(|index| &*index.attribute != "cn");
    let database = ironbark_store::Database::open(fewer, schema()).unwrap();
    let snapshot = database.snapshot().unwrap();
    let rest = slice(snapshot.view(), &plan, &filter, first.last().unwrap().0, usize::MAX);
    assert_eq!(first.len() + rest.len(), 134);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn slices_of_later_snapshots_give_what_stays_once(
        people in proptest::collection::vec(person(), 60..160),
        filter in filter(),
        steps in proptest::collection::vec(
            (1usize..20, proptest::collection::vec((any::<prop::sample::Index>(), 0u8..3, person()), 0..12)), 1..12),
    ) {
        let store = store();
        store.people();
        let adds: Vec<_> = people.iter().enumerate().map(|(n, person)| add_person(n, person)).collect();
        store.apply(&adds).unwrap();
        let compiled = compile(&filter);
        let (plan, before) = {
            let snapshot = store.database.snapshot().unwrap();
            let view = snapshot.view();
            let plan = view.plan(locate(view, ALL), DitScope::Subtree, &compiled).unwrap();
            (plan, scan(view, ALL, DitScope::Subtree, &filter))
        };
        let (mut found, mut changed, mut gone): (Vec<(u64, String)>, Vec<String>, Vec<String>) = Default::default();
        for (round, (most, changes)) in steps.iter().enumerate() {
            let after = found.last().map_or(0, |last| last.0);
            found.extend(slice(store.database.snapshot().unwrap().view(), &plan, &compiled, after, *most));
            for (at, (which, kind, person)) in changes.iter().enumerate() {
                let Effect::Add { dn, .. } = &adds[which.index(adds.len())] else { unreachable!() };
                let name = dn.to_string();
                let effect = match kind {
                    0 => add_person(1000 + round * 20 + at, person),
                    _ if gone.contains(&name) => continue,
                    1 => become_person(dn, person),
                    _ => {
                        gone.push(name.clone());
                        Effect::Delete { dn: dn.clone() }
                    }
                };
                if *kind != 0 {
                    changed.push(name);
                }
                store.apply(&[effect]).unwrap();
            }
        }
        let after = found.last().map_or(0, |last| last.0);
        found.extend(slice(store.database.snapshot().unwrap().view(), &plan, &compiled, after, usize::MAX));
        prop_assert!(found.is_sorted_by(|a, b| a.0 < b.0));
        let added = |name: &String| name.starts_with("uid=p1") && name.split(',').next().is_some_and(|rdn| rdn.len() == 9);
        let stayed = |name: &&String| !changed.contains(name) && !added(name);
        let found: Vec<&String> = found.iter().map(|found| &found.1).filter(stayed).collect();
        let before: Vec<&String> = before.iter().filter(stayed).collect();
        prop_assert_eq!(found, before, "{}", filter);
    }
    #[test]
    fn the_look_through_limit_is_that_of_the_candidates(
        people in proptest::collection::vec(person(), 20..200),
        filters in proptest::collection::vec(filter(), 12),
        limit in 0u64..120,
    ) {
        let store = store();
        store.people();
        let adds: Vec<_> = people.iter().enumerate().map(|(n, person)| add_person(n, person)).collect();
        store.apply(&adds).unwrap();
        let snapshot = store.database.snapshot().unwrap();
        let view = snapshot.view();
        for filter in &filters {
            let compiled = compile(filter);
            let plan = view.plan(locate(view, ALL), DitScope::Subtree, &compiled).unwrap();
            let exceeds = plan.exceeds(view, limit).unwrap();
            let matching = scan(view, ALL, DitScope::Subtree, filter).len() as u64;
            prop_assert!(exceeds || matching <= limit, "{}: {} match", filter, matching);
            let (mut candidates, mut count) = (view.candidates(&plan, 0).unwrap(), 0);
            while candidates.next_id().unwrap().is_some() {
                count += 1;
            }
            prop_assert!(!exceeds || count > limit, "{}: {} candidates", filter, count);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn an_index_answers_as_a_scan(
        people in proptest::collection::vec(person(), 1..120),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), person()), 0..20),
        filters in proptest::collection::vec(filter(), 12),
    ) {
        let store = store();
        store.people();
        let adds: Vec<_> = people.iter().enumerate().map(|(n, person)| add_person(n, person)).collect();
        store.apply(&adds).unwrap();
        for (which, person) in &changes {
            let Effect::Add { dn, .. } = &adds[which.index(adds.len())] else { unreachable!() };
            store.apply(&[become_person(dn, person)]).unwrap();
        }
        let snapshot = store.database.snapshot().unwrap();
        for filter in &filters {
            for (base, scope) in [
                (ALL, DitScope::Subtree),
                ("ou=groups,dc=example,dc=com", DitScope::OneLevel),
                ("ou=people,dc=example,dc=com", DitScope::Children),
            ] {
                let found = search(snapshot.view(), base, scope, filter);
                prop_assert_eq!(found, scan(snapshot.view(), base, scope, filter), "{} {:?}", filter, scope);
            }
        }
        assert_sound(&store.database);
    }
    #[test]
    fn deleting_all_leaves_no_key(people in proptest::collection::vec(person(), 1..40)) {
        let store = store();
        store.people();
        let adds: Vec<_> = people.iter().enumerate().map(|(n, person)| add_person(n, person)).collect();
        store.apply(&adds).unwrap();
        let deletes: Vec<_> = adds.iter().map(|effect| {
            let Effect::Add { dn, .. } = effect else { unreachable!() };
            Effect::Delete { dn: dn.clone() }
        }).collect();
        store.apply(&deletes).unwrap();
        let snapshot = store.database.snapshot().unwrap();
        let view = snapshot.view();
        for filter in ["(cn=*)", "(born=*)", "(level>=-99999)", "(cn~=smith)"] {
            let plan = view.plan(locate(view, ALL), DitScope::Subtree, &compile(filter)).unwrap();
            prop_assert_eq!(plan.candidate_estimate, 0, "{}", filter);
        }
        assert_sound(&store.database);
    }
}

/// The key of a long value has its beginning alone, so that several values have one key.
#[test]
fn values_around_the_length_of_a_key_are_told_apart() {
    const LENGTHS: std::ops::Range<usize> = 180..240;
    let store = store();
    store.people();
    let adds: Vec<_> = LENGTHS
        .map(|length| {
            let name = format!("cn={length},ou=people,dc=example,dc=com");
            add(
                &name,
                &[
                    ("objectClass", "person"),
                    ("cn", &length.to_string()),
                    ("sn", "s"),
                    ("word", &"x".repeat(length)),
                ],
            )
        })
        .collect();
    store.apply(&adds).unwrap();
    let snapshot = store.database.snapshot().unwrap();
    for length in LENGTHS {
        let value = "x".repeat(length);
        for filter in [
            format!("(word={value})"),
            format!("(!(word={value}))"),
            format!("(!(|(word={value})(word>={value})))"),
            format!("(!(word<={value}))"),
        ] {
            let found = search(snapshot.view(), ALL, DitScope::Subtree, &filter);
            assert_eq!(
                found,
                scan(snapshot.view(), ALL, DitScope::Subtree, &filter),
                "{filter}"
            );
        }
    }
}

#[test]
fn an_entry_is_found_by_its_uuid() {
    const UUID: &str = "597ae2f6-16a6-1027-98f4-d28b5365dc14";
    let store = store();
    store.people();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&(0x597a_e2f6_16a6_1027_98f4_d28b_5365_dc14_u128).to_be_bytes());
    let find = |database: &ironbark_store::Database| database.snapshot().unwrap().view().entry_of_uuid(&bytes);
    assert_eq!(find(&store.database).unwrap(), None);
    let ann = "cn=ann,ou=people,dc=example,dc=com";
    let lines = [
        ("objectClass", "person"),
        ("cn", "ann"),
        ("sn", "Lee"),
        ("entryUUID", UUID),
    ];
    store.apply(&[add(ann, &lines)]).unwrap();
    let snapshot = store.database.snapshot().unwrap();
    let id = locate(snapshot.view(), ann);
    assert_eq!(find(&store.database).unwrap(), Some(id));
    drop(snapshot);
    store.apply(&[Effect::Delete { dn: ann.into() }]).unwrap();
    assert_eq!(find(&store.database).unwrap(), None);

    let bare = store_with(|options| options.indexes.retain(|index| &*index.attribute != "entryUUID"));
    bare.people();
    bare.apply(&[add(ann, &lines)]).unwrap();
    assert!(
        matches!(find(&bare.database), Err(ironbark_store::StoreError::Inapplicable(_))),
        "without an index nothing is known"
    );
}

/// A database of millions of entries has subtrees of hundreds of thousands that are worth a walk.
#[test]
fn a_long_walk_of_the_scope_costs_steps() {
    let store = store();
    store.people();
    let unit = |name: &str| add(name, &[("objectClass", "organizationalUnit")]);
    let device = |name: String| add(&name, &[("objectClass", "account"), ("host", "x")]);
    let mut all = vec![unit("ou=in,ou=people,dc=example,dc=com")];
    all.extend((0..350).map(|number| device(format!("uid=i{number},ou=in,ou=people,dc=example,dc=com"))));
    all.extend((0..3_000).map(|number| device(format!("uid=o{number},ou=people,dc=example,dc=com"))));
    store.apply(&all).unwrap();
    let snapshot = store.database.snapshot().unwrap();
    let (budget, filter) = (Budget::new(0), compile("(host=y)"));
    let spent = |steps: u64, scope: DitScope| {
        budget.renew(steps, None);
        let view = snapshot.view().under(&budget);
        let base = locate(view, "ou=in,ou=people,dc=example,dc=com");
        let plan = view.plan(base, scope, &filter).unwrap();
        (steps - budget.left(), budget.is_exhausted(), plan.candidate_estimate)
    };
    // The first 256 names are free.
    let (walked, is_exhausted, candidates) = spent(10_000, DitScope::OneLevel);
    assert!(
        (94..200).contains(&walked) && !is_exhausted && candidates == 350,
        "{walked}"
    );
    let (walked, is_exhausted, candidates) = spent(10_000, DitScope::Subtree);
    assert!(
        (376..500).contains(&walked) && !is_exhausted && candidates == 351,
        "{walked}"
    );
    assert!(spent(100, DitScope::Subtree).1);
}
