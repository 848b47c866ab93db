//! Random rules, and the privileges that they grant by the manual (slapd.access(5)), for the forms used here.

use std::fmt::Write as _;

use crate::leaks::{
    Random,
    content::{Entry, GROUP, SUBJECTS},
};

#[derive(Clone, Debug)]
enum What {
    Everything,
    Attribute(&'static str),
    Class(&'static str),
    NotClass(&'static str),
    /// `val=`, of one attribute.
    Value(&'static str, &'static str),
    /// `val.regex="^..."`, of one attribute.
    Beginning(&'static str, &'static str),
    /// The entry itself.
    Entry,
}

#[derive(Clone, Debug)]
enum Who {
    Anyone,
    Users,
    Anonymous,
    Myself,
    Name(&'static str),
    /// Named in `owner`.
    Owner,
    Group,
    /// `this/owner & user`.
    OwnerBySet,
}

#[derive(Clone, Debug)]
struct Rule {
    below: Option<&'static str>,
    /// `filter=(owner=*)`
    owned: bool,
    what: What,
    by: Vec<(Who, &'static str, bool)>,
}

pub(crate) struct Rules(Vec<Rule>);

const LEVELS: [&str; 7] = ["none", "none", "disclose", "compare", "search", "read", "read"];
const BELOW: [&str; 7] = [
    "ou=a,dc=ex",
    "ou=b,dc=ex",
    "cn=t3,ou=b,dc=ex",
    "cn=t1,ou=a,dc=ex",
    "cn=r1,ou=b,dc=ex",
    "cn=u2,ou=b,dc=ex",
    "cn=t5,cn=t3,ou=b,dc=ex",
];
const ATTRIBUTES: [&str; 12] = [
    "name",
    "sn",
    "sn;lang-de",
    "cn;lang-de",
    "givenName",
    "title",
    "description",
    "uid",
    "uidNumber",
    "member",
    "distinguishedName",
    "userPassword",
];
const TYPES: [&str; 16] = [
    "sn",
    "cn",
    "givenName",
    "title",
    "l",
    "uid",
    "description",
    "userPassword",
    "member",
    "seeAlso",
    "manager",
    "uidNumber",
    "owner",
    "objectClass",
    "ref",
    "aliasedObjectName",
];

impl Rules {
    pub(crate) fn random(random: &mut Random) -> Self {
        let mut rules: Vec<Rule> = (0..=random.below(5)).map(|_| Rule::random(random)).collect();
        if !random.one_in(4) {
            rules.push(Rule {
                below: None,
                owned: false,
                what: What::Everything,
                by: vec![(Who::Anyone, random.word(&["read", "read", "search", "compare"]), false)],
            });
        }
        Self(rules)
    }

    /// As slapd.conf has them.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for rule in &self.0 {
            text.push_str("access to");
            if let Some(below) = rule.below {
                write!(text, " dn.subtree=\"{below}\"").unwrap();
            }
            if rule.owned {
                text.push_str(" filter=(owner=*)");
            }
            match &rule.what {
                What::Everything if rule.below.is_none() && !rule.owned => text.push_str(" *"),
                What::Everything => {}
                What::Attribute(name) => write!(text, " attrs={name}").unwrap(),
                What::Class(name) => write!(text, " attrs=@{name}").unwrap(),
                What::NotClass(name) => write!(text, " attrs=!{name}").unwrap(),
                What::Value(name, value) => write!(text, " attrs={name} val=\"{value}\"").unwrap(),
                What::Beginning(name, value) => write!(text, " attrs={name} val.regex=\"^{value}\"").unwrap(),
                What::Entry => text.push_str(" attrs=entry"),
            }
            for (who, level, goes_on) in &rule.by {
                let who = match who {
                    Who::Anyone => "*".to_owned(),
                    Who::Users => "users".into(),
                    Who::Anonymous => "anonymous".into(),
                    Who::Myself => "self".into(),
                    Who::Name(name) => format!("dn.exact=\"{name}\""),
                    Who::Owner => "dnattr=owner".into(),
                    Who::Group => format!("group=\"{GROUP}\""),
                    Who::OwnerBySet => "set=\"this/owner & user\"".into(),
                };
                write!(text, "\n  by {who} {level}{}", if *goes_on { " break" } else { "" }).unwrap();
            }
            text.push('\n');
        }
        text
    }

    /// Whether `subject` may do more on a value than know that the entry exists.
    pub(crate) fn grants_anything(&self, subject: &str, entry: &Entry, name: &str, value: Option<&str>) -> bool {
        let level = self.level(subject, entry, name, value);
        if name == "entry" { level > 0 } else { level > 1 }
    }

    pub(crate) fn grants_anything_on_some_attribute(&self, subject: &str, entry: &Entry) -> bool {
        TYPES
            .iter()
            .any(|name| self.grants_anything(subject, entry, name, None))
    }

    fn level(&self, subject: &str, entry: &Entry, name: &str, value: Option<&str>) -> usize {
        for rule in &self.0 {
            if !rule.is_about(entry, name, value) {
                continue;
            }
            let found = rule.by.iter().find(|(who, ..)| who.is(subject, entry));
            match found {
                None => return 0,
                Some((_, _, true)) => {}
                Some((_, level, false)) => return rank(level),
            }
        }
        0
    }
}

fn rank(level: &str) -> usize {
    ["none", "disclose", "auth", "compare", "search", "read"]
        .iter()
        .position(|known| *known == level)
        .unwrap()
}

impl Rule {
    fn random(random: &mut Random) -> Self {
        let what = match random.below(9) {
            0 => What::Everything,
            1 => What::Class(random.word(&["person", "inetOrgPerson", "groupOfNames"])),
            2 => What::NotClass("person"),
            3 => What::Value(
                random.word(&["sn", "description", "uid"]),
                random.word(&["alpha", "beta"]),
            ),
            4 => What::Beginning(random.word(&["sn", "givenName"]), "b"),
            5 => What::Entry,
            _ => What::Attribute(random.word(&ATTRIBUTES)),
        };
        let mut by: Vec<_> = (0..=random.below(2))
            .map(|_| {
                let who = match random.below(8) {
                    0 => Who::Users,
                    1 => Who::Anonymous,
                    2 => Who::Myself,
                    3 => Who::Name(random.word(&SUBJECTS[1..])),
                    4 => Who::Owner,
                    5 => Who::Group,
                    6 => Who::OwnerBySet,
                    _ => Who::Anyone,
                };
                (who, *random.of(&LEVELS), false)
            })
            .collect();
        if random.one_in(3) {
            by.push((Who::Anyone, "none", true));
        }
        Self {
            below: random.one_in(2).then(|| *random.of(&BELOW)),
            owned: random.one_in(6),
            what,
            by,
        }
    }

    fn is_about(&self, entry: &Entry, name: &str, value: Option<&str>) -> bool {
        let is_below = |base: &str| entry.dn == base || entry.dn.ends_with(&format!(",{base}"));
        let held_type = name.split(';').next().unwrap();
        let is_pseudo = name == "entry";
        self.below.is_none_or(is_below)
            && (!self.owned || entry.values.iter().any(|(held, _)| held == "owner"))
            && match &self.what {
                What::Everything => true,
                What::Entry => is_pseudo,
                What::Attribute(wanted) => !is_pseudo && covers(wanted, name),
                What::Class(class) => !is_pseudo && is_of(class, held_type),
                What::NotClass(class) => is_pseudo || !is_of(class, held_type),
                What::Value(wanted, text) => {
                    !is_pseudo && covers(wanted, name) && value.is_some_and(|value| value.eq_ignore_ascii_case(text))
                }
                What::Beginning(wanted, text) => {
                    let begins = |value: &str| value.to_ascii_lowercase().starts_with(text);
                    !is_pseudo && covers(wanted, name) && value.is_some_and(begins)
                }
            }
    }
}

impl Who {
    fn is(&self, subject: &str, entry: &Entry) -> bool {
        let owns = || {
            !subject.is_empty()
                && entry
                    .values
                    .iter()
                    .any(|(name, value)| name == "owner" && value == subject)
        };
        match self {
            Self::Anyone => true,
            Self::Users => !subject.is_empty(),
            Self::Anonymous => subject.is_empty(),
            Self::Myself => !subject.is_empty() && entry.dn == subject,
            Self::Name(name) => subject == *name,
            Self::Owner | Self::OwnerBySet => owns(),
            Self::Group => subject == SUBJECTS[1],
        }
    }
}

/// Whether an attribute of a rule stands for one of an entry: its subtypes and those with more options.
fn covers(wanted: &str, name: &str) -> bool {
    let split = |text: &str| {
        let mut parts = text.split(';').map(str::to_owned).collect::<Vec<_>>();
        let first = parts.remove(0);
        (first, parts)
    };
    let ((wanted, options), (held, held_options)) = (split(wanted), split(name));
    let is_subtype = match wanted.as_str() {
        "name" => ["cn", "sn", "givenName", "title", "l", "o", "ou"].contains(&held.as_str()),
        "distinguishedName" => ["member", "seeAlso", "owner", "aliasedObjectName"].contains(&held.as_str()),
        _ => false,
    };
    (held == wanted || is_subtype) && options.iter().all(|option| held_options.contains(option))
}

/// Whether a class, or one above it, has an attribute type.
fn is_of(class: &str, name: &str) -> bool {
    let person = [
        "objectClass",
        "cn",
        "sn",
        "userPassword",
        "telephoneNumber",
        "seeAlso",
        "description",
    ];
    let more = ["title", "l", "ou", "givenName", "uid", "manager", "o"];
    let group = [
        "objectClass",
        "cn",
        "member",
        "owner",
        "seeAlso",
        "description",
        "o",
        "ou",
    ];
    match class {
        "person" => person.contains(&name),
        "inetOrgPerson" => person.contains(&name) || more.contains(&name),
        _ => group.contains(&name),
    }
}
