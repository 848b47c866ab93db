//! Random changes: whatever a consumer asks for, and whenever it does, it has what a search finds.

use std::collections::{BTreeMap, BTreeSet};

use ironbark_ldap_proto::{Scope, controls};
use proptest::prelude::*;

use crate::{
    consumer::{Consumer, Content, found},
    forget_log,
    harness::Site,
    site,
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
    Add(usize, usize, usize),
    Modify(usize, usize, usize),
    Delete(usize),
    DeleteTree(usize),
    Move(usize, usize, usize),
    /// All consumers take what there is.
    Look,
    /// A consumer comes anew, and stays or goes.
    Refresh(usize, bool),
    ForgetLog,
}

fn step() -> impl Strategy<Value = Step> {
    let (place, name, value) = (0..8usize, 0..4usize, 0..4usize);
    prop_oneof![
        5 => (place.clone(), name.clone(), value.clone()).prop_map(|(at, name, sn)| Step::Add(at, name, sn)),
        5 => (place.clone(), 0..2usize, value).prop_map(|(at, what, value)| Step::Modify(at, what, value)),
        2 => place.clone().prop_map(Step::Delete),
        1 => place.clone().prop_map(Step::DeleteTree),
        3 => (place.clone(), name, place).prop_map(|(at, name, to)| Step::Move(at, name, to)),
        3 => Just(Step::Look),
        2 => (0..CONTENTS.len(), any::<bool>()).prop_map(|(which, stays)| Step::Refresh(which, stays)),
        1 => Just(Step::ForgetLog),
    ]
}

const VALUES: [&str; 4] = ["a", "b", "hidden", "c"];

/// The names that there are, without the fixed ones.
fn names(site: &mut Site) -> Vec<String> {
    let fixed = ["dc=ex", "ou=1,dc=ex", "ou=2,dc=ex"];
    let found = site.search("dc=ex", Scope::WholeSubtree, "(objectClass=*)", &["1.1"]);
    let names = found
        .iter()
        .filter_map(|entry| entry.lines().next()?.strip_prefix("dn: "));
    names.filter(|name| !fixed.contains(name)).map(str::to_owned).collect()
}

fn pick(names: &[String], at: usize) -> Option<&String> {
    names.get(at % names.len().max(1))
}

/// One of the fixed places, or an entry.
fn superior(names: &[String], at: usize) -> String {
    match at {
        0 | 1 => "ou=1,dc=ex".to_owned(),
        2 => "ou=2,dc=ex".to_owned(),
        3 => "dc=ex".to_owned(),
        _ => pick(names, at).cloned().unwrap_or_else(|| "ou=1,dc=ex".to_owned()),
    }
}

fn change(site: &mut Site, step: &Step) {
    let names = names(site);
    site.become_("cn=root,dc=ex");
    match step {
        Step::Add(at, name, sn) => {
            let dn = format!("cn=n{name},{}", superior(&names, *at));
            site.add(&dn, &format!("objectClass: person\nsn: {}", VALUES[*sn]));
        }
        Step::Modify(at, what, value) => {
            if let Some(dn) = pick(&names, *at) {
                let attribute = ["sn", "description"][*what];
                site.modify(dn, &format!("replace: {attribute}\n{attribute}: {}\n", VALUES[*value]));
            }
        }
        Step::Delete(at) => {
            if let Some(dn) = pick(&names, *at) {
                site.delete(dn);
            }
        }
        Step::DeleteTree(at) => {
            if let Some(dn) = pick(&names, *at) {
                site.delete_with(dn, &[&controls::Control::critical(controls::TreeDelete)]);
            }
        }
        Step::Move(at, name, to) => {
            if let Some(dn) = pick(&names, *at) {
                let to = superior(&names, *to);
                site.rename(dn, &format!("cn=m{name}"), Some(&to));
            }
        }
        Step::Look | Step::Refresh(..) | Step::ForgetLog => {}
    }
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
    let mut consumers: Vec<_> = CONTENTS
        .map(|_| (Consumer::default(), site.connect()))
        .into_iter()
        .collect();
    let look = |site: &mut Site, consumers: &mut Vec<(Consumer, _)>| {
        for ((consumer, client), content) in consumers.iter_mut().zip(CONTENTS) {
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
            Step::Look => look(&mut site, &mut consumers),
            Step::Refresh(which, stays) => {
                let (consumer, client) = &mut consumers[*which];
                consumer.leave();
                consumer.begin(client, CONTENTS[*which], *stays);
                assert_eq!(
                    consumer.content(),
                    found(&mut site, CONTENTS[*which]),
                    "{:?}",
                    CONTENTS[*which]
                );
            }
            Step::ForgetLog => forget_log(&site),
            _ => change(&mut site, step),
        }
    }
    look(&mut site, &mut consumers);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, max_shrink_iters: 2_000, ..ProptestConfig::default() })]
    #[test]
    fn consumers_have_what_a_search_finds(steps in prop::collection::vec(step(), 1..60)) {
        run(&steps);
    }
}
