//! Before a change: members that do not exist (`memberof-dangling`), and groups that name a new entry already
//! (`memberof-addcheck`).

use std::collections::HashSet;

use ironbark_directory::{
    Modification, ModificationKind, OperationError,
    overlay::{Execution, WholePass},
};
use ironbark_model::{CompiledFilter, Dn, Entry, Filter, Truth, filter::Assertion};
use ironbark_store::{DitScope, Location};

use super::{Memberof, follow::stored, settings::Dangling};

/// A new group: each member must exist.
pub(super) fn check_new_group(
    overlay: &Memberof,
    execution: &Execution<'_, '_>,
    entry: &mut Entry,
) -> Result<(), OperationError> {
    if overlay.dangling == Dangling::Ignore
        || execution.is_relaxed()
        || !entry.is_of_class(&overlay.schema, overlay.group_class)
    {
        return Ok(());
    }
    let own = entry.dn.clone();
    for attribute in &mut entry.attributes {
        if overlay
            .schema
            .is_description_subtype(&attribute.description, &overlay.member)
        {
            let kept = existing(overlay, execution, &own, &attribute.values)?;
            attribute.values = chosen(std::mem::take(&mut attribute.values), &kept);
        }
    }
    entry.attributes.retain(|attribute| !attribute.values.is_empty());
    Ok(())
}

/// Changes of a group: each new member must exist.
pub(super) fn check_changes(
    overlay: &Memberof,
    execution: &Execution<'_, '_>,
    dn: &Dn,
    modifications: &mut Vec<Modification>,
) -> Result<(), OperationError> {
    if overlay.dangling == Dangling::Ignore || execution.is_relaxed() {
        return Ok(());
    }
    let adds_members = |modification: &Modification| {
        modification.kind != ModificationKind::Delete
            && !modification.values.is_empty()
            && overlay
                .schema
                .is_description_subtype(&modification.description, &overlay.member)
    };
    if !modifications.iter().any(adds_members) || !overlay.is_group(&stored(execution, dn, &overlay.object_class)?) {
        return Ok(());
    }
    for mut modification in std::mem::take(modifications) {
        if adds_members(&modification) {
            let kept = existing(overlay, execution, dn, &modification.values)?;
            modification.values = chosen(modification.values, &kept);
            modification.normalized = chosen(modification.normalized, &kept);
            // A modification without any values left is dropped: as a replacement it would delete the attribute.
            if modification.values.is_empty() {
                continue;
            }
        }
        modifications.push(modification);
    }
    Ok(())
}

fn chosen(values: Vec<Vec<u8>>, kept: &[bool]) -> Vec<Vec<u8>> {
    let chosen = values.into_iter().zip(kept).filter(|(_, kept)| **kept);
    chosen.map(|(value, _)| value).collect()
}

/// Tells for each value whether it stays.
///
/// # Errors
/// The configured result code when members must exist.
fn existing(
    overlay: &Memberof,
    execution: &Execution<'_, '_>,
    own: &Dn,
    values: &[Vec<u8>],
) -> Result<Vec<bool>, OperationError> {
    let mut kept = Vec::with_capacity(values.len());
    for value in values {
        let exists = match overlay.name_in(value) {
            // The group itself and the requester count as existing.
            Some(name) => name == *own || name == execution.origin.identity.dn || is_there(execution, &name)?,
            None => false,
        };
        if !exists && overlay.dangling == Dangling::Error {
            return Err(OperationError::new(
                overlay.dangling_error,
                "adding non-existing object as group member",
            ));
        }
        if !exists {
            let member = String::from_utf8_lossy(value);
            execution.warn(format_args!(
                "memberof: \"{own}\": member=\"{member}\" does not exist (stripping...)"
            ));
        }
        kept.push(exists);
    }
    Ok(kept)
}

/// Whether an entry exists, in this database or in another one of the server.
fn is_there(execution: &Execution<'_, '_>, dn: &Dn) -> Result<bool, OperationError> {
    if let Location::Entry(_) = execution.view().locate(dn)? {
        return Ok(true);
    }
    let other = execution
        .configuration
        .context_of(dn)
        .filter(|other| other.number != execution.context.number);
    let Some(database) = other.and_then(|other| other.database()) else {
        return Ok(false);
    };
    let snapshot = database.snapshot()?;
    Ok(matches!(snapshot.view().locate(dn)?, Location::Entry(_)))
}

/// Adds groups that already name a new entry to its memberOf.
pub(super) fn add_existing_groups(
    overlay: &Memberof,
    execution: &Execution<'_, '_>,
    entry: &mut Entry,
) -> Result<(), OperationError> {
    let schema = &*overlay.schema;
    let member = schema.description_text(&overlay.member);
    let filter = Filter::Equality(Assertion {
        attribute: member.as_bytes().into(),
        value: entry.dn.pretty().as_bytes().into(),
    });
    let mut compiled = CompiledFilter::default();
    compiled.compile(schema, &filter);
    let view = execution.view();
    let Some(suffix) = execution.context.suffix_of(&entry.dn) else {
        return Ok(());
    };
    let Location::Entry(base) = view.locate(suffix)? else {
        return Ok(());
    };
    let plan = view.plan(base, DitScope::Subtree, &compiled)?;
    if !plan.indexed {
        execution.begin_whole_pass(&WholePass {
            overlay: "memberof",
            filter: &compiled,
            plan: &plan,
            limit: overlay.max_read,
        })?;
    }
    let mut candidates = view.candidates(&plan, 0)?;
    let mut scratch = Vec::new();
    let mut groups = entry
        .remove_attribute(&overlay.reverse)
        .map_or_else(Vec::new, |attribute| attribute.values);
    let name = |value: &Vec<u8>| overlay.name_in(value).map(|name| name.normalized().to_vec());
    let known: HashSet<Vec<u8>> = groups.iter().filter_map(name).collect();
    while let Some(id) = candidates.next_id()? {
        let Some(record) = view.record(id)? else { continue };
        if view.in_scope(id, base, DitScope::Subtree)? && record.evaluate(&compiled, &mut scratch) == Truth::True {
            let group = view.dn(id)?;
            if !known.contains(group.normalized()) {
                groups.push(group.pretty().as_bytes().to_vec());
            }
        }
    }
    entry.set_values(&overlay.reverse, groups);
    Ok(())
}
