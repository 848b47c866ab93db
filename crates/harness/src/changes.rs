//! Random changes of a client. The tests of overlay syncprov use them, too.
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on fails")]

use ironbark_ldap_proto::{Scope, controls};
use proptest::prelude::*;

use crate::Site;

/// A change of a random test. Its numbers choose among the entries and values that exist.
#[derive(Clone, Debug)]
pub enum RandomChange {
    /// Place, name, value.
    Add(usize, usize, usize),
    /// Entry, attribute, value.
    Modify(usize, usize, usize),
    /// Entry.
    Delete(usize),
    /// Topmost entry.
    DeleteTree(usize),
    /// Entry, name, superior.
    Move(usize, usize, usize),
    /// Another superior, the same RDN.
    MoveBelow(usize, usize),
}

impl RandomChange {
    /// The same with another name, if it gives one.
    #[must_use]
    pub fn with_name(self, name: usize) -> Self {
        match self {
            Self::Add(at, _, value) => Self::Add(at, name, value),
            Self::Move(at, _, to) => Self::Move(at, name, to),
            other => other,
        }
    }
}

/// Any change.
pub fn change() -> impl Strategy<Value = RandomChange> {
    let (place, name, value) = (0..8usize, 0..4usize, 0..4usize);
    prop_oneof![
        5 => (place.clone(), name.clone(), value.clone()).prop_map(|(at, name, sn)| RandomChange::Add(at, name, sn)),
        5 => (place.clone(), 0..2usize, value).prop_map(|(at, what, value)| RandomChange::Modify(at, what, value)),
        2 => place.clone().prop_map(RandomChange::Delete),
        1 => place.clone().prop_map(RandomChange::DeleteTree),
        3 => (place.clone(), name, place.clone()).prop_map(|(at, name, to)| RandomChange::Move(at, name, to)),
        2 => (place.clone(), place).prop_map(|(at, to)| RandomChange::MoveBelow(at, to)),
    ]
}

const VALUES: [&str; 4] = ["a", "b", "hidden", "c"];
/// Entries that stay.
pub const FIXED: [&str; 3] = ["dc=ex", "ou=1,dc=ex", "ou=2,dc=ex"];

/// The names that there are, without the fixed ones, in order: a run can be repeated.
fn names(site: &mut Site) -> Vec<String> {
    let found = site.search("dc=ex", Scope::WholeSubtree, "(objectClass=*)", &["1.1"]);
    let names = found
        .iter()
        .filter_map(|entry| entry.lines().next()?.strip_prefix("dn: "));
    let mut names: Vec<String> = names.filter(|name| !FIXED.contains(name)).map(str::to_owned).collect();
    names.sort_unstable();
    names
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

/// Makes the change. It may be refused.
pub fn make(site: &mut Site, change: &RandomChange) {
    site.become_("cn=root,dc=ex");
    let names = names(site);
    match change {
        RandomChange::Add(at, name, sn) => {
            let dn = format!("cn=n{name},{}", superior(&names, *at));
            site.add(&dn, &format!("objectClass: person\nsn: {}", VALUES[*sn]));
        }
        RandomChange::Modify(at, what, value) => {
            if let Some(dn) = pick(&names, *at) {
                let attribute = ["sn", "description"][*what];
                site.modify(dn, &format!("replace: {attribute}\n{attribute}: {}\n", VALUES[*value]));
            }
        }
        RandomChange::Delete(at) => {
            if let Some(dn) = pick(&names, *at) {
                site.delete(dn);
            }
        }
        RandomChange::DeleteTree(at) => {
            if let Some(dn) = pick(&names, *at) {
                site.delete_with(dn, &[&controls::Control::critical(controls::TreeDelete)]);
            }
        }
        RandomChange::Move(at, name, to) => {
            if let Some(dn) = pick(&names, *at) {
                let to = superior(&names, *to);
                site.rename(dn, &format!("cn=m{name}"), Some(&to));
            }
        }
        RandomChange::MoveBelow(at, to) => {
            if let Some(dn) = pick(&names, *at) {
                let (rdn, to) = (dn.split(',').next().unwrap_or_default(), superior(&names, *to));
                site.rename(dn, rdn, Some(&to));
            }
        }
    }
}
