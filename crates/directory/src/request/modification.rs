//! Changes of attributes as a client asks for them, checked against the schema before an entry is read.

use std::collections::HashMap;

use ironbark_ldap_proto::{Modifications, ModifyOperation, ValueSet};
use ironbark_model::{AttributeDescription, Schema, schema::AttributeType, syntax::oid};

use super::pretty;
use crate::{OperationError, refusal::AttributeRefusal};

/// What a [`Modification`] does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModificationKind {
    /// Adds the values.
    Add,
    /// Deletes the values, or the whole attribute if there are none.
    Delete,
    /// Replaces all values. Without values, it deletes the attribute if there is one.
    Replace,
    /// Adds a number to each value (RFC 4525).
    Increment,
    /// Adds the values that are not there: those of a new RDN.
    AddIfAbsent,
}

/// The authority for a change: decides which access it needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Authority {
    /// The client's; the access rules must grant it.
    Client,
    /// The client's, under the relax rules control; the access rules must grant `manage`.
    Manager,
    /// The server's own: timestamps, and changes of overlays.
    Server,
}

/// How the values of a request are read.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) schema: &'a Schema,
    /// Whether empty values of the syntax Directory String are taken: an overlay drops them.
    pub(crate) takes_empty_strings: bool,
}

impl Reading<'_> {
    fn conforms(&self, attribute_type: &AttributeType, value: &[u8]) -> bool {
        (attribute_type.syntax.validate)(self.schema, value).is_ok()
            || (self.takes_empty_strings && value.is_empty() && is_text_of_users(attribute_type))
    }
}

/// Whether it is a user attribute with the syntax Directory String.
pub fn is_text_of_users(attribute_type: &AttributeType) -> bool {
    attribute_type.syntax.oid == oid::DIRECTORY_STRING && !attribute_type.is_operational()
}

/// One change of an attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Modification {
    /// What is done.
    pub kind: ModificationKind,
    /// The attribute.
    pub description: AttributeDescription,
    /// The attribute's name as the client wrote it, for diagnostic messages.
    pub name: String,
    /// Values in the form in which they are stored.
    pub values: Vec<Vec<u8>>,
    /// Their normal forms by the equality rule; copies if there is none.
    pub normalized: Vec<Vec<u8>>,
    /// The authority.
    pub authority: Authority,
}

impl Modification {
    /// A change made by the server, whose values are known to conform.
    pub fn internal(
        schema: &Schema,
        kind: ModificationKind,
        description: &AttributeDescription,
        values: Vec<Vec<u8>>,
    ) -> Self {
        let normalized = values
            .iter()
            .map(|value| normal_form(schema, description, value))
            .collect();
        Self {
            kind,
            description: description.clone(),
            name: schema.description_text(description),
            values,
            normalized,
            authority: Authority::Server,
        }
    }

    /// A change that a client asks for: resolves the attribute, checks its values and converts them to their stored
    /// form.
    ///
    /// # Errors
    /// `undefinedAttributeType`, `invalidAttributeSyntax`, `constraintViolation`, `attributeOrValueExists`.
    pub(crate) fn requested(
        reading: Reading<'_>,
        kind: ModificationKind,
        name: &[u8],
        values: ValueSet<'_>,
    ) -> Result<Self, OperationError> {
        let name = String::from_utf8_lossy(name).into_owned();
        let schema = reading.schema;
        let description = resolve(schema, &name)?;
        let attribute_type = schema.attribute_type(description.attribute_type);
        if kind == ModificationKind::Increment && attribute_type.syntax.oid != oid::INTEGER {
            return Err(AttributeRefusal::NotIncrementable { name }.into());
        }
        let mut modification = Self {
            kind,
            description,
            name,
            values: Vec::with_capacity(values.len()),
            normalized: Vec::new(),
            authority: Authority::Client,
        };
        modification.take_values(reading, attribute_type, values)?;
        Ok(modification)
    }

    fn take_values(
        &mut self,
        reading: Reading<'_>,
        attribute_type: &AttributeType,
        values: ValueSet<'_>,
    ) -> Result<(), AttributeRefusal> {
        let schema = reading.schema;
        let by_number = self.kind == ModificationKind::Delete && attribute_type.has_ordered_values();
        for (index, value) in values.iter().enumerate() {
            if by_number && is_number(value) {
                self.values.push(value.to_vec());
                continue;
            }
            // A class must be known: slapd treats an unknown one as a syntax error.
            let is_class = OF_CLASSES.contains(&&*attribute_type.oid);
            let class = is_class.then(|| schema.find_object_class(value)).flatten();
            if (is_class && class.is_none()) || !reading.conforms(attribute_type, value) {
                let name = self.name.clone();
                return Err(AttributeRefusal::InvalidValue { name, index });
            }
            // Classes are stored under their first name, even if the client wrote another one.
            let stored = match class.and_then(|class| class.names.first()) {
                Some(name) => name.as_bytes().to_vec(),
                None => pretty::stored_form(schema, attribute_type.syntax, value),
            };
            self.values.push(stored);
        }
        let adds = matches!(self.kind, ModificationKind::Add | ModificationKind::Replace);
        if adds && self.values.len() > 1 && attribute_type.single_value {
            let name = self.name.clone();
            return Err(AttributeRefusal::MultipleValues { name });
        }
        for (index, value) in self.values.iter().enumerate() {
            if by_number && is_number(value) {
                self.normalized.push(value.clone());
                continue;
            }
            let Some(normal) = try_normal_form(schema, attribute_type, value) else {
                let name = self.name.clone();
                return Err(AttributeRefusal::NotNormalizable { name, index });
            };
            self.normalized.push(normal);
        }
        if self.kind != ModificationKind::Delete
            && let Some(index) = first_duplicate(&self.normalized)
        {
            let attribute = schema.description_text(&self.description);
            return Err(AttributeRefusal::RepeatedValue { attribute, index });
        }
        Ok(())
    }

    /// Whether it only removes the whole attribute.
    fn only_removes_attribute(&self) -> bool {
        matches!(self.kind, ModificationKind::Delete | ModificationKind::Replace) && self.values.is_empty()
    }
}

/// The changes of a modify request.
///
/// # Errors
/// As of [`Modification::requested`], for the first one that fails.
pub(crate) fn of_request(
    reading: Reading<'_>,
    changes: Modifications<'_>,
) -> Result<Vec<Modification>, OperationError> {
    changes
        .iter()
        .map(|change| {
            let kind = match change.operation {
                ModifyOperation::Add => ModificationKind::Add,
                ModifyOperation::Delete => ModificationKind::Delete,
                ModifyOperation::Replace => ModificationKind::Replace,
                ModifyOperation::Increment => ModificationKind::Increment,
            };
            Modification::requested(reading, kind, change.attribute, change.values)
        })
        .collect()
}

/// Refuses changes of obsolete attributes and of those that no user may modify (RFC 4512 §4.1.2), unless the rules are
/// relaxed.
///
/// # Errors
/// `constraintViolation`.
pub(crate) fn check_permitted(
    schema: &Schema,
    modifications: &mut [Modification],
    relax: bool,
) -> Result<(), AttributeRefusal> {
    for modification in modifications.iter() {
        let attribute_type = schema.attribute_type(modification.description.attribute_type);
        if !relax && attribute_type.obsolete && !modification.only_removes_attribute() {
            let name = modification.name.clone();
            return Err(AttributeRefusal::Obsolete { name });
        }
    }
    for modification in modifications {
        let attribute_type = schema.attribute_type(modification.description.attribute_type);
        if !attribute_type.no_user_modification || modification.authority == Authority::Server {
            continue;
        }
        if !relax {
            let name = modification.name.clone();
            return Err(AttributeRefusal::NoUserModification { name });
        }
        if !MANAGEABLE.contains(&&*attribute_type.oid) {
            let name = modification.name.clone();
            return Err(AttributeRefusal::NotManageable { name });
        }
        modification.authority = Authority::Manager;
    }
    Ok(())
}

/// Permits what [`check_permitted`] refuses: a tool adds an entry of a dump as it is.
pub(crate) fn permit_all(schema: &Schema, modifications: &mut [Modification]) {
    for modification in modifications {
        let attribute_type = schema.attribute_type(modification.description.attribute_type);
        if attribute_type.no_user_modification && modification.authority != Authority::Server {
            modification.authority = Authority::Manager;
        }
    }
}

/// Attributes that the relax rules control lets a manager set although no user may: timestamps, names, UUID, entryTtl,
/// and the state of the password policy.
const MANAGEABLE: &[&str] = &[
    "2.5.18.1",
    "2.5.18.2",
    "2.5.18.3",
    "2.5.18.4",
    "1.3.6.1.1.16.4",
    "1.3.6.1.4.1.1466.101.119.3",
    "1.3.6.1.4.1.42.2.27.8.1.16",
    "1.3.6.1.4.1.42.2.27.8.1.17",
    "1.3.6.1.4.1.42.2.27.8.1.19",
    "1.3.6.1.4.1.42.2.27.8.1.20",
    "1.3.6.1.4.1.42.2.27.8.1.21",
    "1.3.6.1.4.1.42.2.27.8.1.22",
    "1.3.6.1.4.1.42.2.27.8.1.23",
    "1.3.6.1.4.1.42.2.27.8.1.29",
    "1.3.6.1.4.1.42.2.27.8.1.33",
];

/// `objectClass`, `structuralObjectClass`: their values are classes of the schema.
const OF_CLASSES: [&str; 2] = ["2.5.4.0", "2.5.21.9"];

fn resolve(schema: &Schema, name: &str) -> Result<AttributeDescription, AttributeRefusal> {
    let owned = || name.to_owned();
    let description = schema
        .attribute_description(name.as_bytes())
        .map_err(|error| AttributeRefusal::Undefined { name: owned(), error })?;
    let needs_binary = schema.attribute_type(description.attribute_type).syntax.binary_transfer;
    if needs_binary && !description.is_binary() {
        return Err(AttributeRefusal::NeedsBinary { name: owned() });
    }
    if description.is_range() {
        return Err(AttributeRefusal::RangeOption { name: owned() });
    }
    Ok(description)
}

/// The normal form of a value by the equality rule of its attribute; a copy without a rule, or when the value does not
/// conform.
pub(crate) fn normal_form(schema: &Schema, description: &AttributeDescription, value: &[u8]) -> Vec<u8> {
    try_normal_form(schema, schema.attribute_type(description.attribute_type), value).unwrap_or_else(|| value.to_vec())
}

fn try_normal_form(schema: &Schema, attribute_type: &AttributeType, value: &[u8]) -> Option<Vec<u8>> {
    let mut normal = Vec::with_capacity(value.len());
    match attribute_type.equality {
        Some(rule) => (rule.normalize_value)(schema, value, &mut normal).ok()?,
        None => normal.extend_from_slice(value),
    }
    Some(normal)
}

/// The index of the first repeated value.
fn first_duplicate(normalized: &[Vec<u8>]) -> Option<usize> {
    if normalized.len() < 2 {
        return None;
    }
    let mut seen: HashMap<&[u8], usize> = HashMap::new();
    normalized
        .iter()
        .enumerate()
        .find_map(|(index, normal)| seen.insert(normal, index))
}

/// `{n}`: a value that is named by its number.
fn is_number(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"));
    digits.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
}
