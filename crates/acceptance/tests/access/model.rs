//! A directory as plain lists of text, with filters and operations on it. It uses no code of the server.

use std::collections::BTreeMap;

use super::random::Random;

/// An entry: attributes by description, each with its values.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) dn: String,
    pub(crate) attributes: BTreeMap<String, Vec<String>>,
}

/// All entries; no two have the same name.
#[derive(Clone, Debug)]
pub(crate) struct Directory(pub(crate) Vec<Entry>);

/// True, false or undefined.
pub(crate) type Truth = Option<bool>;

/// Names in the form in which they are compared. None here has spaces or escapes that matter.
pub(crate) fn normal(dn: &str) -> String {
    dn.to_lowercase()
}

/// The name of the superior entry; empty above the suffix.
pub(crate) fn parent(dn: &str) -> &str {
    dn.split_once(',').map_or("", |(_, parent)| parent)
}

/// Whether a name is another one or below it.
pub(crate) fn is_within(dn: &str, base: &str) -> bool {
    let (dn, base) = (normal(dn), normal(base));
    dn == base || dn.ends_with(&format!(",{base}"))
}

/// Whether an attribute description is another one, or that with options.
pub(crate) fn is_subtype(description: &str, of: &str) -> bool {
    let attribute_type = description.split(';').next().unwrap();
    description.eq_ignore_ascii_case(of) || attribute_type.eq_ignore_ascii_case(of)
}

/// Whether two values of an attribute are equal by its matching rule.
pub(crate) fn is_equal(attribute: &str, one: &str, other: &str) -> bool {
    if attribute.eq_ignore_ascii_case("userPassword") {
        return one == other;
    }
    one.eq_ignore_ascii_case(other)
}

impl Entry {
    /// The values of an attribute, of its subtypes too.
    pub(crate) fn values<'e>(&'e self, attribute: &'e str) -> impl Iterator<Item = (&'e str, &'e str)> {
        let held = self
            .attributes
            .iter()
            .filter(move |(name, _)| is_subtype(name, attribute));
        held.flat_map(|(name, values)| values.iter().map(move |value| (name.as_str(), value.as_str())))
    }

    pub(crate) fn holds(&self, attribute: &str, value: &str) -> bool {
        self.values(attribute).any(|(_, held)| is_equal(attribute, held, value))
    }

    fn is_of_class(&self, class: &str, may: &dyn Fn(&str, Option<&str>) -> bool) -> bool {
        let superior = |held: &str| match held.to_lowercase().as_str() {
            "inetorgperson" => vec!["organizationalperson", "person", "top"],
            _ => vec!["top"],
        };
        let named = self.values("objectClass");
        named.into_iter().any(|(name, held)| {
            may(name, Some(held))
                && (held.eq_ignore_ascii_case(class) || superior(held).contains(&class.to_lowercase().as_str()))
        })
    }

    /// RFC 4511 §4.5.1.7. `may`: whether an attribute, or a value of it, may be searched. It is asked about the
    /// asserted attribute, and about stored values that would answer. The manual demands only the former. A value that
    /// may not be searched answers nothing here; in slapd it answers substrings.
    pub(crate) fn matches(&self, filter: &str, may: &dyn Fn(&str, Option<&str>) -> bool) -> Truth {
        let (truth, rest) = self.component(filter, may);
        assert_eq!(rest, "", "{filter}");
        truth
    }

    /// One component in parentheses, and the text behind it.
    fn component<'f>(&self, text: &'f str, may: &dyn Fn(&str, Option<&str>) -> bool) -> (Truth, &'f str) {
        let text = text.strip_prefix('(').unwrap();
        let Some(operator) = text.chars().next().filter(|first| "&|!".contains(*first)) else {
            let (item, rest) = text.split_once(')').unwrap();
            return (self.item(item, may), rest);
        };
        let (mut rest, mut found) = (&text[1..], Vec::new());
        while rest.starts_with('(') {
            let (truth, behind) = self.component(rest, may);
            found.push(truth);
            rest = behind;
        }
        let all_known = !found.contains(&None);
        let truth = match operator {
            '&' if found.contains(&Some(false)) => Some(false),
            '&' => all_known.then_some(true),
            '|' if found.contains(&Some(true)) => Some(true),
            '|' => all_known.then_some(false),
            _ => found[0].map(|truth| !truth),
        };
        (truth, rest.strip_prefix(')').unwrap())
    }

    fn item(&self, item: &str, may: &dyn Fn(&str, Option<&str>) -> bool) -> Truth {
        let (attribute, value) = item.split_once('=').unwrap();
        if !value.contains('*') {
            let is_class = attribute.eq_ignore_ascii_case("objectClass");
            let holds = if is_class {
                self.is_of_class(value, may)
            } else {
                let mut values = self.values(attribute);
                values.any(|(name, held)| is_equal(attribute, held, value) && may(name, Some(held)))
            };
            return may(attribute, Some(value)).then_some(holds);
        }
        let parts: Vec<String> = value.split('*').map(str::to_lowercase).collect();
        let fits = |held: &str| {
            let held = held.to_lowercase();
            let (first, last) = (&parts[0], &parts[parts.len() - 1]);
            // Filters here have at most one middle part.
            let middle = parts[1..parts.len() - 1].first().map_or("", String::as_str);
            held.starts_with(first.as_str()) && held.ends_with(last.as_str()) && held.contains(middle)
        };
        let answers = || {
            self.values(attribute)
                .any(|(name, held)| fits(held) && may(name, Some(held)))
        };
        may(attribute, None).then(answers)
    }
}

impl Directory {
    pub(crate) fn find(&self, dn: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| normal(&entry.dn) == normal(dn))
    }

    pub(crate) fn find_mut(&mut self, dn: &str) -> Option<&mut Entry> {
        self.0.iter_mut().find(|entry| normal(&entry.dn) == normal(dn))
    }

    /// The closest superior entry of a name that does not exist.
    pub(crate) fn ancestor(&self, dn: &str) -> Option<&Entry> {
        let mut at = parent(dn);
        while !at.is_empty() {
            if let Some(entry) = self.find(at) {
                return Some(entry);
            }
            at = parent(at);
        }
        None
    }

    /// From LDIF without folded or encoded lines.
    pub(crate) fn parse(ldif: &str) -> Self {
        let records = ldif.split("\n\n").filter(|record| !record.trim().is_empty());
        Self(records.map(|record| record.trim().parse_entry()).collect())
    }

    pub(crate) fn ldif(&self) -> String {
        let lines = |entry: &Entry| {
            let mut lines = vec![format!("dn: {}", entry.dn)];
            for (name, values) in &entry.attributes {
                lines.extend(values.iter().map(|value| format!("{name}: {value}")));
            }
            lines.join("\n") + "\n"
        };
        self.0.iter().map(lines).collect::<Vec<_>>().join("\n")
    }

    /// The same people and groups, some with other attributes, and further people.
    pub(crate) fn vary(&mut self, random: &mut Random) {
        for number in 0..random.below(5) {
            let place = random.pick(&["ou=People", "ou=Staff,ou=People"]);
            let uid = format!("{}{number}", random.pick(&["abe", "zoe"]));
            let text = format!(
                "dn: uid={uid},{place},dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: {uid}\nsn: {uid}"
            );
            self.0.push(text.parse_entry());
        }
        let names: Vec<String> = self.0.iter().map(|entry| entry.dn.clone()).collect();
        for entry in &mut self.0 {
            let (pool, kept): (&[&str], usize) = if entry.is_of_class("person", &|_, _| true) {
                (&["title", "mail", "description", "manager", "seeAlso"], 0)
            } else if entry.is_of_class("groupOfNames", &|_, _| true) {
                (&["member", "owner", "description"], 2)
            } else {
                continue;
            };
            for name in pool {
                let is_member = *name == "member";
                let number = random.below(4);
                if number == 3 && !is_member {
                    continue;
                }
                let mut values: Vec<String> = Vec::new();
                if is_member {
                    // A value that nobody deletes.
                    values.extend(entry.attributes[*name].iter().take(kept).cloned());
                }
                for _ in 0..number {
                    let value = match *name {
                        "title" => random.pick(&["Boss", "Clerk", "boss of all"]).to_owned(),
                        "mail" => random
                            .pick(&["ann@example.com", "x@example.com", "x@example.org"])
                            .to_owned(),
                        "description" => random.pick(&["ann's own", "xyz", "Chief"]).to_owned(),
                        _ => names[random.below(names.len())].clone(),
                    };
                    if !values.iter().any(|held| is_equal(name, held, &value)) {
                        values.push(value);
                    }
                }
                if values.is_empty() {
                    entry.attributes.remove(*name);
                } else {
                    entry.attributes.insert((*name).to_owned(), values);
                }
            }
        }
    }
}

trait ParseEntry {
    fn parse_entry(&self) -> Entry;
}

impl ParseEntry for str {
    fn parse_entry(&self) -> Entry {
        let mut attributes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut lines = self.lines().map(|line| line.split_once(": ").unwrap());
        let (_, dn) = lines.next().unwrap();
        for (name, value) in lines {
            attributes.entry(name.to_owned()).or_default().push(value.to_owned());
        }
        Entry {
            dn: dn.to_owned(),
            attributes,
        }
    }
}
