//! The schema's rules for a whole entry: its classes and attributes, and its name.

use ironbark_model::{
    AttributeDescription, Dn, Schema,
    schema::{
        ClassNumber,
        entry_check::{
            CheckedAttribute, EntryCheck, allows_collective, check_naming_attribute, former_class_of,
            naming_value_conflict,
        },
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
    /// It is new, and has the values of its name, except second values of single-valued attributes.
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
    let classes = entry.classes.iter().map(Vec::as_slice);
    let check = EntryCheck {
        former_class: None,
        collective_allowed: allows_collective(schema, classes.clone()),
        relax: entry.relax,
        may_be_dynamic: entry.may_be_dynamic,
    };
    check.check_attribute_places(schema, &classes, entry.attributes)?;
    let former_class = former_class(schema, entry)?;
    let check = EntryCheck { former_class, ..check };
    let found = check.check_classes(schema, classes.clone(), entry.attributes)?;
    match entry.former {
        Former::Entry(_) => check_name(schema, entry, holds)?,
        Former::Nothing => check_new_name(schema, entry, holds)?,
    }
    check.check_class_places(schema, &classes)?;
    check.check_content(schema, &found, entry.attributes)?;
    Ok(found.structural)
}

/// The structural class that an existing entry has.
fn former_class(schema: &Schema, entry: &Checked<'_>) -> Result<Option<ClassNumber>, OperationError> {
    let Former::Entry(former) = entry.former else {
        return Ok(None);
    };
    if entry.classes.is_empty() {
        return Err(EntryRefusal::NoObjectClass.into());
    }
    let name = former.ok_or(EntryRefusal::NoStructuralClass)?;
    Ok(Some(former_class_of(schema, name)?))
}

/// The attributes of the RDN of a new entry must be able to name it. What the entry lacks is added, except a second
/// value of a single-valued attribute.
fn check_new_name(schema: &Schema, entry: &Checked<'_>, holds: &Holds<'_>) -> Result<(), OperationError> {
    for (description, value) in entry.name.leaf_assertions(schema) {
        check_naming_attribute(schema, &description, entry.relax)?;
        let is_single = schema.attribute_type(description.attribute_type).single_value;
        if is_single && !holds(&description, &normal_form(schema, &description, &value))? {
            return Err(naming_value_conflict(schema, &description).into());
        }
    }
    Ok(())
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
            return Err(EntryRefusal::LacksNamingAttribute { attribute }.into());
        }
        if !holds(&description, &normal_form(schema, &description, &value))? {
            let attribute = schema.description_text(&description);
            return Err(EntryRefusal::LacksNamingValue { attribute }.into());
        }
    }
    Ok(())
}
