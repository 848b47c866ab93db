//! The second pass over the data: each entry as it is loaded here.

use std::{collections::HashMap, sync::Arc};

use ironbark_directory::password;
use ironbark_ldif::Attributes;
use ironbark_model::{
    Dn, Schema,
    schema::entry_check::{CheckedAttribute, EntryCheck, structural_class_of},
};

use super::{
    locking::LockingRoles,
    rules::{self, Action, Rule},
    source::Source,
    survey::plain,
    tally::{Tally, count},
};

/// What becomes of an entry.
#[derive(Debug)]
pub(super) struct Converted {
    /// The entry; `None`: it is left out.
    pub(super) entry: Option<Attributes>,
    /// What is shown to the administrator in left-out.ldif.
    pub(super) left_out: Attributes,
}

/// Makes entries of this server.
pub(super) struct Converter {
    pub(super) source: Source,
    pub(super) schema: Arc<Schema>,
    pub(super) tally: Tally,
    locking: LockingRoles,
    scratch: Vec<u8>,
    /// The rules of attribute types, because types recur.
    found: HashMap<String, Found>,
}

/// The rule of an attribute type, if there is one.
type Found = Option<(usize, &'static Rule)>;

/// pwdAccountLockedTime of an account that only an administrator unlocks (draft-behera-ldap-password-policy §5.3.3).
const LOCKED: &[u8] = b"000001010000Z";
const LOCKED_TIME: &[u8] = b"pwdAccountLockedTime";
/// The most types whose rules are remembered: data may name any number of them.
const MOST_FOUND: usize = 4_096;
/// Access rules that the report shows.
const MOST_ACI: usize = 200;

impl Converter {
    pub(super) fn new(source: Source, schema: Arc<Schema>, locking: LockingRoles) -> Self {
        Self {
            source,
            schema,
            tally: Tally::new(),
            locking,
            scratch: Vec::new(),
            found: HashMap::new(),
        }
    }

    /// Converts one entry.
    pub(super) fn convert(&mut self, dn: &str, attributes: Attributes) -> Converted {
        self.tally.read += 1;
        if let Some(number) = self.dropping_rule(dn, &attributes) {
            self.tally.rule(number, dn);
            let is_shown = rules::RULES
                .get(number)
                .is_some_and(|rule| rule.action == Action::DropNamed);
            let left_out = if is_shown { attributes } else { Attributes::new() };
            return Converted { entry: None, left_out };
        }
        let has_uuid = attributes
            .iter()
            .any(|(name, _)| base_of(name).eq_ignore_ascii_case(b"entryUUID"));
        let locking_rule = rules::of_locking_roles(self.source).filter(|_| self.locking.lock(&attributes));
        let (mut entry, mut left_out) = (Attributes::new(), Attributes::new());
        for (name, value) in attributes {
            self.attribute(dn, name, value, has_uuid, &mut entry, &mut left_out);
        }
        if let Some(number) = locking_rule {
            self.tally.rule(number, dn);
            let is_locked = entry.iter().any(|(name, _)| name == LOCKED_TIME);
            if !is_locked && let Some(name) = self.storable(dn, LOCKED_TIME, LOCKED) {
                entry.push((name, LOCKED.to_vec()));
            }
        }
        self.complete(dn, &mut entry);
        self.tally.written += 1;
        Converted {
            entry: Some(entry),
            left_out,
        }
    }

    fn rule_of(&mut self, name: &str) -> Found {
        if let Some(found) = self.found.get(name) {
            return *found;
        }
        let found = rules::find(self.source, Action::is_of_attributes, name);
        if self.found.len() < MOST_FOUND {
            self.found.insert(name.to_owned(), found);
        }
        found
    }

    /// The rule by which the whole entry is left out.
    fn dropping_rule(&self, dn: &str, attributes: &Attributes) -> Option<usize> {
        let classes = attributes
            .iter()
            .filter(|(name, _)| base_of(name).eq_ignore_ascii_case(b"objectClass"));
        for (_, class) in classes {
            let class = String::from_utf8_lossy(class);
            if let Some((number, _)) = rules::find(self.source, |action| action == Action::DropEntry, &class) {
                return Some(number);
            }
        }
        rules::of_name(self.source, &plain(dn))
    }

    fn attribute(
        &mut self,
        dn: &str,
        name: Vec<u8>,
        value: Vec<u8>,
        has_uuid: bool,
        entry: &mut Attributes,
        left_out: &mut Attributes,
    ) {
        let Some(mut name) = self.without_options(dn, name) else {
            return;
        };
        let base = String::from_utf8_lossy(base_of(&name)).into_owned();
        let mut value = value;
        if let Some((number, rule)) = self.rule_of(&base) {
            self.tally.rule(number, dn);
            match rule.action {
                Action::DropAndShow => {
                    if self.tally.aci.len() < MOST_ACI {
                        let shown = String::from_utf8_lossy(&value).into_owned();
                        self.tally.aci.push((dn.to_owned(), shown));
                    }
                    left_out.push((name, value));
                    return;
                }
                Action::DropAndKeep => {
                    left_out.push((name, value));
                    return;
                }
                Action::Rename(to) => name = to.as_bytes().to_vec(),
                Action::Lock if value.eq_ignore_ascii_case(b"true") => {
                    name = LOCKED_TIME.to_vec();
                    value = LOCKED.to_vec();
                }
                Action::UniqueId => {
                    let Some(uuid) = uuid(&value).filter(|_| !has_uuid) else {
                        return;
                    };
                    name = b"entryUUID".to_vec();
                    value = uuid.into_bytes();
                }
                _ => return,
            }
        }
        if base.eq_ignore_ascii_case("objectClass") && !self.keeps_class(dn, &value) {
            // A class that a rule leaves out is told by the rule.
            if rules::find(self.source, |action| action == Action::DropClass, &text(&value)).is_none() {
                left_out.push((name, value));
            }
            return;
        }
        if base.eq_ignore_ascii_case("userPassword") {
            self.note_scheme(dn, &value);
        }
        match self.storable(dn, &name, &value) {
            Some(name) => entry.push((name, value)),
            None => left_out.push((name, value)),
        }
    }

    /// The description without options of replication. `None`: the value is deleted.
    fn without_options(&mut self, dn: &str, name: Vec<u8>) -> Option<Vec<u8>> {
        if !name.contains(&b';') {
            return Some(name);
        }
        let written = text(&name).into_owned();
        let mut kept = Vec::new();
        let mut stripped = None;
        for (position, part) in written.split(';').enumerate() {
            let of_option = |action| matches!(action, Action::Options | Action::DeletedValue);
            match rules::find(self.source, of_option, part).filter(|_| position > 0) {
                Some((number, rule)) if rule.action == Action::DeletedValue => {
                    self.tally.rule(number, dn);
                    return None;
                }
                Some((number, _)) => stripped = Some(number),
                None => kept.push(part),
            }
        }
        if let Some(number) = stripped {
            self.tally.rule(number, dn);
        }
        Some(kept.join(";").into_bytes())
    }

    fn keeps_class(&mut self, dn: &str, class: &[u8]) -> bool {
        let class_text = text(class);
        if let Some((number, _)) = rules::find(self.source, |action| action == Action::DropClass, &class_text) {
            self.tally.rule(number, dn);
            return false;
        }
        if self.schema.find_object_class(class).is_some() {
            return true;
        }
        count(&mut self.tally.unknown_classes, &class_text, dn);
        false
    }

    /// The description under which the value can be stored.
    fn storable(&mut self, dn: &str, name: &[u8], value: &[u8]) -> Option<Vec<u8>> {
        let Ok(found) = self.schema.attribute_description(name) else {
            count(&mut self.tally.unknown_types, &text(name), dn);
            return None;
        };
        let attribute_type = self.schema.attribute_type(found.attribute_type);
        let mut name = name.to_vec();
        if !self.schema.is_storable(&found) {
            if found.is_binary() || !attribute_type.syntax.binary_transfer {
                count(&mut self.tally.unknown_types, &text(&name), dn);
                return None;
            }
            name.extend_from_slice(b";binary");
        }
        self.scratch.clear();
        let is_loaded = match attribute_type.equality {
            None => true,
            Some(rule) if value.is_empty() => rule.loads_empty_value(),
            Some(rule) => {
                (rule.normalize_value)(&self.schema, value, &mut self.scratch).is_ok() || rule.loads_any_value()
            }
        };
        if !is_loaded {
            count(&mut self.tally.bad_values, attribute_type.name(), dn);
            return None;
        }
        Some(name)
    }

    fn note_scheme(&mut self, dn: &str, value: &[u8]) {
        let (known, rest) = password::split(value);
        if known.is_none() && rest.first() == Some(&b'{') {
            let end = rest.iter().position(|octet| *octet == b'}').map_or(0, |end| end + 1);
            if end > 0 {
                count(&mut self.tally.schemes, &text(rest.get(..end).unwrap_or_default()), dn);
            }
        }
    }

    /// Adds what the entry must have here, and notes what is wrong with it.
    fn complete(&mut self, dn: &str, entry: &mut Attributes) {
        let schema = Arc::clone(&self.schema);
        let Ok(name) = Dn::parse(&schema, dn.as_bytes()) else {
            count(&mut self.tally.faults, "the name is no DN", dn);
            return;
        };
        if name.has_unknown_leaf_type(&schema) {
            count(&mut self.tally.faults, "the attribute type of its name is unknown", dn);
        }
        for (description, value) in name.leaf_assertions(&schema) {
            let is_there = entry.iter().any(|(known, _)| {
                schema
                    .attribute_description(known)
                    .is_ok_and(|known| known == description)
            });
            if !is_there {
                entry.push((schema.description_text(&description).into_bytes(), value));
            }
        }
        let classes = |entry: &Attributes| -> Vec<Vec<u8>> {
            let found = entry
                .iter()
                .filter(|(name, _)| name.eq_ignore_ascii_case(b"objectClass"));
            found.map(|(_, value)| value.clone()).collect()
        };
        let classes = classes(entry);
        let is_known = entry
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(b"structuralObjectClass"));
        if !is_known && let Ok(class) = structural_class_of(&schema, classes.iter().map(Vec::as_slice)) {
            let class = schema.object_class(class).name().as_bytes().to_vec();
            entry.push((b"structuralObjectClass".to_vec(), class));
        }
        if let Some(text) = fault(&schema, &classes, entry) {
            count(&mut self.tally.faults, &text, dn);
        }
    }
}

/// The reason why an entry breaks the schema.
fn fault(schema: &Schema, classes: &[Vec<u8>], entry: &Attributes) -> Option<String> {
    if classes.is_empty() {
        return Some("no object class is left".to_owned());
    }
    let mut counted: Vec<(ironbark_model::AttributeDescription, usize)> = Vec::new();
    for (name, _) in entry {
        let Ok(description) = schema.attribute_description(name) else {
            continue;
        };
        match counted.iter_mut().find(|(known, _)| *known == description) {
            Some((_, number)) => *number += 1,
            None => counted.push((description, 1)),
        }
    }
    let checked: Vec<_> = counted
        .iter()
        .map(|(description, number)| CheckedAttribute {
            description,
            value_count: *number,
        })
        .collect();
    let check = EntryCheck {
        former_class: None,
        collective_allowed: true,
        relax: false,
        may_be_dynamic: true,
    };
    let result = check.check(schema, classes.iter().map(Vec::as_slice), &checked);
    result.err().map(|error| error.diagnostic_message)
}

/// A unique ID of 389 as a UUID.
fn uuid(value: &[u8]) -> Option<String> {
    let digits: String = text(value).chars().filter(|one| *one != '-').collect();
    let number = u128::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 32)?;
    Some(uuid::Uuid::from_u128(number).to_string())
}

fn base_of(name: &[u8]) -> &[u8] {
    name.split(|octet| *octet == b';').next().unwrap_or_default()
}

fn text(value: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unique_id_has_the_hyphens_of_a_uuid() {
        let made = uuid(b"80ec968e-e9e411f1-a52daa54-e2f6f672");
        assert_eq!(made.as_deref(), Some("80ec968e-e9e4-11f1-a52d-aa54e2f6f672"));
        assert_eq!(uuid(b"80ec968e"), None);
        assert_eq!(uuid(b"zzec968e-e9e411f1-a52daa54-e2f6f672"), None);
    }
}
