//! A random tree, as text that both the test and the server understand.

use std::fmt::Write as _;

use crate::leaks::{Random, rules::Rules};
use ironbark_harness::Site;

/// A class that requires no attribute except the naming one.
pub(crate) const SCHEMA: &str = "objectclass ( 1.3.6.1.4.1.4203.666.999.21 NAME 'thing' SUP top STRUCTURAL MUST cn )";

pub(crate) const INDEXES: &str = "index objectClass eq\nindex name eq,sub,approx\nindex member,seeAlso,manager eq\n\
     index uid pres,eq,sub\nindex uidNumber eq\nindex description pres,sub";

pub(crate) const SUBJECTS: [&str; 4] = ["", "cn=u1,ou=a,dc=ex", "cn=u2,ou=b,dc=ex", "cn=u3,ou=b,dc=ex"];

/// Attributes with values that are words.
pub(crate) const WORDS: [&str; 10] = [
    "sn",
    "sn;lang-de",
    "cn;lang-de",
    "givenName",
    "title",
    "l",
    "uid",
    "description",
    "description;lang-de",
    "userPassword",
];
pub(crate) const NAMES: [&str; 3] = ["member", "seeAlso", "manager"];
pub(crate) const VALUES: [&str; 6] = ["alpha", "beta", "bet", "b", "ab", "Beta"];

/// Names that are given in the order of the adds.
pub(crate) const PLACES: [&str; 11] = [
    "cn=u1,ou=a,dc=ex",
    "cn=u2,ou=b,dc=ex",
    "cn=u3,ou=b,dc=ex",
    "cn=t1,ou=a,dc=ex",
    "cn=t2,ou=a,dc=ex",
    "cn=t3,ou=b,dc=ex",
    "cn=t4,ou=b,dc=ex",
    "cn=t5,cn=t3,ou=b,dc=ex",
    "cn=t6,cn=t5,cn=t3,ou=b,dc=ex",
    "cn=r1,ou=b,dc=ex",
    "cn=a1,ou=a,dc=ex",
];

/// A group that rules use. It is always there with all its members.
pub(crate) const GROUP: &str = "cn=g,dc=ex";

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) dn: String,
    pub(crate) values: Vec<(String, String)>,
}

#[derive(Clone)]
pub(crate) struct Content(pub(crate) Vec<Entry>);

impl Content {
    pub(crate) fn random(random: &mut Random) -> Self {
        let entry = |dn: &str, text: &[(&str, &str)]| Entry {
            dn: dn.to_owned(),
            values: text
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect(),
        };
        let mut entries = vec![
            entry(
                "dc=ex",
                &[
                    ("objectClass", "dcObject"),
                    ("objectClass", "organization"),
                    ("o", "ex"),
                    ("dc", "ex"),
                ],
            ),
            entry(
                GROUP,
                &[("objectClass", "groupOfNames"), ("cn", "g"), ("member", SUBJECTS[1])],
            ),
        ];
        for ou in ["a", "b"] {
            let dn = format!("ou={ou},dc=ex");
            entries.push(entry(&dn, &[("objectClass", "organizationalUnit"), ("ou", ou)]));
        }
        for dn in PLACES {
            let cn = &dn[3..5];
            let classes: &[(&str, &str)] = match cn {
                "r1" => &[("objectClass", "referral"), ("ref", "ldap://other/ou=x,dc=ex??sub")],
                "a1" => &[("objectClass", "alias")],
                _ => &[("objectClass", "thing")],
            };
            let mut made = entry(dn, classes);
            made.values.push(("objectClass".into(), "extensibleObject".into()));
            made.values.push(("cn".into(), cn.into()));
            if cn == "a1" {
                made.values
                    .push(("aliasedObjectName".into(), random.word(&PLACES[..9]).to_owned()));
            }
            made.fill(random);
            entries.push(made);
        }
        Self(entries)
    }

    /// A copy without the values on which `rules` give the subject no privilege at all, and without the entries that
    /// are then empty.
    pub(crate) fn without_what_is_hidden(&self, rules: &Rules, subject: &str) -> Self {
        let mut left: Vec<Entry> = Vec::new();
        // From the leaves upwards.
        for entry in self.0.iter().rev() {
            let may = |name: &str, value: Option<&str>| rules.grants_anything(subject, entry, name, value);
            let has_children = left.iter().any(|other| other.dn.ends_with(&format!(",{}", entry.dn)));
            let is_fixed = entry.dn == GROUP || entry.dn == "dc=ex" || has_children || entry.dn == subject;
            let is_hidden = !is_fixed
                && !may("entry", None)
                && entry
                    .values
                    .iter()
                    .all(|(name, value)| !may(name, Some(value)) && !may(name, None))
                && !rules.grants_anything_on_some_attribute(subject, entry);
            if is_hidden {
                continue;
            }
            let mut kept = entry.clone();
            if entry.dn != GROUP {
                kept.values
                    .retain(|(name, value)| is_input(name, entry) || may(name, Some(value)));
            }
            left.push(kept);
        }
        left.reverse();
        Self(left)
    }

    pub(crate) fn load(&self, site: &mut Site) {
        for entry in &self.0 {
            let mut lines: Vec<_> = entry
                .values
                .iter()
                .map(|(name, value)| format!("{name}: {value}"))
                .collect();
            // Values of one attribute come together.
            lines.sort_by_key(|line| line.split(':').next().map(str::to_owned));
            site.must_add(&entry.dn, &lines.join("\n"));
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for entry in &self.0 {
            writeln!(text, "{} {:?}", entry.dn, entry.values).unwrap();
        }
        text
    }

    pub(crate) fn difference(&self, left: &Self) -> String {
        let mut text = String::new();
        for entry in &self.0 {
            match left.0.iter().find(|other| other.dn == entry.dn) {
                None => writeln!(text, "{} whole", entry.dn).unwrap(),
                Some(other) => {
                    for value in entry.values.iter().filter(|value| !other.values.contains(value)) {
                        writeln!(text, "{} {value:?}", entry.dn).unwrap();
                    }
                }
            }
        }
        text
    }
}

impl Entry {
    fn fill(&mut self, random: &mut Random) {
        for name in WORDS {
            for _ in 0..random.below(3) {
                self.add(name, random.word(&VALUES));
            }
        }
        for name in NAMES {
            for _ in 0..random.below(3) {
                self.add(name, random.word(&PLACES));
            }
        }
        if random.one_in(2) {
            self.add("uidNumber", random.word(&["1", "2", "30"]));
        }
        if random.one_in(3) {
            self.add("owner", random.word(&SUBJECTS[1..]));
        }
    }

    /// Adds a value, unless an equal one is there.
    fn add(&mut self, name: &str, value: &str) {
        let is_there = |(held, other): &(String, String)| {
            held == name && (other == value || (name != "userPassword" && other.eq_ignore_ascii_case(value)))
        };
        if !self.values.iter().any(is_there) {
            self.values.push((name.into(), value.into()));
        }
    }
}

/// Whether an attribute always stays: it names the entry, makes it an entry, or is used by rules.
fn is_input(name: &str, entry: &Entry) -> bool {
    ["objectClass", "owner", "ref", "aliasedObjectName", "dc", "o", "ou"].contains(&name)
        || (name == "cn" && entry.dn.starts_with("cn="))
}
