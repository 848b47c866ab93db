//! The schema's rules for a whole entry: its classes and attributes, its name, and attributes that are allowed only in
//! one place.

use ironbark_model::{
    AttributeDescription, Dn, Schema,
    schema::{
        ClassNumber,
        entry_check::{CheckedAttribute, EntryCheck},
    },
};
use ironbark_store::StoreError;

use crate::{OperationError, refusal::EntryRefusal, request::modification::normal_form};

/// An entry under check.
pub(crate) struct Checked<'a> {
    /// Its name.
    pub(crate) name: &'a Dn,
    /// Values of `objectClass`.
    pub(crate) classes: &'a [Vec<u8>],
    /// All attributes.
    pub(crate) attributes: &'a [CheckedAttribute<'a>],
    /// The state before.
    pub(crate) former: Former<'a>,
    /// Whether the request has the relax rules control.
    pub(crate) relax: bool,
    /// Whether the database keeps dynamic entries (RFC 2589).
    pub(crate) may_be_dynamic: bool,
}

/// The entry before the change.
#[derive(Clone, Copy)]
pub(crate) enum Former<'a> {
    /// It is new, and has the values of its name.
    Nothing,
    /// An entry with this `structuralObjectClass`.
    Entry(Option<&'a [u8]>),
}

/// Whether the entry has a value with this normal form.
pub(crate) type Holds<'a> = dyn Fn(&AttributeDescription, &[u8]) -> Result<bool, StoreError> + 'a;

/// Checks an entry and gives its structural class.
///
/// # Errors
/// Usually `objectClassViolation`; `namingViolation` if an existing entry lost a value of its name; see
/// [`EntryCheck::check`].
pub(crate) fn check(schema: &Schema, entry: &Checked<'_>, holds: &Holds<'_>) -> Result<ClassNumber, OperationError> {
    check_attribute_places(schema, entry)?;
    let former_class = former_class(schema, entry)?;
    let is_collective_subentry = has_class(schema, entry.classes, "2.5.17.2");
    let check = EntryCheck {
        former_class,
        collective_allowed: is_collective_subentry,
        relax: entry.relax,
    };
    let classes = entry.classes.iter().map(Vec::as_slice);
    let classes = check.check_classes(schema, classes, entry.attributes)?;
    match entry.former {
        Former::Entry(_) => check_name(schema, entry, holds)?,
        Former::Nothing => check_new_name(schema, entry)?,
    }
    check_class_places(schema, entry)?;
    check.check_content(schema, &classes, entry.attributes)?;
    Ok(classes.structural)
}

/// The structural class that an existing entry has.
fn former_class(schema: &Schema, entry: &Checked<'_>) -> Result<Option<ClassNumber>, EntryRefusal> {
    let Former::Entry(former) = entry.former else {
        return Ok(None);
    };
    if entry.classes.is_empty() {
        return Err(EntryRefusal::NoObjectClass);
    }
    let name = former.ok_or(EntryRefusal::NoStructuralClass)?;
    match schema.find_object_class(name) {
        Some(class) => Ok(Some(class.number)),
        None => Err(EntryRefusal::UnknownStructuralClass {
            class: String::from_utf8_lossy(name).into_owned(),
        }),
    }
}

/// The attributes of the RDN of a new entry must be able to name it.
fn check_new_name(schema: &Schema, entry: &Checked<'_>) -> Result<(), EntryRefusal> {
    let mut named = entry.name.leaf_assertions(schema).into_iter();
    named.try_for_each(|(description, _)| check_naming_attribute(schema, &description, entry.relax))
}

/// Every value of the RDN must be in the entry (RFC 4512 §2.3.1).
fn check_name(schema: &Schema, entry: &Checked<'_>, holds: &Holds<'_>) -> Result<(), OperationError> {
    for (description, value) in entry.name.leaf_assertions(schema) {
        // An entry may have been set aside under its entryUUID. Its other attributes can be changed there.
        let is_set_aside = schema.attribute_type(description.attribute_type).is_operational();
        if !is_set_aside {
            check_naming_attribute(schema, &description, entry.relax)?;
        }
        if !entry
            .attributes
            .iter()
            .any(|attribute| *attribute.description == description)
        {
            let attribute = schema.description_text(&description);
            return Err(EntryRefusal::NoNamingAttribute { attribute }.into());
        }
        if !holds(&description, &normal_form(schema, &description, &value))? {
            let attribute = schema.description_text(&description);
            return Err(EntryRefusal::NoNamingValue { attribute }.into());
        }
    }
    Ok(())
}

/// Refuses a new name with an attribute type that is allowed only in names of the configuration.
///
/// # Errors
/// `undefinedAttributeType`.
pub(crate) fn check_naming_types(schema: &Schema, name: &Dn) -> Result<(), EntryRefusal> {
    if name.has_unknown_leaf_type(schema) {
        return Err(EntryRefusal::UndefinedNamingType);
    }
    Ok(())
}

/// Whether an attribute may name entries at all.
///
/// # Errors
/// `namingViolation`.
fn check_naming_attribute(
    schema: &Schema,
    description: &AttributeDescription,
    relax: bool,
) -> Result<(), EntryRefusal> {
    let attribute_type = schema.attribute_type(description.attribute_type);
    match attribute_type.naming_fault(relax) {
        Some(fault) => Err(EntryRefusal::NotNaming {
            attribute: schema.description_text(description),
            fault,
        }),
        None => Ok(()),
    }
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

/// Attributes that are allowed only in one place.
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

fn check_attribute_places(schema: &Schema, entry: &Checked<'_>) -> Result<(), EntryRefusal> {
    let is = |class| has_class(schema, entry.classes, class);
    for attribute in entry.attributes {
        let attribute_type = schema.attribute_type(attribute.description.attribute_type);
        if !attribute_type.built_in {
            continue;
        }
        let Some((_, place)) = PLACES.iter().find(|(name, _)| attribute_type.name() == *name) else {
            continue;
        };
        let attribute = || schema.description_text(attribute.description);
        let misplaced = |place| EntryRefusal::MisplacedAttribute {
            attribute: attribute(),
            place,
        };
        return Err(match place {
            Place::RootDse => misplaced("root DSE"),
            Place::Subentry if !is(SUBENTRY) => misplaced("subentry"),
            Place::Alias if !is(ALIAS) => misplaced("alias"),
            Place::Referral if !is(REFERRAL) => misplaced("referral"),
            Place::Nowhere => EntryRefusal::UnsupportedAttribute { attribute: attribute() },
            Place::Dynamic if !entry.may_be_dynamic => EntryRefusal::AttributeNotInContext { attribute: attribute() },
            Place::Subentry | Place::Alias | Place::Referral | Place::Dynamic => continue,
        });
    }
    Ok(())
}

fn check_class_places(schema: &Schema, entry: &Checked<'_>) -> Result<(), EntryRefusal> {
    let class_name = |oid: &str| {
        schema
            .find_object_class(oid.as_bytes())
            .map_or(oid, |class| class.name())
            .to_owned()
    };
    let misplaced = |oid, place| EntryRefusal::MisplacedClass {
        class: class_name(oid),
        place,
    };
    if lists_class(schema, entry.classes, ROOT_DSE) {
        return Err(misplaced(ROOT_DSE, "the root DSE"));
    }
    if lists_class(schema, entry.classes, DYNAMIC_OBJECT) && !entry.may_be_dynamic {
        return Err(EntryRefusal::ClassNotInContext {
            class: class_name(DYNAMIC_OBJECT),
        });
    }
    for class in [SUBSCHEMA, COLLECTIVE_SUBENTRY] {
        if lists_class(schema, entry.classes, class) && !has_class(schema, entry.classes, SUBENTRY) {
            return Err(misplaced(class, "subentries"));
        }
    }
    Ok(())
}

/// Whether a class, or a subclass of it, is among the values.
pub(crate) fn has_class(schema: &Schema, classes: &[Vec<u8>], oid: &str) -> bool {
    let Some(wanted) = schema.find_object_class(oid.as_bytes()) else {
        return false;
    };
    classes
        .iter()
        .filter_map(|name| schema.find_object_class(name))
        .any(|class| schema.superclasses(class.number).contains(&wanted.number))
}

/// Whether exactly this class is among the values.
fn lists_class(schema: &Schema, classes: &[Vec<u8>], oid: &str) -> bool {
    classes
        .iter()
        .filter_map(|name| schema.find_object_class(name))
        .any(|class| &*class.oid == oid)
}
