//! Random trees, definitions, rules and questions. Every answer must be that of a server without derivations, into
//! which a model has written the derived values.

use std::sync::Arc;

use ironbark_directory::overlay::Overlay;
use ironbark_ldap_proto::{
    List, Scope,
    controls::{Control, SortKey, SortKeys},
};
use proptest::prelude::*;

use crate::derived::{
    ask,
    rule::{ADDS, Rule, Streets},
};
use ironbark_harness::{DecodedAnswer, Site, TestClient};

/// An entry below the suffix. Its title is derived, if it is no definition.
#[derive(Clone, Debug)]
struct Made {
    /// The number of the superior, modulo the entry's own number; 0 is the suffix.
    superior: usize,
    titles: Vec<&'static str>,
    sn: &'static str,
    /// What makes it a definition, at first and later.
    streets: [Option<&'static str>; 2],
}

/// The tree: entry `n` stands at `n - 1`.
#[derive(Clone, Debug)]
struct Tree(Vec<Made>);

#[derive(Clone, Debug)]
struct Question {
    base: usize,
    scope: Scope,
    filter: String,
    names: &'static [&'static str],
    /// Whether the answer is sorted by title, and in which direction.
    sorts: Option<bool>,
    /// What is compared in the base.
    compared: (&'static str, &'static str),
    is_root: bool,
}

const VALUES: [&str; 6] = ["red", "Red", "green", "greenish", "blue", "e1"];
const ATTRIBUTES: [&str; 6] = ["title", "title", "name", "cn", "sn", "street"];
const NAMES: [&[&str]; 5] = [&["1.1"], &["title"], &["*"], &["name"], &["sn"]];
const RULES: [&str; 11] = [
    "",
    "access to attrs=title by * none\naccess to * by * read",
    "access to attrs=title val=\"red\" by * none\naccess to * by * read",
    "access to attrs=title val.regex=\"^g\" by * read\naccess to attrs=title by * none\naccess to * by * read",
    "access to attrs=title by * compare\naccess to * by * read",
    "access to attrs=title by * search\naccess to * by * read",
    "access to dn.exact=\"cn=e1,dc=ex\" attrs=title by * none\naccess to * by * read",
    "access to attrs=title val=\"red\" by * search\naccess to attrs=title by * compare\naccess to * by * read",
    "access to attrs=name by * none\naccess to * by * read",
    "access to attrs=title val=\"green\" by * compare\naccess to * by * read",
    "access to dn.subtree=\"cn=e2,dc=ex\" by * search\naccess to attrs=entry by * read\naccess to * by * search",
];

impl Tree {
    fn superior(&self, number: usize) -> Option<usize> {
        let made = self.0.get(number.checked_sub(1)?)?;
        Some(made.superior % number)
    }

    fn dn(&self, number: usize) -> String {
        match self.superior(number) {
            Some(superior) => format!("cn=e{number},{}", self.dn(superior)),
            None => "dc=ex".to_owned(),
        }
    }

    fn is_below_or_equal(&self, number: usize, ancestor: usize) -> bool {
        let mut at = Some(number);
        while let Some(one) = at {
            if one == ancestor {
                return true;
            }
            at = self.superior(one);
        }
        false
    }

    /// The titles that an entry has to clients.
    fn titles(&self, number: usize, round: usize, replaces: bool) -> Vec<&'static str> {
        let made = number.checked_sub(1).map(|at| &self.0[at]);
        let stored = made.map_or_else(Vec::new, |made| made.titles.clone());
        if made.is_some_and(|made| made.streets[round].is_some()) {
            return stored;
        }
        let definitions =
            (1..=self.0.len()).filter_map(|one| Some((self.superior(one)?, self.0[one - 1].streets[round]?)));
        let derived: Vec<&str> = definitions
            .filter(|(superior, _)| self.is_below_or_equal(number, *superior))
            .map(|(_, value)| value)
            .collect();
        let mut all = if replaces && !derived.is_empty() {
            Vec::new()
        } else {
            stored
        };
        for value in derived {
            if !all.iter().any(|known: &&str| known.eq_ignore_ascii_case(value)) {
                all.push(value);
            }
        }
        all
    }

    /// Adds all entries. `written`: with the titles that a model gives them.
    fn add(&self, site: &mut Site, written: Option<bool>) {
        site.must_add("dc=ex", "objectClass: domain\nobjectClass: extensibleObject");
        for (at, made) in self.0.iter().enumerate() {
            let mut text = format!("objectClass: inetOrgPerson\nsn: {}", made.sn);
            text.extend(made.streets[0].map(|street| format!("\nstreet: {street}")));
            text.extend(made.titles.iter().map(|title| format!("\ntitle: {title}")));
            site.must_add(&self.dn(at + 1), &text);
        }
        if let Some(replaces) = written {
            self.write(site, 0, replaces);
        }
    }

    fn define(&self, site: &mut Site, round: usize) {
        for (at, made) in self.0.iter().enumerate() {
            let street = made.streets[round].map_or_else(String::new, |street| format!("\ns: {street}"));
            let answer = site.modify(&self.dn(at + 1), &format!("replace: street{street}"));
            assert_eq!(answer.code, 0, "{}", answer.text);
        }
    }

    fn write(&self, site: &mut Site, round: usize, replaces: bool) {
        for number in 0..=self.0.len() {
            let titles = self.titles(number, round, replaces);
            let lines: Vec<String> = titles.iter().map(|title| format!("\nt: {title}")).collect();
            let answer = site.modify(&self.dn(number), &format!("replace: title{}", lines.concat()));
            assert_eq!(answer.code, 0, "{}", answer.text);
        }
    }
}

impl Question {
    fn ask(&self, tree: &Tree, site: &mut TestClient) -> [DecodedAnswer; 2] {
        let base = tree.dn(self.base % (tree.0.len() + 1));
        site.become_(if self.is_root { "cn=root,dc=ex" } else { "cn=e1,dc=ex" });
        let key = |reverse| {
            [SortKey {
                attribute: b"title",
                ordering_rule: Some(b"caseIgnoreOrderingMatch"),
                reverse,
            }]
        };
        let keys = self.sorts.map(key);
        let sort = keys.as_ref().map(|keys| Control::critical(SortKeys(List::new(keys))));
        let mut found = match &sort {
            Some(sort) => site.search_with(&base, self.scope, &self.filter, self.names, &[sort]),
            None => site.search_with(&base, self.scope, &self.filter, self.names, &[]),
        };
        // The order of attributes means nothing.
        for entry in &mut found.entries {
            let mut lines: Vec<&str> = entry.lines().collect();
            lines.sort_unstable();
            *entry = lines.join("\n");
        }
        [found, ask::compare_with(site, &base, self.compared, &[])]
    }
}

fn a_site(lines: &str, rule: Rule) -> Site {
    Site::open_with(&format!("{lines}\noverlay tested"), move |_, schema| {
        Ok(Overlay {
            derivation: Some(Arc::new(Streets::new(schema, rule, &Arc::default()))),
            ..Overlay::new("streets")
        })
    })
}

fn value() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&VALUES[..])
}

fn tree() -> impl Strategy<Value = Tree> {
    let titles = prop::sample::subsequence(&["red", "green", "blue", "greenish"][..], 0..=2);
    // In one spelling, as the titles: of two spellings of a value an entry can hold only one.
    let street = || prop::option::weighted(0.3, prop::sample::select(&["red", "green", "blue", "e1"][..]));
    let made = (any::<usize>(), titles, value(), street(), street());
    let made = made.prop_map(|(superior, titles, sn, first, second)| Made {
        superior,
        titles,
        sn,
        streets: [first, second],
    });
    prop::collection::vec(made, 1..8).prop_map(Tree)
}

fn filter() -> impl Strategy<Value = String> {
    let attribute = || prop::sample::select(&ATTRIBUTES[..]);
    let with = |texts: &'static [[&'static str; 2]]| {
        (attribute(), value(), prop::sample::select(texts))
            .prop_map(|(attribute, value, [between, end])| format!("({attribute}{between}{value}{end}"))
    };
    let item = prop_oneof![
        4 => with(&[["=", ")"]]),
        2 => with(&[["=", "*)"], ["=*", ")"], ["=*", "*)"], ["~=", ")"]]),
        2 => with(&[[":caseExactMatch:=", ")"], [":dn:=", ")"], [":caseIgnoreMatch:=", ")"]]),
        2 => attribute().prop_map(|attribute| format!("({attribute}=*)")),
        1 => value().prop_map(|value| format!("(:caseIgnoreMatch:={value})")),
        2 => (attribute(), prop::sample::subsequence(&VALUES[..], 3..=5)).prop_map(|(attribute, values)| {
            let items: Vec<String> = values.iter().map(|value| format!("({attribute}={value})")).collect();
            format!("(|{})", items.concat())
        }),
    ];
    item.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|one| format!("(!{one})")),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|all| format!("(&{})", all.concat())),
            prop::collection::vec(inner, 1..4).prop_map(|all| format!("(|{})", all.concat())),
        ]
    })
}

fn question() -> impl Strategy<Value = Question> {
    let scopes = [
        Scope::WholeSubtree,
        Scope::WholeSubtree,
        Scope::SingleLevel,
        Scope::BaseObject,
    ];
    let compared = (prop::sample::select(&ATTRIBUTES[..]), value());
    let sorts = prop::option::weighted(0.2, any::<bool>());
    let names = prop::sample::select(&NAMES[..]);
    let base = prop_oneof![2 => Just(0), 1 => 0..8_usize];
    let scope = prop::sample::select(scopes.to_vec());
    let all = (base, scope, filter(), names, sorts, compared, any::<bool>());
    all.prop_map(|(base, scope, filter, names, sorts, compared, is_root)| Question {
        base,
        scope,
        filter,
        names,
        sorts,
        compared,
        is_root,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_is_that_of_a_server_with_the_values_written(
        tree in tree(),
        (replaces, knows_candidates, looks_up, has_index) in any::<(bool, bool, bool, bool)>(),
        rules in prop::sample::select(&RULES[..]),
        questions in prop::collection::vec(question(), 12),
    ) {
        let index = if has_index { "index title pres,eq,sub\nindex sn eq" } else { "" };
        let lines = format!("envflags nosync\n{index}\n{rules}");
        let rule = Rule { target: "title", replaces, knows_candidates, looks_up, ..ADDS };
        let (mut derives, mut written) = (a_site(&lines, rule), Site::open(&lines));
        tree.add(&mut derives, None);
        tree.add(&mut written, Some(replaces));
        for round in 0..2 {
            if round == 1 {
                derives.become_("cn=root,dc=ex");
                written.become_("cn=root,dc=ex");
                tree.define(&mut derives, 1);
                tree.define(&mut written, 1);
                tree.write(&mut written, 1, replaces);
            }
            for question in &questions {
                let (found, expected) = (question.ask(&tree, &mut derives), question.ask(&tree, &mut written));
                prop_assert_eq!(found, expected, "{:?} in round {}", question, round);
            }
        }
    }
}
