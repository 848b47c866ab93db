//! Attributes and classes that are allowed in entries of one kind alone, with slapd's diagnostic texts.

use super::{CheckedAttribute, EntryCheck, EntryError, violation};
use crate::Schema;

impl EntryCheck {
    /// Checks that no attribute and no class stands in an entry of another kind than its own.
    ///
    /// # Errors
    /// `objectClassViolation`.
    pub fn check_places<'a>(
        self,
        schema: &Schema,
        classes: &(impl Iterator<Item = &'a [u8]> + Clone),
        attributes: &[CheckedAttribute<'_>],
    ) -> Result<(), EntryError> {
        self.check_attribute_places(schema, classes, attributes)?;
        self.check_class_places(schema, classes)
    }

    /// The first half of [`EntryCheck::check_places`]. As in slapd, attributes are checked first of all, and classes
    /// with what they require and allow.
    ///
    /// # Errors
    /// `objectClassViolation`.
    pub fn check_attribute_places<'a>(
        self,
        schema: &Schema,
        classes: &(impl Iterator<Item = &'a [u8]> + Clone),
        attributes: &[CheckedAttribute<'_>],
    ) -> Result<(), EntryError> {
        let is = |class| has_class(schema, classes.clone(), class);
        for attribute in attributes {
            let attribute_type = schema.attribute_type(attribute.description.attribute_type);
            if !attribute_type.built_in {
                continue;
            }
            let Some((_, place)) = PLACES.iter().find(|(name, _)| attribute_type.name() == *name) else {
                continue;
            };
            let refused = |text: &str| {
                let name = schema.description_text(attribute.description);
                Err(violation(format!("attribute \"{name}\" {text}")))
            };
            match place {
                Place::RootDse => return refused("only allowed in the root DSE"),
                Place::Subentry if !is(SUBENTRY) => return refused("only allowed in the subentry"),
                Place::Alias if !is(ALIAS) => return refused("only allowed in the alias"),
                Place::Referral if !is(REFERRAL) => return refused("only allowed in the referral"),
                Place::Nowhere => return refused("not supported!"),
                Place::Dynamic if !self.may_be_dynamic => return refused("not supported in context"),
                Place::Subentry | Place::Alias | Place::Referral | Place::Dynamic => {}
            }
        }
        Ok(())
    }

    /// The second half of [`EntryCheck::check_places`].
    ///
    /// # Errors
    /// `objectClassViolation`.
    pub fn check_class_places<'a>(
        self,
        schema: &Schema,
        classes: &(impl Iterator<Item = &'a [u8]> + Clone),
    ) -> Result<(), EntryError> {
        let lists = |class| lists_class(schema, classes.clone(), class);
        let refused = |class: &str, text: &str| {
            let found = schema.find_object_class(class.as_bytes());
            let name = found.map_or(class, |class| class.name());
            Err(violation(format!("objectClass \"{name}\" {text}")))
        };
        if lists(ROOT_DSE) {
            return refused(ROOT_DSE, "only allowed in the root DSE");
        }
        if lists(DYNAMIC_OBJECT) && !self.may_be_dynamic {
            return refused(DYNAMIC_OBJECT, "not supported in context");
        }
        for class in [SUBSCHEMA, COLLECTIVE_SUBENTRY] {
            if lists(class) && !has_class(schema, classes.clone(), SUBENTRY) {
                return refused(class, "only allowed in subentries");
            }
        }
        Ok(())
    }
}

/// Whether an entry with these classes may have collective attributes ([`EntryCheck::collective_allowed`]).
pub fn allows_collective<'a>(schema: &Schema, classes: impl Iterator<Item = &'a [u8]>) -> bool {
    has_class(schema, classes, COLLECTIVE_SUBENTRY)
}

/// The allowed place of an attribute.
#[derive(Clone, Copy)]
enum Place {
    RootDse,
    Subentry,
    Alias,
    Referral,
    Nowhere,
    Dynamic,
}

/// Whether a class, or a subclass of it, is among the values.
fn has_class<'a>(schema: &Schema, mut classes: impl Iterator<Item = &'a [u8]>, oid: &str) -> bool {
    let Some(wanted) = schema.find_object_class(oid.as_bytes()) else {
        return false;
    };
    classes.any(|name| {
        let found = schema.find_object_class(name);
        found.is_some_and(|class| schema.superclasses(class.number).contains(&wanted.number))
    })
}

/// Whether exactly this class is among the values.
fn lists_class<'a>(schema: &Schema, mut classes: impl Iterator<Item = &'a [u8]>, oid: &str) -> bool {
    classes.any(|name| schema.find_object_class(name).is_some_and(|class| &*class.oid == oid))
}

/// Attributes that are allowed in one place alone.
const PLACES: &[(&str, Place)] = &[
    ("altServer", Place::RootDse),
    ("namingContexts", Place::RootDse),
    ("supportedControl", Place::RootDse),
    ("supportedExtension", Place::RootDse),
    ("supportedLDAPVersion", Place::RootDse),
    ("supportedSASLMechanisms", Place::RootDse),
    ("supportedFeatures", Place::RootDse),
    ("monitorContext", Place::RootDse),
    ("configContext", Place::RootDse),
    ("vendorName", Place::RootDse),
    ("vendorVersion", Place::RootDse),
    ("subtreeSpecification", Place::Subentry),
    ("dITStructureRules", Place::Subentry),
    ("dITContentRules", Place::Subentry),
    ("matchingRules", Place::Subentry),
    ("attributeTypes", Place::Subentry),
    ("objectClasses", Place::Subentry),
    ("nameForms", Place::Subentry),
    ("matchingRuleUse", Place::Subentry),
    ("ldapSyntaxes", Place::Subentry),
    ("aliasedObjectName", Place::Alias),
    ("ref", Place::Referral),
    ("administrativeRole", Place::Nowhere),
    ("entryTtl", Place::Dynamic),
];

const SUBENTRY: &str = "2.5.17.0";
const ALIAS: &str = "2.5.6.1";
const REFERRAL: &str = "2.16.840.1.113730.3.2.6";
const ROOT_DSE: &str = "1.3.6.1.4.1.4203.1.4.1";
const DYNAMIC_OBJECT: &str = "1.3.6.1.4.1.1466.101.119.2";
const SUBSCHEMA: &str = "2.5.20.1";
const COLLECTIVE_SUBENTRY: &str = "2.5.17.2";
