//! An entry in memory, as LDIF, add requests, virtual contexts and change records hold it.

use std::ops::ControlFlow;

use crate::{
    AttributeDescription, Budget, CompiledFilter, Dn, Schema, Truth,
    filter::{Answering, AnsweringValue, Guard, Slot, ValueSource, rule_applies},
    matching::MatchingRule,
    schema::ClassNumber,
    syntax::oid,
};

/// One attribute of an entry: values in the order in which they were added.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attribute {
    /// Type and options.
    pub description: AttributeDescription,
    /// Values as they came in (not normalized); not empty.
    pub values: Vec<Vec<u8>>,
}

/// An entry: a name and attributes in the order in which they were added.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The name.
    pub dn: Dn,
    /// At most one attribute per description.
    pub attributes: Vec<Attribute>,
}

impl Attribute {
    /// The index of the value that equals `value` by the equality rule (by its bytes when there is none).
    /// Values are compared as values: a class does not find its subclass, and a name without a unique identifier does
    /// not find the same name with one. Only text that is not a value of the attribute is taken as an assertion of the
    /// rule (`{ serialNumber 1, issuer "" }`).
    pub fn find(&self, schema: &Schema, value: &[u8]) -> Option<usize> {
        let Some(rule) = schema.attribute_type(self.description.attribute_type).equality else {
            return self.values.iter().position(|known| known == value);
        };
        let mut sought = Vec::new();
        let is_value = (rule.normalize_value)(schema, value, &mut sought).is_ok();
        if !is_value {
            rule.assertion(schema, value, &mut sought).ok()?;
        }
        let mut normal = Vec::new();
        self.values.iter().position(|known| {
            normal.clear();
            (rule.normalize_value)(schema, known, &mut normal).is_ok()
                && if is_value {
                    normal == sought
                } else {
                    rule.matches(schema, &normal, &sought)
                }
        })
    }
}

impl Entry {
    /// An entry without attributes.
    pub fn new(dn: Dn) -> Self {
        Self {
            dn,
            attributes: Vec::new(),
        }
    }
    /// The attribute of exactly this description.
    pub fn attribute(&self, description: &AttributeDescription) -> Option<&Attribute> {
        self.attributes
            .iter()
            .find(|attribute| attribute.description == *description)
    }
    /// As [`Entry::attribute`], to be changed.
    pub fn attribute_mut(&mut self, description: &AttributeDescription) -> Option<&mut Attribute> {
        self.attributes
            .iter_mut()
            .find(|attribute| attribute.description == *description)
    }
    /// The attributes of this description and of its subtypes (RFC 4512 §2.5.2).
    pub fn matching_attributes<'e>(
        &'e self,
        schema: &'e Schema,
        description: &'e AttributeDescription,
    ) -> impl Iterator<Item = &'e Attribute> {
        self.attributes
            .iter()
            .filter(|attribute| schema.is_description_subtype(&attribute.description, description))
    }
    /// Whether the attribute of exactly this description has this value, by the equality rule.
    pub fn has_value(&self, schema: &Schema, description: &AttributeDescription, value: &[u8]) -> bool {
        self.attribute(description)
            .is_some_and(|attribute| attribute.find(schema, value).is_some())
    }
    /// Adds a value after the others; false when it is there already.
    pub fn add_value(&mut self, schema: &Schema, description: &AttributeDescription, value: &[u8]) -> bool {
        match self.attribute_mut(description) {
            Some(attribute) if attribute.find(schema, value).is_some() => false,
            Some(attribute) => {
                attribute.values.push(value.to_vec());
                true
            }
            None => {
                let attribute = Attribute {
                    description: description.clone(),
                    values: vec![value.to_vec()],
                };
                self.attributes.push(attribute);
                true
            }
        }
    }
    /// Removes an attribute; `None` when it is not there.
    pub fn remove_attribute(&mut self, description: &AttributeDescription) -> Option<Attribute> {
        let index = self
            .attributes
            .iter()
            .position(|attribute| attribute.description == *description)?;
        Some(self.attributes.remove(index))
    }
    /// Sets the values of an attribute, in its place if it is there; no values remove it.
    pub fn set_values(&mut self, description: &AttributeDescription, values: Vec<Vec<u8>>) {
        if values.is_empty() {
            self.remove_attribute(description);
        } else if let Some(attribute) = self.attribute_mut(description) {
            attribute.values = values;
        } else {
            self.attributes.push(Attribute {
                description: description.clone(),
                values,
            });
        }
    }
    /// The object classes of this entry that the schema knows, as written: superclasses only if they are listed.
    pub fn object_classes<'e>(&'e self, schema: &'e Schema) -> impl Iterator<Item = ClassNumber> + 'e {
        let number = schema.find_attribute_type(b"2.5.4.0").map(|attribute| attribute.number);
        self.attributes
            .iter()
            .filter(move |attribute| Some(attribute.description.attribute_type) == number)
            .flat_map(|attribute| &attribute.values)
            .filter_map(|value| schema.find_object_class(value).map(|class| class.number))
    }
    /// Whether the entry is of this class, or of a subclass of it.
    pub fn is_of_class(&self, schema: &Schema, class: ClassNumber) -> bool {
        self.object_classes(schema)
            .any(|known| schema.superclasses(known).contains(&class))
    }
}

/// `entryDN` (RFC 5020), which an entry has though it is not held.
const ENTRY_DN: &str = "1.3.6.1.1.20";

/// An entry in memory, seen by a filter.
#[derive(Clone, Copy)]
pub struct EntrySource<'e> {
    schema: &'e Schema,
    filter: &'e CompiledFilter,
    entry: &'e Entry,
    guard: Option<&'e dyn Guard>,
    budget: Option<&'e Budget>,
}

impl<'e> EntrySource<'e> {
    /// An entry of which all values may answer. `filter` is the filter whose slots are asked for; `schema` is the
    /// schema of both.
    pub fn new(schema: &'e Schema, filter: &'e CompiledFilter, entry: &'e Entry) -> Self {
        Self {
            schema,
            filter,
            entry,
            guard: None,
            budget: None,
        }
    }

    /// Adds the guard that decides which values may answer.
    #[must_use]
    pub fn guarded(self, guard: Option<&'e dyn Guard>) -> Self {
        Self { guard, ..self }
    }

    /// Adds the budget of the evaluation.
    #[must_use]
    pub fn within(self, budget: Option<&'e Budget>) -> Self {
        Self { budget, ..self }
    }

    fn visit_all<'v>(
        &self,
        attributes: impl Iterator<Item = &'v Attribute>,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) {
        for attribute in attributes {
            let Attribute { description, values } = attribute;
            for value in values.iter().filter(|value| self.may_answer(description, value)) {
                if visit(value).is_break() {
                    return;
                }
            }
        }
    }

    fn may_answer(&self, description: &AttributeDescription, value: &[u8]) -> bool {
        self.guard.is_none_or(|guard| match guard.answering(description) {
            Answering::All => true,
            Answering::None => false,
            Answering::Each => guard.may_answer(description, AnsweringValue::Plain(value)),
        })
    }
}

impl ValueSource for EntrySource<'_> {
    fn guard(&self) -> Option<&dyn Guard> {
        self.guard
    }
    fn budget(&self) -> Option<&Budget> {
        self.budget
    }
    fn values(&self, slot: Slot, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
        let Some(asked) = self.filter.slot(slot) else { return };
        let mut held = self.entry.matching_attributes(self.schema, asked).peekable();
        if held.peek().is_none() && &*self.schema.attribute_type(asked.attribute_type).oid == ENTRY_DN {
            let name = self.entry.dn.pretty().as_bytes();
            if asked.options.is_empty() && self.may_answer(asked, name) {
                // It is the only value.
                let _ = visit(name);
            }
            return;
        }
        self.visit_all(held, visit);
    }

    fn values_for_rule(&self, rule: &'static MatchingRule, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
        let attributes =
            self.entry.attributes.iter().filter(|attribute| {
                rule_applies(rule, self.schema.attribute_type(attribute.description.attribute_type))
            });
        self.visit_all(attributes, visit);
    }
    fn dn_values(
        &self,
        slot: Option<Slot>,
        rule: &'static MatchingRule,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) {
        let asked = slot.and_then(|slot| self.filter.slot(slot));
        // Attributes of names have no options.
        if asked.is_some_and(|asked| !asked.options.is_empty()) {
            return;
        }
        let wanted = asked.map(|description| description.attribute_type);
        let _ = self
            .entry
            .dn
            .visit_assertions(self.schema, 0..usize::MAX, &mut |number, value| {
                let counts = match wanted {
                    Some(wanted) => self.schema.is_subtype(number, wanted),
                    None => slot.is_none() && rule_applies(rule, self.schema.attribute_type(number)),
                };
                if counts {
                    visit(value)
                } else {
                    ControlFlow::Continue(())
                }
            });
    }
    fn holds_normalized(&self, _: Slot, _: &[u8]) -> Option<bool> {
        None
    }
    /// One step: True when a value is the target. Otherwise Undefined, because the further steps are in other entries.
    fn in_chain(&self, slot: Slot, target: &[u8]) -> Truth {
        let Some(description) = self.filter.slot(slot) else {
            return Truth::Undefined;
        };
        let mut any = false;
        for attribute in self.entry.matching_attributes(self.schema, description) {
            let values = attribute.values.iter();
            for value in values.filter(|value| self.may_answer(&attribute.description, value)) {
                any = true;
                if reaches_directly(self.schema, &attribute.description, target, Some(value)) == Truth::True {
                    return Truth::True;
                }
            }
        }
        if any { Truth::Undefined } else { Truth::False }
    }
}

/// Whether a DN value is the target of an in-chain match. Undefined: the value is another name. False: there is no
/// value.
pub(crate) fn reaches_directly(
    schema: &Schema,
    description: &AttributeDescription,
    target: &[u8],
    value: Option<&[u8]>,
) -> Truth {
    let Some(value) = value else {
        return Truth::False;
    };
    let has_uid = schema.attribute_type(description.attribute_type).syntax.oid == oid::NAME_AND_OPTIONAL_UID;
    let name = if has_uid {
        crate::dn::name_and_uid::split(value).0
    } else {
        value
    };
    match Dn::parse(schema, name) {
        Ok(dn) if dn.normalized() == target => Truth::True,
        _ => Truth::Undefined,
    }
}
