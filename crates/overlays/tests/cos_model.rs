//! Random definitions of Class of Service. Every answer must be that of a server without the overlay, into which a
//! model has written the values.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use ironbark_harness::Site;
use ironbark_ldap_proto::{CompareRequest, Request, Scope};
use proptest::prelude::*;

const ROOT: &str = "cn=root,dc=ex";
const LAST: u32 = u32::MAX;
/// Where definitions and people are: each below the one before.
const UNITS: [&str; 3] = ["dc=ex", "ou=p,dc=ex", "ou=q,ou=p,dc=ex"];
const TITLES: [&str; 3] = ["gold", "Silver", "lead"];
const VALUES: [&str; 4] = ["own", "x", "gold-x", "y"];

/// A person: unit, title, stored value, and the number of the manager.
#[derive(Clone, Debug)]
struct Person {
    unit: usize,
    title: Option<usize>,
    stored: Option<usize>,
    manager: Option<usize>,
}

#[derive(Clone, Debug)]
enum Kind {
    Pointer(Template),
    /// For gold, for silver, for all others.
    Classic(Template, Template, Option<Template>),
    Indirect,
    Computed,
}

#[derive(Clone, Debug)]
struct Template {
    values: Vec<usize>,
    priority: Option<u32>,
}

#[derive(Clone, Debug)]
struct Definition {
    unit: usize,
    words: &'static str,
    kind: Kind,
}

/// An entry as far as definitions look at it.
struct Held {
    dn: String,
    allows: bool,
    stored: Vec<String>,
    title: Option<&'static str>,
    manager: Option<String>,
}

struct Model {
    people: Vec<Person>,
    definitions: Vec<Definition>,
}

impl Template {
    fn values(&self) -> Vec<String> {
        let mut values: Vec<String> = self.values.iter().map(|value| VALUES[*value].to_owned()).collect();
        values.sort();
        values.dedup();
        values
    }

    fn text(&self) -> String {
        let priority = self
            .priority
            .iter()
            .map(|priority| format!("cosPriority: {priority}\n"));
        let values = self.values();
        let values = values.iter().map(|value| format!("employeeType: {value}\n"));
        priority.chain(values).collect()
    }
}

impl Definition {
    fn wins(&self) -> bool {
        self.words.contains("override")
    }

    fn merges(&self) -> bool {
        self.words.contains("merge")
    }

    /// The templates, by their names.
    fn templates(&self) -> Vec<(&'static str, &Template)> {
        match &self.kind {
            Kind::Pointer(template) => vec![("all", template)],
            Kind::Classic(gold, silver, others) => {
                let others = others.iter().map(|template| ("title-default", template));
                [("gold", gold), ("silver", silver)].into_iter().chain(others).collect()
            }
            Kind::Indirect | Kind::Computed => Vec::new(),
        }
    }

    /// What it has for an entry, with its priority.
    fn gives(&self, entry: &Held, all: &[Held]) -> (u32, Vec<String>) {
        let of = |template: &Template| (template.priority.unwrap_or(LAST), template.values());
        match &self.kind {
            Kind::Pointer(template) => of(template),
            Kind::Classic(gold, silver, others) => match entry.title {
                Some("gold") => of(gold),
                Some("Silver") => of(silver),
                _ => others.as_ref().map_or((LAST, Vec::new()), of),
            },
            Kind::Indirect => {
                let manager = all.iter().find(|other| entry.manager.as_ref() == Some(&other.dn));
                (LAST, manager.map_or_else(Vec::new, |manager| manager.stored.clone()))
            }
            Kind::Computed => {
                let value = entry.title.map(|title| format!("{}-x", title.to_lowercase()));
                (LAST, value.into_iter().collect())
            }
        }
    }
}

impl Model {
    fn person(number: usize, unit: usize) -> String {
        format!("uid=u{number},{}", UNITS[unit])
    }

    fn template(number: usize, name: &str) -> String {
        format!("cn={name},ou=t{number},ou=t,dc=ex")
    }

    /// All entries that may have values.
    fn held(&self) -> Vec<Held> {
        let mut all = Vec::new();
        for (number, person) in self.people.iter().enumerate() {
            let manager = person.manager.map(|manager| manager % self.people.len());
            all.push(Held {
                dn: Self::person(number, person.unit),
                allows: true,
                stored: person.stored.iter().map(|value| VALUES[*value].to_owned()).collect(),
                title: person.title.map(|title| TITLES[title]),
                manager: manager.map(|manager| Self::person(manager, self.people[manager].unit)),
            });
        }
        for (number, definition) in self.definitions.iter().enumerate() {
            for (name, template) in definition.templates() {
                all.push(Held {
                    dn: Self::template(number, name),
                    allows: true,
                    stored: template.values(),
                    title: None,
                    manager: None,
                });
            }
        }
        all
    }

    /// The values that an entry is to have.
    fn values(&self, entry: &Held, all: &[Held]) -> Vec<String> {
        let mut offers = Vec::new();
        for definition in &self.definitions {
            let is_below = entry.dn.ends_with(UNITS[definition.unit]);
            if !is_below || !entry.allows || !entry.stored.is_empty() && !definition.wins() {
                continue;
            }
            let (priority, values) = definition.gives(entry, all);
            if !values.is_empty() {
                offers.push((priority, definition, values));
            }
        }
        offers.sort_by_key(|(priority, ..)| *priority);
        let Some((_, best, values)) = offers.first() else {
            return entry.stored.clone();
        };
        let mut values = values.clone();
        if best.merges() {
            for (_, _, more) in offers.iter().filter(|(_, definition, _)| definition.merges()) {
                values.extend(
                    more.iter()
                        .filter(|value| !values.contains(value))
                        .cloned()
                        .collect::<Vec<_>>(),
                );
            }
        }
        values
    }

    fn add(&self, site: &mut Site) {
        site.must_add("dc=ex", "objectClass: domain");
        for unit in ["ou=p,dc=ex", "ou=q,ou=p,dc=ex", "ou=t,dc=ex"] {
            site.must_add(unit, "objectClass: organizationalUnit");
        }
        for (number, person) in self.people.iter().enumerate() {
            let title = person.title.map(|title| format!("\ntitle: {}", TITLES[title]));
            let stored = person.stored.map(|value| format!("\nemployeeType: {}", VALUES[value]));
            let manager = person.manager.map(|manager| manager % self.people.len());
            let manager =
                manager.map(|manager| format!("\nmanager: {}", Self::person(manager, self.people[manager].unit)));
            let more: String = [title, stored, manager].into_iter().flatten().collect();
            let text = format!("objectClass: inetOrgPerson\ncn: u\nsn: u{more}");
            site.must_add(&Self::person(number, person.unit), &text);
        }
        for (number, definition) in self.definitions.iter().enumerate() {
            site.must_add(&format!("ou=t{number},ou=t,dc=ex"), "objectClass: organizationalUnit");
            for (name, template) in definition.templates() {
                let text = format!(
                    "objectClass: extensibleObject\nobjectClass: cosTemplate\n{}",
                    template.text()
                );
                site.must_add(&Self::template(number, name), text.trim_end());
            }
            let words = definition.words;
            let attribute = format!("cosAttribute: employeeType {words}");
            let text = match &definition.kind {
                Kind::Pointer(_) => format!(
                    "objectClass: cosPointerDefinition\n{attribute}\ncosTemplateDn: {}",
                    Self::template(number, "all")
                ),
                Kind::Classic(..) => format!(
                    "objectClass: cosClassicDefinition\n{attribute}\ncosSpecifier: title\n\
                     cosTemplateDn: ou=t{number},ou=t,dc=ex"
                ),
                Kind::Indirect => {
                    format!("objectClass: cosIndirectDefinition\n{attribute}\ncosIndirectSpecifier: manager")
                }
                Kind::Computed => {
                    format!(
                        "objectClass: cosComputedDefinition\ncosExpression: employeeType {words} = ${{title:lower}}-x"
                    )
                }
            };
            site.must_add(&format!("cn=d{number},{}", UNITS[definition.unit]), &text);
        }
    }

    fn write(&self, site: &mut Site) {
        let all = self.held();
        for entry in &all {
            let values = self.values(entry, &all);
            if values != entry.stored {
                let lines: Vec<String> = values.iter().map(|value| format!("e: {value}")).collect();
                let change = format!("replace: employeeType\n{}", lines.join("\n"));
                let answer = site.modify(&entry.dn, &change);
                assert_eq!(answer.code, 0, "{}", answer.text);
            }
        }
    }
}

fn site(lines: &str) -> Site {
    let lines = format!("envflags nosync\n{lines}");
    Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make)
}

/// The entries found, with their values, and a comparison.
fn ask(site: &mut Site, filter: &str, (dn, value): (&str, &str)) -> (Vec<String>, u32) {
    let found = site.search_with("dc=ex", Scope::WholeSubtree, filter, &["employeeType"], &[]);
    assert_eq!(found.code, 0, "{}", found.text);
    let sorted = |entry: &String| {
        let mut lines: Vec<&str> = entry.lines().collect();
        lines.sort_unstable();
        lines.join("\n")
    };
    let mut entries: Vec<String> = found.entries.iter().map(sorted).collect();
    entries.sort();
    let request = CompareRequest {
        entry: dn.as_bytes(),
        attribute: b"employeeType",
        value: value.as_bytes(),
    };
    (entries, site.send(&Request::Compare(request), &[]).code)
}

fn template() -> impl Strategy<Value = Template> {
    let values = prop::collection::vec(0..VALUES.len(), 0..3);
    (values, prop::option::of(0..3_u32)).prop_map(|(values, priority)| Template { values, priority })
}

fn definition() -> impl Strategy<Value = Definition> {
    let kind = prop_oneof![
        template().prop_map(Kind::Pointer),
        (template(), template(), prop::option::of(template())).prop_map(|(a, b, c)| Kind::Classic(a, b, c)),
        Just(Kind::Indirect),
        Just(Kind::Computed),
    ];
    let words = prop::sample::select(&["", "default", "override", "merge-schemes", "override merge-schemes"][..]);
    (0..UNITS.len(), words, kind).prop_map(|(unit, words, kind)| Definition { unit, words, kind })
}

fn person() -> impl Strategy<Value = Person> {
    let title = prop::option::weighted(0.8, 0..TITLES.len());
    let (stored, manager) = (
        prop::option::weighted(0.3, 0..VALUES.len()),
        prop::option::of(0..6_usize),
    );
    (0..UNITS.len(), title, stored, manager).prop_map(|(unit, title, stored, manager)| Person {
        unit,
        title,
        stored,
        manager,
    })
}

fn filter() -> impl Strategy<Value = String> {
    let item = prop::sample::select(
        &[
            "(employeeType=own)",
            "(employeeType=x)",
            "(employeeType=GOLD-X)",
            "(employeeType=*)",
            "(employeeType=*x)",
            "(employeeType>=p)",
            "(title=gold)",
            "(uid=u1)",
        ][..],
    );
    let items = prop::collection::vec((item, prop::bool::weighted(0.3)), 1..4);
    (items, any::<bool>()).prop_map(|(items, is_any)| {
        let one = |(item, is_not): (&str, bool)| if is_not { format!("(!{item})") } else { item.to_owned() };
        let items: String = items.into_iter().map(one).collect();
        format!("({}{items})", if is_any { '|' } else { '&' })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_is_that_of_a_server_with_the_values_written(
        people in prop::collection::vec(person(), 2..6),
        definitions in prop::collection::vec(definition(), 1..4),
        questions in prop::collection::vec((filter(), 0..6_usize, 0..VALUES.len()), 12),
        index in prop::sample::select(&[
            "index objectClass,title,manager,employeeType eq",
            "index objectClass eq",
            "index title,uid eq",
        ][..]),
    ) {
        let model = Model { people, definitions };
        let (mut derives, mut written) = (site(&format!("{index}\noverlay cos")), site(index));
        model.add(&mut derives);
        model.add(&mut written);
        model.write(&mut written);
        derives.become_(ROOT);
        written.become_(ROOT);
        for (filter, person, value) in &questions {
            let person = person % model.people.len();
            let dn = Model::person(person, model.people[person].unit);
            let compared = (dn.as_str(), VALUES[*value]);
            let found = ask(&mut derives, filter, compared);
            prop_assert_eq!(found, ask(&mut written, filter, compared), "{} {:?}", filter, model.definitions);
        }
    }
}
