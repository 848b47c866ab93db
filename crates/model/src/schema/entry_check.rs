//! Checks the attributes of an entry against its object classes (RFC 4512 §2.4, §2.5, §4.1.6), with slapd's diagnostic
//! texts.

mod naming;
mod places;

pub use self::{
    naming::{check_naming_attribute, check_naming_types, naming_value_conflict},
    places::allows_collective,
};

use super::{AttributeType, ClassKind, ClassNumber, ContentRule, ObjectClass, Schema, TypeNumber};
use crate::{Attribute, AttributeDescription, ResultCode};

/// A refusal of an entry.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{diagnostic_message}")]
pub struct EntryError {
    /// For the result.
    pub result_code: ResultCode,
    /// For the result.
    pub diagnostic_message: String,
}

/// One attribute of the entry under check.
#[derive(Clone, Copy, Debug)]
pub struct CheckedAttribute<'a> {
    /// Type and options.
    pub description: &'a AttributeDescription,
    /// How many values it has.
    pub value_count: usize,
}

impl<'a> From<&'a Attribute> for CheckedAttribute<'a> {
    fn from(attribute: &'a Attribute) -> Self {
        Self {
            description: &attribute.description,
            value_count: attribute.values.len(),
        }
    }
}

/// The classes of an entry that passed the first half of a check.
#[derive(Clone, Debug)]
pub struct EntryClasses<'s> {
    /// The structural class.
    pub structural: ClassNumber,
    classes: Vec<&'s ObjectClass>,
}

/// How an entry is checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct EntryCheck {
    /// The structural class that the entry had (modifications must not change it); `None` for a new entry.
    pub former_class: Option<ClassNumber>,
    /// The entry is a collective attribute subentry, or the server itself writes: collective attributes are allowed.
    pub collective_allowed: bool,
    /// The Relax Rules control (draft-zeilenga-ldap-relax) is in force. It allows obsolete classes, a changed
    /// structural class and missing classes.
    pub relax: bool,
    /// The database keeps dynamic entries (RFC 2589).
    pub may_be_dynamic: bool,
}

impl EntryCheck {
    /// Checks an entry and gives its structural class, the value of `structuralObjectClass`.
    ///
    /// `classes` are the values of `objectClass`; `attributes` all attributes, `objectClass` and operational ones
    /// included.
    ///
    /// # Errors
    /// `objectClassViolation` in most cases; `constraintViolation` for values of a single-valued attribute;
    /// `objectClassModsProhibited` for another structural class. Never `undefinedAttributeType`: descriptions are
    /// resolved.
    pub fn check<'a>(
        self,
        schema: &Schema,
        classes: impl IntoIterator<Item = &'a [u8]>,
        attributes: &[CheckedAttribute<'_>],
    ) -> Result<ClassNumber, EntryError> {
        let found = self.check_classes(schema, classes, attributes)?;
        self.check_content(schema, &found, attributes)?;
        Ok(found.structural)
    }

    /// The first half of [`EntryCheck::check`]: numbers of values, and the structural class. As in slapd, names are
    /// checked after it.
    ///
    /// # Errors
    /// As of [`EntryCheck::check`].
    pub fn check_classes<'a, 's>(
        self,
        schema: &'s Schema,
        classes: impl IntoIterator<Item = &'a [u8]>,
        attributes: &[CheckedAttribute<'_>],
    ) -> Result<EntryClasses<'s>, EntryError> {
        self.check_attributes(schema, attributes)?;
        let classes = resolve_classes(schema, classes)?;
        let structural = structural_class(schema, &classes)?;
        self.check_former(schema, structural)?;
        Ok(EntryClasses {
            structural: structural.number,
            classes,
        })
    }

    /// The second half: which attributes the classes require and allow.
    ///
    /// # Errors
    /// `objectClassViolation`.
    pub fn check_content(
        self,
        schema: &Schema,
        found: &EntryClasses<'_>,
        attributes: &[CheckedAttribute<'_>],
    ) -> Result<(), EntryError> {
        let classes = &found.classes;
        if !self.relax {
            check_obsolete(classes)?;
        }
        let rule = schema.content_rule(found.structural).filter(|rule| !rule.obsolete);
        if let Some(rule) = rule {
            check_content_rule(schema, rule, classes, attributes)?;
        }
        for class in classes {
            check_required(schema, class, attributes)?;
        }
        let extensible = classes.iter().any(|class| &*class.oid == EXTENSIBLE_OBJECT);
        for attribute in attributes {
            let found = schema.attribute_type(attribute.description.attribute_type);
            if !is_allowed(schema, found, classes, rule, extensible) {
                return Err(violation(format!(
                    "attribute '{}' not allowed",
                    schema.description_text(attribute.description)
                )));
            }
        }
        Ok(())
    }

    fn check_attributes(self, schema: &Schema, attributes: &[CheckedAttribute<'_>]) -> Result<(), EntryError> {
        for attribute in attributes {
            let found = schema.attribute_type(attribute.description.attribute_type);
            if found.collective && !self.collective_allowed {
                return Err(violation(format!(
                    "'{}' can only appear in collectiveAttributeSubentry",
                    schema.description_text(attribute.description)
                )));
            }
            if found.single_value && attribute.value_count > 1 {
                return Err(EntryError {
                    result_code: ResultCode::CONSTRAINT_VIOLATION,
                    diagnostic_message: format!(
                        "attribute '{}' cannot have multiple values",
                        schema.description_text(attribute.description)
                    ),
                });
            }
        }
        Ok(())
    }

    /// RFC 4512 §2.4.2: the structural class of an entry is not changed.
    fn check_former(self, schema: &Schema, structural: &ObjectClass) -> Result<(), EntryError> {
        match self.former_class {
            Some(former) if former != structural.number && !self.relax => Err(EntryError {
                result_code: ResultCode::OBJECT_CLASS_MODS_PROHIBITED,
                diagnostic_message: format!(
                    "structural object class modification from '{}' to '{}' not allowed",
                    schema.object_class(former).name(),
                    structural.name()
                ),
            }),
            _ => Ok(()),
        }
    }
}

/// The structural class of these classes, without a check of attributes. For entries whose attributes are not checked.
///
/// # Errors
/// As [`EntryCheck::check`].
pub fn structural_class_of<'a>(
    schema: &Schema,
    classes: impl IntoIterator<Item = &'a [u8]>,
) -> Result<ClassNumber, EntryError> {
    let classes = resolve_classes(schema, classes)?;
    Ok(structural_class(schema, &classes)?.number)
}

/// The class that the `structuralObjectClass` of an entry names.
///
/// # Errors
/// `objectClassViolation`: the schema does not have it.
pub fn former_class_of(schema: &Schema, name: &[u8]) -> Result<ClassNumber, EntryError> {
    let found = schema.find_object_class(name).map(|class| class.number);
    found.ok_or_else(|| {
        let name = String::from_utf8_lossy(name);
        violation(format!("unrecognized structuralObjectClass '{name}'"))
    })
}

const EXTENSIBLE_OBJECT: &str = "1.3.6.1.4.1.1466.101.120.111";

fn violation(diagnostic_message: impl Into<String>) -> EntryError {
    EntryError {
        result_code: ResultCode::OBJECT_CLASS_VIOLATION,
        diagnostic_message: diagnostic_message.into(),
    }
}

fn resolve_classes<'s, 'a>(
    schema: &'s Schema,
    classes: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<&'s ObjectClass>, EntryError> {
    let mut found = Vec::new();
    for name in classes {
        let Some(class) = schema.find_object_class(name) else {
            let name = String::from_utf8_lossy(name);
            return Err(violation(format!("unrecognized objectClass '{name}'")));
        };
        found.push(class);
    }
    if found.is_empty() {
        return Err(violation("no objectClass attribute"));
    }
    Ok(found)
}

/// The most specific structural class. All other structural classes must be superclasses of it.
fn structural_class<'s>(schema: &'s Schema, classes: &[&'s ObjectClass]) -> Result<&'s ObjectClass, EntryError> {
    let mut lowest: Option<&ObjectClass> = None;
    for class in classes.iter().filter(|class| class.kind == ClassKind::Structural) {
        lowest = match lowest {
            None => Some(class),
            Some(known) if schema.is_subclass(class.number, known.number) => Some(class),
            Some(known) if schema.is_subclass(known.number, class.number) => Some(known),
            // Neither is a superclass of the other. A class below both may still follow.
            Some(known) => {
                let below_both = classes.iter().find(|other| {
                    other.kind == ClassKind::Structural
                        && schema.is_subclass(other.number, known.number)
                        && schema.is_subclass(other.number, class.number)
                });
                match below_both {
                    Some(other) => Some(other),
                    None => {
                        return Err(violation(format!(
                            "invalid structural object class chain ({}/{})",
                            known.name(),
                            class.name()
                        )));
                    }
                }
            }
        };
    }
    let Some(lowest) = lowest else {
        return Err(violation("no structural object class provided"));
    };
    check_abstract(schema, classes)?;
    Ok(lowest)
}

/// An abstract class other than `top` needs a class that is derived from it.
fn check_abstract(schema: &Schema, classes: &[&ObjectClass]) -> Result<(), EntryError> {
    for class in classes
        .iter()
        .filter(|class| class.kind == ClassKind::Abstract && &*class.oid != TOP)
    {
        let derived = classes
            .iter()
            .any(|other| other.kind != ClassKind::Abstract && schema.is_subclass(other.number, class.number));
        if !derived {
            return Err(violation(format!(
                "instantiation of abstract objectClass '{}' not allowed",
                class.name()
            )));
        }
    }
    Ok(())
}

const TOP: &str = "2.5.6.0";

fn check_obsolete(classes: &[&ObjectClass]) -> Result<(), EntryError> {
    match classes.iter().find(|class| class.obsolete) {
        Some(class) => Err(violation(format!("objectClass '{}' is OBSOLETE", class.name()))),
        None => Ok(()),
    }
}

fn holds(attributes: &[CheckedAttribute<'_>], wanted: TypeNumber) -> bool {
    attributes
        .iter()
        .any(|attribute| attribute.description.attribute_type == wanted)
}

fn check_required(schema: &Schema, class: &ObjectClass, attributes: &[CheckedAttribute<'_>]) -> Result<(), EntryError> {
    let is_missing = |wanted: &&TypeNumber| !holds(attributes, **wanted);
    let Some(missing) = schema.required_types(class.number).iter().find(is_missing) else {
        return Ok(());
    };
    // slapd names the first in the order of the definitions.
    let classes = schema.superclasses(class.number).iter();
    let mut defined = classes.flat_map(|class| &schema.object_class(*class).must);
    Err(violation(format!(
        "object class '{}' requires attribute '{}'",
        class.name(),
        schema
            .attribute_type(*defined.find(is_missing).unwrap_or(missing))
            .name()
    )))
}

fn check_content_rule(
    schema: &Schema,
    rule: &ContentRule,
    classes: &[&ObjectClass],
    attributes: &[CheckedAttribute<'_>],
) -> Result<(), EntryError> {
    for class in classes.iter().filter(|class| class.kind == ClassKind::Auxiliary) {
        // extensibleObject lifts the rule's restriction (RFC 4512 §4.3).
        if !rule.auxiliary.contains(&class.number) && &*class.oid != EXTENSIBLE_OBJECT {
            return Err(violation(format!(
                "class '{}' not allowed by content rule '{}'",
                class.name(),
                rule.name()
            )));
        }
    }
    for wanted in &rule.must {
        if !holds(attributes, *wanted) {
            return Err(violation(format!(
                "content rule '{}' requires attribute '{}'",
                rule.name(),
                schema.attribute_type(*wanted).name()
            )));
        }
    }
    for precluded in &rule.not {
        if holds(attributes, *precluded) {
            return Err(violation(format!(
                "content rule '{}' precluded attribute '{}'",
                rule.name(),
                schema.attribute_type(*precluded).name()
            )));
        }
    }
    Ok(())
}

fn is_allowed(
    schema: &Schema,
    found: &AttributeType,
    classes: &[&ObjectClass],
    rule: Option<&ContentRule>,
    extensible: bool,
) -> bool {
    found.is_operational()
        || &*found.oid == OBJECT_CLASS
        || extensible
        || rule.is_some_and(|rule| rule.must.contains(&found.number) || rule.may.contains(&found.number))
        || classes
            .iter()
            .any(|class| schema.allowed_types(class.number).binary_search(&found.number).is_ok())
}

const OBJECT_CLASS: &str = "2.5.4.0";

#[cfg(test)]
mod tests;
