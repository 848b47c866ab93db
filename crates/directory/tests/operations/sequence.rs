//! The fuzz target: octets are a sequence of operations on a small tree. Every answer must equal the model's.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use ironbark_ldap_proto::{CompareRequest, Request, Scope};
use ironbark_model::Dn;

use crate::operations::model::{ATTRIBUTES, Attributes, Change, ChangeKind, Model, Name, RDNS, Term, value};
use ironbark_harness::{DecodedAnswer, Site};

thread_local! {
    /// Opened once: opening a database takes longer than a sequence. Each sequence restores its first state.
    static SITE: RefCell<Site> = RefCell::new(open());
}

fn open() -> Site {
    let lines =
        "envflags nosync\nindex objectClass,cn,sn eq\nindex description pres,eq,sub\nindex title sub\nindex count eq";
    let mut site = Site::open(lines);
    site.must_add("dc=ex", "objectClass: domain\nobjectClass: extensibleObject\ncn: top");
    site
}

/// Runs a sequence.
///
/// # Panics
/// When an answer, or the stored data at the end, differ from the model's.
pub(crate) fn operations(data: &[u8]) {
    SITE.with_borrow_mut(|site| {
        let mut model = Model::default();
        let suffix: Attributes = [("cn", BTreeSet::from(["top".to_owned()]))].into();
        model.entries.insert(Name::new(), suffix);
        let mut octets = Octets(data);
        for _ in 0..MAX_OPERATIONS {
            if octets.0.is_empty() {
                break;
            }
            operation(site, &mut model, &mut octets);
        }
        compare_all(site, &model);
        let mut names: Vec<Name> = model.entries.into_keys().filter(|name| !name.is_empty()).collect();
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        for name in names {
            assert_eq!(site.delete(&text_of(&name)).code, 0, "deleting {}", text_of(&name));
        }
        site.modify("dc=ex", "replace: description\n-\nreplace: title\n-\nreplace: only\n-\nreplace: count\n-\nreplace: cn\ncn: top\n-\nreplace: sn\n-\nreplace: ou");
    });
}

const MAX_OPERATIONS: usize = 60;

/// The unread rest of a sequence.
struct Octets<'d>(&'d [u8]);

impl Octets<'_> {
    /// A number below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        usize::from(*first) % limit
    }

    fn octet(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap_or_default()
    }

    /// One level is usual, four are the most.
    fn name(&mut self) -> Name {
        let depth = [1, 1, 2, 2, 2, 3, 3, 4, 0][self.below(9)];
        (0..depth).map(|_| self.below(RDNS.len())).collect()
    }

    fn attribute(&mut self) -> &'static str {
        ATTRIBUTES[self.below(ATTRIBUTES.len())]
    }

    /// Values as they are written, and in normal form. Many values, one time in sixteen.
    fn values(&mut self, attribute: &str) -> (Vec<String>, Vec<String>) {
        let many = self.below(16) == 15 && attribute != "only" && attribute != "count";
        if many {
            let (from, count) = (self.octet(), self.octet());
            return (0..usize::from(count))
                .map(|number| (format!("W{from}-{number}"), format!("w{from}-{number}")))
                .unzip();
        }
        let count = [1, 1, 1, 2, 2, 3, 0][self.below(7)];
        (0..count).map(|_| value(attribute, self.octet() % 24)).unzip()
    }

    fn term(&mut self, depth: usize) -> Term {
        let attribute = self.attribute();
        match self.below(if depth == 0 { 5 } else { 8 }) {
            0 => Term::Present(attribute),
            1 | 2 => Term::Equal(attribute, value(attribute, self.octet() % 24).1),
            3 | 4 => {
                let attribute = ["cn", "sn", "ou", "description", "title"][self.below(5)];
                let mut piece = || {
                    [
                        None,
                        Some("a"),
                        Some("b"),
                        Some("ab"),
                        Some("c"),
                        Some("bca"),
                        Some("w1"),
                    ][self.below(7)]
                };
                let pieces = [piece(), piece(), piece()];
                if pieces == [None; 3] {
                    return Term::Present(attribute);
                }
                Term::Substring(attribute, pieces)
            }
            5 => Term::Not(Box::new(self.term(depth - 1))),
            kind => {
                let count = self.below(4);
                let terms = (0..count).map(|_| self.term(depth - 1)).collect();
                if kind == 6 { Term::And(terms) } else { Term::Or(terms) }
            }
        }
    }

    /// A name in one of the ways to write it.
    fn spelled(&mut self, name: &Name) -> String {
        let mut text = String::from(["dc=ex", "DC=EX", " dc = ex"][self.below(3)]);
        for rdn in name {
            let ways = RDNS[*rdn].0;
            text = format!("{},{text}", ways[self.below(ways.len())]);
        }
        text
    }
}

fn text_of(name: &Name) -> String {
    name.iter()
        .fold("dc=ex".to_owned(), |text, rdn| format!("{},{text}", RDNS[*rdn].0[0]))
}

fn operation(site: &mut Site, model: &mut Model, octets: &mut Octets<'_>) {
    let kind = octets.below(12);
    let name = octets.name();
    let text = octets.spelled(&name);
    let (what, answer, expected) = match kind {
        0..=3 => add(site, model, octets, &name, &text),
        4..=6 => modify(site, model, octets, &name, &text),
        // The suffix stays: without it only the suffix itself could be added.
        7 if name.is_empty() => return,
        7 => (format!("delete {text}"), site.delete(&text), model.delete(&name)),
        8 => rename(site, model, octets, &name, &text),
        9 => compare(site, model, octets, &name, &text),
        _ => return search(site, model, octets, &name, &text),
    };
    assert!(
        expected.contains(&answer.code),
        "{what}: expected {expected:?}, got {:?}",
        answer.brief()
    );
    if answer.code == 32 && kind != 8 {
        let mut nearest = name;
        while !model.entries.contains_key(&nearest) && nearest.pop().is_some() {}
        assert_eq!(
            normal(site, &answer.matched_dn),
            normal(site, &text_of(&nearest)),
            "matched DN of {what}"
        );
    }
}

type Outcome = (String, DecodedAnswer, &'static [u32]);

fn add(site: &mut Site, model: &mut Model, octets: &mut Octets<'_>, name: &Name, text: &str) -> Outcome {
    let mut attributes = Attributes::new();
    let mut lines = String::from("objectClass: device\nobjectClass: extensibleObject\n");
    let (mut has_repetition, mut has_many) = (false, false);
    for attribute in ATTRIBUTES {
        let (texts, values) = match octets.below(3) {
            0 if *attribute == "cn" => (vec!["A".to_owned()], vec!["a".to_owned()]),
            1 => octets.values(attribute),
            _ => continue,
        };
        for text in &texts {
            let _ = writeln!(lines, "{attribute}: {text}");
        }
        let count = values.len();
        let values: BTreeSet<String> = values.into_iter().collect();
        has_repetition |= values.len() != count;
        has_many |= *attribute == "only" && count > 1;
        if count != 0 {
            attributes.insert(attribute, values);
        }
    }
    let expected = model.add(name, attributes, has_repetition, has_many);
    (format!("add {text} {lines}"), site.add(text, &lines), expected)
}

fn modify(site: &mut Site, model: &mut Model, octets: &mut Octets<'_>, name: &Name, text: &str) -> Outcome {
    let (mut changes, mut lines) = (Vec::new(), String::new());
    for _ in 0..=octets.below(3) {
        let attribute = octets.attribute();
        let kind = [
            ChangeKind::Add,
            ChangeKind::Add,
            ChangeKind::Delete,
            ChangeKind::Replace,
        ][octets.below(4)];
        let (texts, values) = octets.values(attribute);
        let word = match kind {
            ChangeKind::Add => "add",
            ChangeKind::Delete => "delete",
            ChangeKind::Replace => "replace",
        };
        let _ = writeln!(lines, "{word}: {attribute}");
        for text in texts {
            let _ = writeln!(lines, "{attribute}: {text}");
        }
        lines.push_str("-\n");
        changes.push(Change {
            kind,
            attribute,
            values,
        });
    }
    let expected = model.modify(name, &changes);
    (format!("modify {text} {lines}"), site.modify(text, &lines), expected)
}

fn rename(site: &mut Site, model: &mut Model, octets: &mut Octets<'_>, name: &Name, text: &str) -> Outcome {
    let rdn = octets.below(RDNS.len());
    let ways = RDNS[rdn].0;
    let rdn_text = ways[octets.below(ways.len())];
    let deletes_old = octets.below(2) == 1;
    let superior = (octets.below(2) == 1).then(|| octets.name());
    let superior_text = superior.as_ref().map(|name| octets.spelled(name));
    let expected = model.rename(name, rdn, deletes_old, superior.as_ref());
    let answer = site.rename_with(text, rdn_text, deletes_old, superior_text.as_deref(), &[]);
    (
        format!("rename {text} to {rdn_text} {deletes_old} {superior_text:?}"),
        answer,
        expected,
    )
}

fn compare(site: &mut Site, model: &mut Model, octets: &mut Octets<'_>, name: &Name, text: &str) -> Outcome {
    let attribute = octets.attribute();
    let (written, asserted) = value(attribute, octets.octet() % 24);
    let request = CompareRequest {
        entry: text.as_bytes(),
        attribute: attribute.as_bytes(),
        value: written.as_bytes(),
    };
    let answer = site.send(&Request::Compare(request), &[]);
    (
        format!("compare {text} {attribute}={written}"),
        answer,
        model.compare(name, attribute, &asserted),
    )
}

fn search(site: &mut Site, model: &Model, octets: &mut Octets<'_>, name: &Name, text: &str) {
    let scope = octets.below(4);
    let filter = octets.term(2);
    let scopes = [
        Scope::BaseObject,
        Scope::SingleLevel,
        Scope::WholeSubtree,
        Scope::SubordinateSubtree,
    ];
    let answer = site.search_as_self(text, scopes[scope], &filter.text(), &["1.1"]);
    let what = format!("search {text} {scope} {}", filter.text());
    let exists = model.entries.contains_key(name);
    assert_eq!(answer.code, if exists { 0 } else { 32 }, "{what}");
    let found = answer.entries.iter().map(|entry| dn_of(site, entry));
    let expected = model.search(name, u8::try_from(scope).unwrap_or(3), &filter);
    let expected: BTreeSet<Vec<u8>> = expected.iter().map(|name| normal(site, &text_of(name))).collect();
    assert_eq!(found.clone().count(), expected.len(), "{what}: {:?}", answer.entries);
    assert_eq!(found.collect::<BTreeSet<_>>(), expected, "{what}");
}

/// Every entry with every value.
fn compare_all(site: &mut Site, model: &Model) {
    let found = site.search("dc=ex", Scope::WholeSubtree, "(objectClass=*)", ATTRIBUTES);
    let mut stored: BTreeMap<Vec<u8>, BTreeSet<(String, String)>> = BTreeMap::new();
    for entry in &found {
        let values = entry.lines().skip(1).filter_map(|line| line.split_once(": "));
        let values = values.map(|(attribute, value)| (attribute.to_owned(), normal_value(value)));
        let before = stored.insert(dn_of(site, entry), values.collect());
        assert!(before.is_none(), "found twice: {entry}");
    }
    let expected: BTreeMap<Vec<u8>, BTreeSet<(String, String)>> = model
        .entries
        .iter()
        .map(|(name, attributes)| {
            let values = attributes.iter().flat_map(|(attribute, values)| {
                values.iter().map(move |value| ((*attribute).to_owned(), value.clone()))
            });
            (normal(site, &text_of(name)), values.collect())
        })
        .collect();
    assert_eq!(stored, expected, "what is stored");
}

/// Of the values that occur here.
fn normal_value(text: &str) -> String {
    text.to_ascii_lowercase()
        .split(' ')
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn dn_of(site: &Site, entry: &str) -> Vec<u8> {
    let line = entry.lines().next().unwrap_or_default();
    normal(site, line.strip_prefix("dn: ").unwrap_or_default())
}

fn normal(site: &Site, dn: &str) -> Vec<u8> {
    let schema = &site.directory.configuration().schema;
    let dn = Dn::parse(schema, dn.as_bytes()).expect("a DN");
    dn.normalized().to_vec()
}
