//! Random groups, stored and by rule, nested in any way. Every answer must be that of a server without the overlay,
//! into which a model has written members and groups.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::dynlist::{FALSE, ROOT, Scope, Site, TRUE, compare, site, site_with};

const PEOPLE: usize = 4;

#[derive(Clone, Debug)]
enum Group {
    /// Numbers of entries.
    Stored(Vec<usize>),
    /// Scope, base (the suffix, people, groups, or an entry), the filter, and a stored member.
    ByRule(&'static str, usize, &'static str, Option<usize>),
}

#[derive(Clone, Debug)]
struct Question {
    filter: Vec<(usize, bool, bool)>,
    is_any: bool,
    compared: (usize, usize),
}

/// Entries 0 to 3 are people, the others groups. A group's street is its number modulo 2.
struct Model<'a>(&'a [Group]);

impl Model<'_> {
    fn len(&self) -> usize {
        PEOPLE + self.0.len()
    }

    fn dn(number: usize) -> String {
        match number {
            0 => "cn=a,ou=p,dc=ex".to_owned(),
            1 => "cn=b,ou=p,dc=ex".to_owned(),
            2 => "cn=c,ou=p,dc=ex".to_owned(),
            3 => "cn=d,ou=p,dc=ex".to_owned(),
            group => format!("cn=g{group},ou=g,dc=ex"),
        }
    }

    fn base(number: usize) -> String {
        match number {
            0 => "dc=ex".to_owned(),
            1 => "ou=p,dc=ex".to_owned(),
            2 => "ou=g,dc=ex".to_owned(),
            entry => Self::dn(entry - 3),
        }
    }

    fn matches(number: usize, filter: &str) -> bool {
        match (filter, number) {
            ("(title=red)", 0 | 1) | ("(title=green)", 2) | ("(|(objectClass=person)(street=*))", _) => true,
            ("(street=0)", group) if group >= PEOPLE => group % 2 == 0,
            _ => false,
        }
    }

    /// The direct members of an entry.
    fn direct(&self, group: usize) -> Vec<usize> {
        match self.group(group) {
            None => Vec::new(),
            Some(Group::Stored(members)) => members.iter().map(|member| member % self.len()).collect(),
            Some(Group::ByRule(scope, base, filter, stored)) => {
                let base = Self::base(*base);
                let is_found = |number: &usize| {
                    let dn = Self::dn(*number);
                    let is_there = match *scope {
                        "base" => dn == base,
                        "one" => dn.split_once(',').is_some_and(|(_, superior)| superior == base),
                        "sub" => dn == base || dn.ends_with(&format!(",{base}")),
                        _ => dn.ends_with(&format!(",{base}")),
                    };
                    is_there && Self::matches(*number, filter)
                };
                let stored = stored.map(|member| member % self.len());
                (0..self.len()).filter(is_found).chain(stored).collect()
            }
        }
    }

    fn members(&self, group: usize) -> BTreeSet<usize> {
        let (mut found, mut unread) = (BTreeSet::new(), vec![group]);
        while let Some(one) = unread.pop() {
            unread.extend(self.direct(one).into_iter().filter(|member| found.insert(*member)));
        }
        found
    }

    fn add(&self, site: &mut Site, writes: bool) {
        for number in PEOPLE..self.len() {
            let kind = match self.group(number) {
                Some(Group::ByRule(scope, base, filter, _)) => {
                    let url = format!("ldap:///{}??{scope}?{filter}", Self::base(*base));
                    format!("objectClass: groupOfURLs\nmemberURL: {url}")
                }
                _ => "objectClass: groupOfNames\nmember: ou=none,dc=ex".to_owned(),
            };
            let text = format!("objectClass: extensibleObject\n{kind}\nstreet: {}", number % 2);
            site.must_add(&Self::dn(number), &text);
        }
        for number in 0..self.len() {
            let is_stored = matches!(self.group(number), Some(Group::Stored(_)));
            let (members, groups) = if writes {
                let groups = (PEOPLE..self.len()).filter(|group| self.members(*group).contains(&number));
                (self.members(number), groups.collect())
            } else {
                let stored = match self.group(number) {
                    Some(Group::Stored(_)) => self.direct(number),
                    Some(Group::ByRule(_, _, _, Some(member))) => vec![member % self.len()],
                    _ => Vec::new(),
                };
                (stored.into_iter().collect(), BTreeSet::new())
            };
            let dn = |number: usize| format!("x: {}", Self::dn(number));
            for (attribute, values) in [("member", members), ("seeAlso", groups)] {
                if values.is_empty() {
                    continue;
                }
                let none = (attribute == "member" && is_stored).then(|| "x: ou=none,dc=ex".to_owned());
                let lines: Vec<String> = values.into_iter().map(dn).chain(none).collect();
                let change = format!("replace: {attribute}\n{}", lines.join("\n"));
                let answer = site.modify(&Self::dn(number), &change);
                assert_eq!(answer.code, 0, "{}", answer.text);
            }
        }
    }

    fn group(&self, number: usize) -> Option<&Group> {
        self.0.get(number.checked_sub(PEOPLE)?)
    }
}

impl Question {
    fn ask(&self, count: usize, site: &mut Site) -> (Vec<String>, u32, u32) {
        let items: String = self
            .filter
            .iter()
            .map(|(number, is_member, is_not)| {
                let attribute = if *is_member { "member" } else { "seeAlso" };
                let item = format!("({attribute}={})", Model::dn(number % count));
                if *is_not { format!("(!{item})") } else { item }
            })
            .collect();
        let filter = format!("({}{items})", if self.is_any { '|' } else { '&' });
        let found = site.search_with("dc=ex", Scope::WholeSubtree, &filter, &["member", "seeAlso"], &[]);
        let sorted = |entry: &String| {
            // What every stored group has, so that it is never empty.
            let mut lines: Vec<&str> = entry.lines().filter(|line| !line.ends_with("ou=none,dc=ex")).collect();
            lines.sort_unstable();
            lines.join("\n")
        };
        let (dn, value) = (Model::dn(self.compared.0 % count), Model::dn(self.compared.1 % count));
        (
            found.entries.iter().map(sorted).collect(),
            // A group has members, also if it has none now.
            if compare(site, &dn, "member", &value) == TRUE {
                TRUE
            } else {
                FALSE
            },
            compare(site, &dn, "seeAlso", &value),
        )
    }
}

fn group() -> impl Strategy<Value = Group> {
    let filters = prop::sample::select(
        &[
            "(title=red)",
            "(title=green)",
            "(street=0)",
            "(|(objectClass=person)(street=*))",
        ][..],
    );
    let scopes = prop::sample::select(&["base", "one", "sub", "children"][..]);
    prop_oneof![
        prop::collection::vec(0..10_usize, 1..4).prop_map(Group::Stored),
        (scopes, 0..7_usize, filters, prop::option::weighted(0.3, 0..10_usize))
            .prop_map(|(scope, base, filter, stored)| Group::ByRule(scope, base, filter, stored)),
    ]
}

fn question() -> impl Strategy<Value = Question> {
    let items = prop::collection::vec((0..10_usize, any::<bool>(), prop::bool::weighted(0.3)), 1..3);
    (items, any::<bool>(), (0..10_usize, 0..10_usize)).prop_map(|(filter, is_any, compared)| Question {
        filter,
        is_any,
        compared,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_is_that_of_a_server_with_members_and_groups_written(
        groups in prop::collection::vec(group(), 1..6),
        questions in prop::collection::vec(question(), 10),
        indexed in prop::sample::select(&["objectClass,member,title", "objectClass", "title"][..]),
    ) {
        let model = Model(&groups);
        let set = "overlay dynlist\ndynlist-attrset groupOfURLs memberURL member+seeAlso@groupOfNames*";
        let (mut derives, mut written) = (
            site_with(indexed, &format!("envflags nosync\n{set}")),
            site("envflags nosync"),
        );
        model.add(&mut derives, false);
        model.add(&mut written, true);
        derives.become_(ROOT);
        written.become_(ROOT);
        for question in &questions {
            let found = question.ask(model.len(), &mut derives);
            prop_assert_eq!(found, question.ask(model.len(), &mut written), "{:?}", question);
        }
    }
}
