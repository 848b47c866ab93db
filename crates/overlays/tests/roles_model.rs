//! Random roles. Every answer must be that of a server without the overlay, into which a model has written the roles of
//! each person as values of another attribute.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use std::{collections::BTreeSet, fmt::Write as _};

use ironbark_harness::Site;
use ironbark_ldap_proto::{CompareRequest, Request, Scope};
use proptest::prelude::*;

/// Where roles and people are: each below the one before, but the last.
const UNITS: [&str; 4] = ["dc=ex", "ou=p,dc=ex", "ou=q,ou=p,dc=ex", "ou=o,dc=ex"];
const TITLES: [&str; 3] = ["gold", "Silver", "lead"];
/// The attribute that holds the roles in the other server.
const WRITTEN: &str = "seeAlso";

#[derive(Clone, Debug)]
struct Person {
    unit: usize,
    title: Option<usize>,
    managed: Vec<usize>,
}

#[derive(Clone, Debug)]
enum Kind {
    Managed,
    Filtered(usize),
    Nested(Vec<usize>),
}

#[derive(Clone, Debug)]
struct Role {
    unit: usize,
    /// The unit of the entry that `nsRoleScopeDN` names.
    scope: Option<usize>,
    kind: Kind,
}

/// A role's filter, and whom it is for.
type RoleFilter = (&'static str, fn(&Person) -> bool);

const FILTERS: [RoleFilter; 5] = [
    ("(title=GOLD)", |person| person.title == Some(0)),
    ("title=silver", |person| person.title == Some(1)),
    ("(!(title=gold))", |person| person.title != Some(0)),
    ("(&(title=*)(!(title=lead)))", |person| {
        matches!(person.title, Some(0 | 1))
    }),
    ("(title=*l*)", |person| person.title.is_some()),
];

struct Model {
    people: Vec<Person>,
    roles: Vec<Role>,
}

impl Model {
    fn person(&self, number: usize) -> String {
        format!("uid=u{number},{}", UNITS[self.people[number].unit])
    }

    /// The name of a role. Some names are those of no role.
    fn role(&self, number: usize) -> String {
        let unit = self.roles.get(number).map_or(0, |role| role.unit);
        format!("cn=r{number},{}", UNITS[unit])
    }

    fn has(&self, person: &Person, number: usize, seen: &mut BTreeSet<usize>) -> bool {
        let Some(role) = self.roles.get(number).filter(|_| seen.insert(number)) else {
            return false;
        };
        let reach = UNITS[role.scope.unwrap_or(role.unit)];
        if !format!(",{}", UNITS[person.unit]).ends_with(&format!(",{reach}")) {
            return false;
        }
        match &role.kind {
            Kind::Managed => person.managed.contains(&number),
            Kind::Filtered(filter) => FILTERS[*filter].1(person),
            Kind::Nested(inner) => inner.iter().any(|inner| self.has(person, *inner, seen)),
        }
    }

    fn roles_of(&self, person: &Person) -> Vec<String> {
        let numbers = 0..self.roles.len();
        let had = numbers.filter(|number| self.has(person, *number, &mut BTreeSet::new()));
        had.map(|number| self.role(number)).collect()
    }

    fn add_units(site: &mut Site) {
        site.must_add("dc=ex", "objectClass: domain");
        for unit in &UNITS[1..] {
            site.must_add(unit, "objectClass: organizationalUnit");
        }
    }

    fn add_person(&self, number: usize, site: &mut Site, more: &str) {
        let title = self.people[number]
            .title
            .map(|title| format!("\ntitle: {}", TITLES[title]));
        let title = title.unwrap_or_default();
        let text = format!("objectClass: inetOrgPerson\ncn: u\nsn: u{number}{title}{more}");
        site.must_add(&self.person(number), &text);
    }

    fn values(attribute: &str, values: impl Iterator<Item = String>) -> String {
        values.fold(String::new(), |mut text, value| {
            let _ = write!(text, "\n{attribute}: {value}");
            text
        })
    }

    /// People and roles, for the overlay.
    fn add(&self, site: &mut Site) {
        Self::add_units(site);
        for (number, person) in self.people.iter().enumerate() {
            let named = person.managed.iter().map(|role| self.role(*role));
            self.add_person(number, site, &Self::values("nsRoleDN", named));
        }
        for (number, role) in self.roles.iter().enumerate() {
            let (class, kind, more) = match &role.kind {
                Kind::Managed => ("Simple", "Managed", String::new()),
                Kind::Filtered(filter) => ("Complex", "Filtered", format!("\nnsRoleFilter: {}", FILTERS[*filter].0)),
                Kind::Nested(inner) => {
                    let inner: BTreeSet<usize> = inner.iter().copied().collect();
                    let named = inner.into_iter().map(|role| self.role(role));
                    ("Complex", "Nested", Self::values("nsRoleDN", named))
                }
            };
            let scope = role
                .scope
                .map(|unit| format!("\nnsRoleScopeDN: cn=any,{}", UNITS[unit]));
            let scope = scope.unwrap_or_default();
            let text = format!(
                "objectClass: nsRoleDefinition\nobjectClass: ns{class}RoleDefinition\n\
                 objectClass: ns{kind}RoleDefinition{more}{scope}"
            );
            site.must_add(&self.role(number), &text);
        }
    }

    /// People with their roles, for the other server.
    fn write(&self, site: &mut Site) {
        Self::add_units(site);
        for (number, person) in self.people.iter().enumerate() {
            let roles = self.roles_of(person).into_iter();
            self.add_person(number, site, &Self::values(WRITTEN, roles));
        }
    }

    /// Gives a person another title in both servers.
    fn change(&mut self, number: usize, title: usize, [derives, written]: [&mut Site; 2]) {
        self.people[number].title = Some(title);
        let name = self.person(number);
        let title = format!("replace: title\ntitle: {}\n", TITLES[title]);
        let roles = Self::values(WRITTEN, self.roles_of(&self.people[number]).into_iter());
        for answer in [
            derives.modify(&name, &title),
            written.modify(&name, &format!("{title}-\nreplace: {WRITTEN}{roles}\n")),
        ] {
            assert_eq!(answer.code, 0, "{}", answer.text);
        }
    }
}

fn site(lines: &str) -> Site {
    let lines = format!("envflags nosync\n{lines}");
    Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make)
}

/// The people found, with their roles, and a comparison. `NAME` in the filter is the attribute with the roles.
fn ask(site: &mut Site, attribute: &str, filter: &str, (dn, role): (&str, &str)) -> (Vec<String>, u32) {
    let filter = format!("(&(uid=*){})", filter.replace("NAME", attribute));
    let found = site.search_with("dc=ex", Scope::WholeSubtree, &filter, &[attribute], &[]);
    assert_eq!(found.code, 0, "{}", found.text);
    let sorted = |entry: &String| {
        let entry = entry.replace(&format!("{attribute}: "), "role: ");
        let mut lines: Vec<&str> = entry.lines().collect();
        lines.sort_unstable();
        lines.join("\n")
    };
    let mut entries: Vec<String> = found.entries.iter().map(sorted).collect();
    entries.sort();
    let request = CompareRequest {
        entry: dn.as_bytes(),
        attribute: attribute.as_bytes(),
        value: role.as_bytes(),
    };
    (entries, site.send(&Request::Compare(request), &[]).code)
}

fn person() -> impl Strategy<Value = Person> {
    let title = prop::option::weighted(0.8, 0..TITLES.len());
    let managed = prop::collection::btree_set(0..6_usize, 0..3);
    (0..UNITS.len(), title, managed).prop_map(|(unit, title, managed)| Person {
        unit,
        title,
        managed: managed.into_iter().collect(),
    })
}

fn role() -> impl Strategy<Value = Role> {
    let kind = prop_oneof![
        Just(Kind::Managed),
        (0..FILTERS.len()).prop_map(Kind::Filtered),
        prop::collection::vec(0..6_usize, 1..4).prop_map(Kind::Nested),
    ];
    let scope = prop::option::weighted(0.2, 0..UNITS.len());
    (0..UNITS.len(), scope, kind).prop_map(|(unit, scope, kind)| Role { unit, scope, kind })
}

/// A filter about roles, each by its number.
fn filter() -> impl Strategy<Value = Vec<(Option<usize>, bool)>> {
    let about = prop::option::weighted(0.7, 0..6_usize);
    prop::collection::vec((about, prop::bool::weighted(0.3)), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_is_that_of_a_server_with_the_roles_written(
        people in prop::collection::vec(person(), 2..6),
        roles in prop::collection::vec(role(), 1..6),
        questions in prop::collection::vec((filter(), any::<bool>(), 0..6_usize, 0..6_usize), 12),
        (changed, title) in (0..6_usize, 0..TITLES.len()),
        index in prop::sample::select(&["index objectClass,title,nsRoleDN eq", "index objectClass eq", "index uid,title eq"][..]),
    ) {
        let mut model = Model { people, roles };
        let (mut derives, mut written) = (site(&format!("{index}\noverlay roles")), site("index title,uid eq"));
        model.add(&mut derives);
        model.write(&mut written);
        for round in 0..2 {
            for (items, is_any, person, role) in &questions {
                let one = |(role, is_not): &(Option<usize>, bool)| {
                    let item = role.map_or_else(|| "(NAME=*)".to_owned(), |role| format!("(NAME={})", model.role(role)));
                    if *is_not { format!("(!{item})") } else { item }
                };
                let items: String = items.iter().map(one).collect();
                let filter = format!("({}{items}(title=gold))", if *is_any { '|' } else { '&' });
                for filter in [filter, format!("(|{items})")] {
                    let compared = (model.person(person % model.people.len()), model.role(*role));
                    let compared = (compared.0.as_str(), compared.1.as_str());
                    let found = ask(&mut derives, "nsRole", &filter, compared);
                    let expected = ask(&mut written, WRITTEN, &filter, compared);
                    prop_assert_eq!(found, expected, "{} {} {:?}", round, filter, model.roles);
                }
            }
            let changed = changed % model.people.len();
            model.change(changed, title, [&mut derives, &mut written]);
        }
    }
}
