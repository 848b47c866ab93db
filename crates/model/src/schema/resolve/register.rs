//! The common part for attribute types and object classes of a batch: numbers, names, duplicates and contradictions.

use super::{
    super::{Schema, definition::Common, name_index::NameIndex},
    duplicates::Strictness,
    refusals::{RefusalReason, Refusals, expand},
};
use crate::schema::sourced::Sourced;

/// An element that has a number.
pub(super) trait Element: Sized {
    /// The definition that it is resolved from.
    type Definition;
    /// The name of the kind in refusals.
    const KIND: &'static str;

    fn common(definition: &Self::Definition) -> &Common;
    fn names(schema: &mut Schema) -> &mut NameIndex;
    fn elements(schema: &mut Schema) -> &mut Vec<Self>;
    fn identity(&self) -> Identity<'_>;
    /// Lets the subschema subentry show the element of this number and the elements that its definition refers to.
    fn reveal(schema: &mut Schema, number: usize);
    /// Whether a resolved element already says all that a definition says.
    fn says(&self, schema: &Schema, new: &Self::Definition, strictness: Strictness) -> bool;
    /// Whether two definitions of one batch say the same.
    fn same(schema: &Schema, known: &Self::Definition, new: &Self::Definition) -> bool;
}

/// The parts of a resolved element that refusals name.
pub(super) struct Identity<'e> {
    pub(super) name: &'e str,
    pub(super) oid: &'e str,
    pub(super) built_in: bool,
    /// The server's own, and not in use.
    pub(super) hidden: bool,
}

/// A definition that is no duplicate, with its numeric OID. Its number follows the numbers of the schema's elements.
pub(super) struct Pending<D> {
    pub(super) entry: Sourced<D>,
    pub(super) oid: String,
}

/// Gives the definitions their numbers and names. Duplicates and contradictions get none.
pub(super) fn register<E: Element>(
    schema: &mut Schema,
    definitions: Vec<Sourced<E::Definition>>,
    refusals: &mut Refusals,
) -> Vec<Pending<E::Definition>> {
    let mut pending = Vec::with_capacity(definitions.len());
    for entry in definitions {
        match numbered::<E>(schema, &entry, &pending) {
            Ok(Some(oid)) => pending.push(Pending { entry, oid }),
            Ok(None) => {}
            Err(reason) => refusals.add(&entry.source, element::<E>(&entry.definition), reason),
        }
    }
    pending
}

/// The name of a definition in refusals.
pub(super) fn element<E: Element>(definition: &E::Definition) -> String {
    let common = E::common(definition);
    format!("{} {}", E::KIND, common.names.first().unwrap_or(&common.oid))
}

/// The numeric OID of a definition that gets the next number; `None` for a duplicate.
fn numbered<E: Element>(
    schema: &mut Schema,
    entry: &Sourced<E::Definition>,
    pending: &[Pending<E::Definition>],
) -> Result<Option<String>, RefusalReason> {
    let common = E::common(&entry.definition);
    let oid = expand(schema, &common.oid).ok_or_else(|| RefusalReason::UnknownOid(common.oid.clone()))?;
    let base = E::elements(schema).len();
    if let Some(number) = E::names(schema).find(oid.as_bytes()) {
        check_duplicate::<E>(schema, number as usize, &entry.definition, pending)?;
        return Ok(None);
    }
    for name in &common.names {
        if let Some(number) = E::names(schema).find(name.as_bytes()) {
            let number = number as usize;
            if stands_for_unused::<E>(schema, number, &entry.definition) {
                E::names(schema).insert(oid.as_bytes(), u32::try_from(number).unwrap_or(u32::MAX));
                E::reveal(schema, number);
                return Ok(None);
            }
            let taken = match E::elements(schema).get(number) {
                Some(known) => known.identity().oid,
                None => pending.get(number.wrapping_sub(base)).map_or("", |slot| &slot.oid),
            };
            return Err(RefusalReason::NameTaken {
                name: name.clone(),
                kind: E::KIND,
                oid: taken.into(),
            });
        }
    }
    let number = u32::try_from(base + pending.len()).unwrap_or(u32::MAX);
    let names = E::names(schema);
    names.insert(oid.as_bytes(), number);
    for name in &common.names {
        names.insert(name.as_bytes(), number);
    }
    Ok(Some(oid))
}

/// Whether a definition with another OID stands for a built-in element that no overlay in use has shown. slapd without
/// that overlay takes the definition: `numSubordinates` has one OID in the schema of 389 Directory Server and another
/// in that of OpenLDAP.
fn stands_for_unused<E: Element>(schema: &mut Schema, number: usize, new: &E::Definition) -> bool {
    let elements = std::mem::take(E::elements(schema));
    let known = elements.get(number);
    let is_unused = known
        .map(Element::identity)
        .is_some_and(|known| known.built_in && known.hidden);
    let stands = is_unused && known.is_some_and(|known| known.says(schema, new, Strictness::NoContradiction));
    *E::elements(schema) = elements;
    stands
}

/// Refuses a definition whose OID is known, unless both definitions are the same.
fn check_duplicate<E: Element>(
    schema: &mut Schema,
    number: usize,
    new: &E::Definition,
    pending: &[Pending<E::Definition>],
) -> Result<(), RefusalReason> {
    let elements = std::mem::take(E::elements(schema));
    let known = elements.get(number);
    let slot = pending.get(number.wrapping_sub(elements.len()));
    let (same, name) = match (known.map(|known| (known, known.identity())), slot) {
        (Some((known, identity)), _) if identity.built_in => (
            known.says(schema, new, Strictness::NoContradiction),
            format!("{} (built in)", identity.name),
        ),
        (Some((known, identity)), _) => (known.says(schema, new, Strictness::Same), identity.name.to_owned()),
        (None, Some(slot)) => {
            let name = E::common(&slot.entry.definition).names.first();
            let name = name.map_or(slot.oid.as_str(), |name| name);
            let source = &slot.entry.source;
            (
                E::same(schema, &slot.entry.definition, new),
                format!("{name} ({}: line {})", source.file, source.line),
            )
        }
        (None, None) => (false, E::common(new).oid.to_string()),
    };
    *E::elements(schema) = elements;
    if !same {
        return Err(RefusalReason::Duplicate { kind: E::KIND, name });
    }
    // A file that defines the element wants it shown.
    E::reveal(schema, number);
    Ok(())
}
