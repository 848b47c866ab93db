//! Random changes: whatever a consumer asks for, and whenever it does, it has what a search finds.

use std::collections::{BTreeMap, BTreeSet};

use ironbark_ldap_proto::Scope;
use proptest::prelude::*;

use crate::syncprov::{
    consumer::{Consumer, Content, found},
    site,
};
use ironbark_harness::{
    changes::{self, RandomChange, change},
    {Site, TestClient},
};

const RULES: &str = "access to filter=(sn=hidden) by users none\n\
                     access to attrs=description by users none\n\
                     access to * by users read";

const CONTENTS: [Content; 7] = [
    content("cn=root,dc=ex", "dc=ex", Scope::WholeSubtree, "(objectClass=*)"),
    content(
        "cn=root,dc=ex",
        "dc=ex",
        Scope::WholeSubtree,
        "(|(sn=a)(description=b))",
    ),
    content("cn=root,dc=ex", "ou=1,dc=ex", Scope::WholeSubtree, "(objectClass=*)"),
    content("cn=root,dc=ex", "ou=2,dc=ex", Scope::SingleLevel, "(objectClass=*)"),
    content("cn=root,dc=ex", "ou=2,dc=ex", Scope::SubordinateSubtree, "(!(sn=a))"),
    content("cn=reader,dc=ex", "dc=ex", Scope::WholeSubtree, "(objectClass=*)"),
    content(
        "cn=reader,dc=ex",
        "ou=1,dc=ex",
        Scope::WholeSubtree,
        "(|(sn=a)(sn=hidden)(description=b))",
    ),
];

const fn content(identity: &'static str, base: &'static str, scope: Scope, filter: &'static str) -> Content {
    Content {
        identity,
        base,
        scope,
        filter,
    }
}

#[derive(Clone, Debug)]
enum Step {
    Change(RandomChange),
    /// All consumers take what there is.
    Look,
    /// A consumer comes anew, and stays or goes.
    Refresh(usize, bool),
    ForgetLog,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        16 => change().prop_map(Step::Change),
        3 => Just(Step::Look),
        2 => (0..CONTENTS.len(), any::<bool>()).prop_map(|(which, stays)| Step::Refresh(which, stays)),
        1 => Just(Step::ForgetLog),
    ]
}

/// Fails with the names of the entries that differ.
fn compare(consumer: &Consumer, site: &mut Site, content: Content) {
    let (held, found) = (consumer.content(), found(site, content));
    let differing = |one: &BTreeMap<String, BTreeSet<String>>, other: &BTreeMap<String, BTreeSet<String>>| {
        let names = one.iter().filter(|(name, lines)| other.get(*name) != Some(*lines));
        names.map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    let (more, less) = (differing(&held, &found), differing(&found, &held));
    assert!(
        more.is_empty() && less.is_empty(),
        "{content:?}: held {more:?}, found {less:?}"
    );
}

fn run(steps: &[Step]) {
    let mut site = site(RULES);
    site.become_("cn=root,dc=ex");
    for name in ["ou=1,dc=ex", "ou=2,dc=ex"] {
        site.must_add(name, "objectClass: organizationalUnit");
    }
    // All on one thread, and two of each: the second gets what was encoded for the first.
    let mut client = site.connect();
    let contents = || CONTENTS.into_iter().chain(CONTENTS);
    let mut consumers: Vec<Consumer> = contents().map(|_| Consumer::default()).collect();
    // Each has message IDs of its own.
    (0..)
        .zip(&mut consumers)
        .for_each(|(number, consumer)| consumer.number = 1_000 * number);
    let look = |site: &mut Site, client: &mut TestClient, consumers: &mut Vec<Consumer>| {
        for (consumer, content) in consumers.iter_mut().zip(contents()) {
            if consumer.persists() {
                consumer.go_on(client);
                if consumer.result().is_some_and(|(code, _)| code == 4096) {
                    consumer.begin(client, content, true);
                }
                compare(consumer, site, content);
            }
        }
    };
    for step in steps {
        match step {
            Step::Look => look(&mut site, &mut client, &mut consumers),
            Step::Refresh(which, stays) => {
                for number in [*which, *which + CONTENTS.len()] {
                    let (consumer, content) = (&mut consumers[number], CONTENTS[*which]);
                    consumer.leave();
                    consumer.begin(&mut client, content, *stays);
                    assert_eq!(consumer.content(), found(&mut site, content), "{content:?}");
                }
            }
            Step::ForgetLog => site.forget_log(),
            Step::Change(change) => changes::make(&mut site, change),
        }
    }
    look(&mut site, &mut client, &mut consumers);
}

/// Without a log, entries come in the order of their IDs. One that moved has come there from elsewhere.
#[test]
fn an_entry_comes_after_a_move_high_above_it() {
    use RandomChange::{Add, Delete, DeleteTree, Move};
    let changes = |changes: &[RandomChange]| changes.iter().cloned().map(Step::Change).collect::<Vec<_>>();
    let before = [
        Delete(4),
        DeleteTree(2),
        Add(0, 0, 0),
        Add(0, 1, 0),
        Add(0, 2, 0),
        Delete(0),
        Move(1, 0, 0),
        Add(5, 2, 0),
        Add(2, 1, 0),
    ];
    let while_away = [Move(5, 0, 6), Add(0, 2, 0), Add(0, 0, 0), Move(3, 1, 0), Add(4, 0, 0)];
    let mut steps = changes(&before);
    steps.push(Step::Refresh(0, false));
    steps.extend(changes(&while_away));
    steps.push(Step::Refresh(0, false));
    run(&steps);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, max_shrink_iters: 2_000, ..ProptestConfig::default() })]
    #[test]
    fn consumers_have_what_a_search_finds(steps in prop::collection::vec(step(), 1..60)) {
        run(&steps);
    }
}
