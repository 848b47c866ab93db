//! The required behaviour of a directory with a few names and values, in the most obvious way.

use std::collections::{BTreeMap, BTreeSet};

/// An RDN by its number in [`RDNS`].
pub(crate) type Rdn = usize;
/// RDNs from below the suffix to the entry.
pub(crate) type Name = Vec<Rdn>;
/// Attributes and their values, in normal form.
pub(crate) type Attributes = BTreeMap<&'static str, BTreeSet<String>>;

/// Ways to write an RDN, and the values in it, in normal form. The first way of writing is the one that models and
/// messages use.
type Forms = (&'static [&'static str], &'static [(&'static str, &'static str)]);
pub(crate) const RDNS: &[Forms] = &[
    (&["cn=a", "CN=A", "cn=\\61", "2.5.4.3=a"], &[("cn", "a")]),
    (&["cn=b", "commonName=B"], &[("cn", "b")]),
    (&["cn=a b", "cn=A  B", "cn= a b"], &[("cn", "a b")]),
    (&["sn=a", "surname=A"], &[("sn", "a")]),
    (&["cn=a+sn=b", "sn=B + cn=A"], &[("cn", "a"), ("sn", "b")]),
    (&["cn=x\\, y", "cn=X\\2C Y"], &[("cn", "x, y")]),
    (&["ou=c", "ou=C "], &[("ou", "c")]),
];

/// Attributes that requests are about.
pub(crate) const ATTRIBUTES: &[&str] = &["cn", "sn", "ou", "description", "title", "only", "count"];
/// Values: as written, and in normal form.
pub(crate) const TEXTS: &[(&str, &str)] = &[
    ("a", "a"),
    ("A", "a"),
    ("b", "b"),
    ("a b", "a b"),
    ("A  b", "a b"),
    ("abc", "abc"),
    ("bca", "bca"),
    ("x, y", "x, y"),
    ("aaaa", "aaaa"),
];
pub(crate) const NUMBERS: &[(&str, &str)] = &[("0", "0"), ("1", "1"), ("-1", "-1"), ("12", "12")];

/// A value as it is written, and its normal form.
pub(crate) fn value(attribute: &str, number: u8) -> (String, String) {
    let pool = if attribute == "count" { NUMBERS } else { TEXTS };
    match pool.get(usize::from(number)) {
        Some((text, normal)) => ((*text).to_owned(), (*normal).to_owned()),
        None if attribute == "count" => (number.to_string(), number.to_string()),
        None => (format!("V{number}"), format!("v{number}")),
    }
}

/// A change of one attribute: values in normal form.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) kind: ChangeKind,
    pub(crate) attribute: &'static str,
    pub(crate) values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ChangeKind {
    Add,
    Delete,
    Replace,
}

/// A filter.
#[derive(Debug)]
pub(crate) enum Term {
    Present(&'static str),
    Equal(&'static str, String),
    /// Initial, any, final.
    Substring(&'static str, [Option<&'static str>; 3]),
    And(Vec<Term>),
    Or(Vec<Term>),
    Not(Box<Term>),
}

/// Possible result codes. Only success changes something.
pub(crate) type Codes = &'static [u32];

/// Entries below the suffix, and the suffix, whose name is empty.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) entries: BTreeMap<Name, Attributes>,
}

impl Model {
    /// Adds an entry. A list of values may have a repetition, or more values than the attribute allows.
    pub(crate) fn add(
        &mut self,
        name: &Name,
        mut attributes: Attributes,
        has_repetition: bool,
        has_many: bool,
    ) -> Codes {
        if let Some(codes) = refusal(has_repetition, has_many) {
            return codes;
        }
        let Some((rdn, superior)) = name.split_last() else {
            return &[65, 68];
        };
        put_rdn(&mut attributes, *rdn);
        let is_refused = !attributes.contains_key("cn");
        // The model does not decide which of two reasons is reported.
        if self.entries.contains_key(name) {
            return if is_refused { &[65, 68] } else { &[68] };
        }
        if !self.entries.contains_key(superior) {
            return if is_refused { &[65, 32] } else { &[32] };
        }
        if is_refused {
            return &[65];
        }
        self.entries.insert(name.clone(), attributes);
        &[0]
    }

    pub(crate) fn delete(&mut self, name: &Name) -> Codes {
        if !self.entries.contains_key(name) {
            return &[32];
        }
        if self.below(name).next().is_some() {
            return &[66];
        }
        self.entries.remove(name);
        &[0]
    }

    pub(crate) fn modify(&mut self, name: &Name, changes: &[Change]) -> Codes {
        let repeats = |change: &Change| change.values.iter().collect::<BTreeSet<_>>().len() != change.values.len();
        if changes
            .iter()
            .any(|change| change.kind == ChangeKind::Add && change.values.is_empty())
        {
            return &[2];
        }
        let stores = |change: &&Change| change.kind != ChangeKind::Delete;
        let is_many = |change: &Change| change.attribute == "only" && change.values.len() > 1;
        // A value that cannot be there twice cannot be deleted twice: the request is refused, at once or when the value
        // is not found.
        let takes_twice = |change: &Change| change.kind == ChangeKind::Delete && (repeats(change) || is_many(change));
        if changes.iter().any(takes_twice) {
            return &[16, 19, 20, 32, 64, 65, 67];
        }
        let is_repeated = changes.iter().filter(stores).any(repeats);
        if let Some(codes) = refusal(is_repeated, changes.iter().filter(stores).any(is_many)) {
            return codes;
        }
        let Some(entry) = self.entries.get(name) else {
            return &[32];
        };
        let mut entry = entry.clone();
        for change in changes {
            let old = entry.entry(change.attribute).or_default();
            let given = change.values.iter().cloned();
            match change.kind {
                ChangeKind::Add if given.clone().any(|value| old.contains(&value)) => return &[20],
                ChangeKind::Add => old.extend(given),
                ChangeKind::Delete if change.values.is_empty() && old.is_empty() => return &[16],
                ChangeKind::Delete if change.values.is_empty() => old.clear(),
                ChangeKind::Delete => {
                    for value in given {
                        if !old.remove(&value) {
                            return &[16];
                        }
                    }
                }
                ChangeKind::Replace => *old = given.collect(),
            }
            entry.retain(|_, values| !values.is_empty());
        }
        let has_rdn = name.last().is_none_or(|rdn| {
            let values = RDNS[*rdn].1;
            values
                .iter()
                .all(|(attribute, value)| entry.get(attribute).is_some_and(|values| values.contains(*value)))
        });
        // The suffix is no device: a device must have a cn.
        if !has_rdn || !(name.is_empty() || entry.contains_key("cn")) {
            return &[64, 65, 67];
        }
        if entry.get("only").is_some_and(|values| values.len() > 1) {
            return &[19, 65];
        }
        self.entries.insert(name.clone(), entry);
        &[0]
    }

    pub(crate) fn rename(&mut self, name: &Name, rdn: Rdn, deletes_old: bool, superior: Option<&Name>) -> Codes {
        let Some((old_rdn, old_superior)) = name.split_last() else {
            return &[53, 64, 71];
        };
        let above = superior.map_or(old_superior, Vec::as_slice);
        let new_name: Name = above.iter().copied().chain([rdn]).collect();
        let is_circular = above.starts_with(name) || (new_name != *name && name.starts_with(&new_name));
        let Some(entry) = self.entries.get(name) else {
            return if is_circular { &[32, 53] } else { &[32] };
        };
        if is_circular {
            return &[32, 53, 68];
        }
        if !self.entries.contains_key(above) {
            return &[32];
        }
        let mut entry = entry.clone();
        if deletes_old {
            for (attribute, value) in RDNS[*old_rdn].1 {
                entry.get_mut(attribute).map(|values| values.remove(*value));
            }
            entry.retain(|_, values| !values.is_empty());
        }
        put_rdn(&mut entry, rdn);
        let exists = new_name != *name && self.entries.contains_key(&new_name);
        match (exists, entry.contains_key("cn")) {
            (true, true) => return &[68],
            (true, false) => return &[65, 68],
            (false, false) => return &[65],
            (false, true) => {}
        }
        let moved: Vec<Name> = self.below(name).cloned().collect();
        for old in moved {
            if let Some(entry) = self.entries.remove(&old) {
                let tail = old.get(name.len()..).unwrap_or_default();
                self.entries.insert([&new_name[..], tail].concat(), entry);
            }
        }
        self.entries.remove(name);
        self.entries.insert(new_name, entry);
        &[0]
    }

    pub(crate) fn compare(&self, name: &Name, attribute: &str, value: &str) -> Codes {
        let Some(entry) = self.entries.get(name) else {
            return &[32];
        };
        match entry.get(attribute) {
            None => &[16],
            Some(values) if values.contains(value) => &[6],
            Some(_) => &[5],
        }
    }

    /// Whether an entry is of a scope: 0 base, 1 one level, 2 subtree, 3 subordinates.
    pub(crate) fn search(&self, base: &Name, scope: u8, filter: &Term) -> BTreeSet<Name> {
        let found = self.entries.iter().filter(|(name, attributes)| {
            let is_in_scope = name.starts_with(base)
                && match scope {
                    0 => name.len() == base.len(),
                    1 => name.len() == base.len() + 1,
                    2 => true,
                    _ => name.len() > base.len(),
                };
            is_in_scope && filter.matches(attributes)
        });
        found.map(|(name, _)| name.clone()).collect()
    }

    fn below<'m>(&'m self, name: &'m Name) -> impl Iterator<Item = &'m Name> {
        self.entries
            .keys()
            .filter(move |other| other.len() > name.len() && other.starts_with(name))
    }
}

/// The errors in values that are found before any look-up.
fn refusal(is_repeated: bool, is_many: bool) -> Option<Codes> {
    match (is_repeated, is_many) {
        (true, true) => Some(&[19, 20]),
        (true, false) => Some(&[20]),
        (false, true) => Some(&[19]),
        (false, false) => None,
    }
}

fn put_rdn(entry: &mut Attributes, rdn: Rdn) {
    for (attribute, value) in RDNS[rdn].1 {
        let attribute = ATTRIBUTES
            .iter()
            .find(|known| *known == attribute)
            .copied()
            .unwrap_or_default();
        entry.entry(attribute).or_default().insert((*value).to_owned());
    }
}

impl Term {
    fn matches(&self, entry: &Attributes) -> bool {
        match self {
            Self::Present(attribute) => entry.contains_key(attribute),
            Self::Equal(attribute, value) => entry.get(attribute).is_some_and(|values| values.contains(value)),
            Self::Substring(attribute, [initial, any, last]) => entry.get(attribute).is_some_and(|values| {
                values.iter().any(|value| {
                    let rest = value.strip_prefix(initial.unwrap_or_default());
                    let rest = rest.and_then(|rest| rest.strip_suffix(last.unwrap_or_default()));
                    rest.is_some_and(|rest| any.is_none_or(|any| rest.contains(any)))
                })
            }),
            Self::And(terms) => terms.iter().all(|term| term.matches(entry)),
            Self::Or(terms) => terms.iter().any(|term| term.matches(entry)),
            Self::Not(term) => !term.matches(entry),
        }
    }

    /// In the form of RFC 4515.
    pub(crate) fn text(&self) -> String {
        let all = |terms: &[Self]| terms.iter().map(Self::text).collect::<String>();
        match self {
            Self::Present(attribute) => format!("({attribute}=*)"),
            Self::Equal(attribute, value) => format!("({attribute}={value})"),
            Self::Substring(attribute, [initial, any, last]) => {
                let any = any.map_or_else(String::new, |any| format!("{any}*"));
                format!(
                    "({attribute}={}*{any}{})",
                    initial.unwrap_or_default(),
                    last.unwrap_or_default()
                )
            }
            Self::And(terms) => format!("(&{})", all(terms)),
            Self::Or(terms) => format!("(|{})", all(terms)),
            Self::Not(term) => format!("(!{})", term.text()),
        }
    }
}
