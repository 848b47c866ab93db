//! From an effect to the link changes that follow from it.

use std::ops::ControlFlow;

use ironbark_directory::{
    OperationError,
    overlay::{AppliedEffect, Execution},
};
use ironbark_model::{AttributeDescription, Dn};
use ironbark_store::{Effect, Location, ValueChange};

use super::{Link, Memberof, deltas::Deltas, values_of};

/// Follows an effect of the operation.
pub(super) fn effect(
    overlay: &Memberof,
    execution: &mut Execution<'_, '_>,
    applied: AppliedEffect<'_>,
) -> Result<(), OperationError> {
    match applied.effect {
        Effect::Add { dn, attributes } => added(overlay, execution, dn, attributes),
        Effect::Modify { dn, changes } => modified(overlay, execution, dn, changes, applied),
        Effect::Rename { dn, new_dn, changes } => {
            modified(overlay, execution, new_dn, changes, applied)?;
            renamed(overlay, execution, dn, new_dn)
        }
        Effect::Delete { dn, .. } => deleted(overlay, execution, dn, applied),
    }
}

fn added(
    overlay: &Memberof,
    execution: &mut Execution<'_, '_>,
    dn: &str,
    attributes: &[(Box<str>, Vec<Vec<u8>>)],
) -> Result<(), OperationError> {
    let Some(group) = overlay.name_in(dn.as_bytes()) else {
        return Ok(());
    };
    let resolved = |name: &str| overlay.schema.attribute_description(name.as_bytes()).ok();
    let is_group = attributes
        .iter()
        .any(|(name, values)| resolved(name).as_ref() == Some(&overlay.object_class) && overlay.is_group(values));
    if !is_group {
        return Ok(());
    }
    for (name, values) in attributes {
        // The attribute itself: values with options would have to be followed by all other operations too.
        if resolved(name).as_ref() != Some(&overlay.member) {
            continue;
        }
        for member in values.iter().filter_map(|value| overlay.name_in(value)) {
            // A group that is its own member does not name itself.
            if member != group {
                overlay.link(execution, &member, &overlay.reverse, Link::Add(&group))?;
            }
        }
    }
    Ok(())
}

fn deleted(
    overlay: &Memberof,
    execution: &mut Execution<'_, '_>,
    dn: &str,
    applied: AppliedEffect<'_>,
) -> Result<(), OperationError> {
    let Some(gone) = overlay.name_in(dn.as_bytes()) else {
        return Ok(());
    };
    let before = applied.attributes_before;
    if overlay.is_group(values_of(before, &overlay.object_class)) {
        for member in names(overlay, values_of(before, &overlay.member)) {
            if member != gone {
                overlay.link(execution, &member, &overlay.reverse, Link::Delete(&gone))?;
            }
        }
    }
    if overlay.referential_integrity {
        for group in names(overlay, values_of(before, &overlay.reverse)) {
            if group != gone {
                overlay.link(execution, &group, &overlay.member, Link::Delete(&gone))?;
            }
        }
    }
    Ok(())
}

fn modified(
    overlay: &Memberof,
    execution: &mut Execution<'_, '_>,
    dn: &str,
    changes: &[ValueChange],
    applied: AppliedEffect<'_>,
) -> Result<(), OperationError> {
    let member_text = overlay.schema.description_text(&overlay.member);
    let mut deltas = Deltas::default();
    let normal = |value: &[u8]| overlay.name_in(value).map(|name| name.normalized().to_vec());
    let changes: Vec<&ValueChange> = changes
        .iter()
        .filter(|change| change.attribute() == member_text)
        .collect();
    // Changes before the last replacement have no effect. To follow them too would read each former member once more
    // for each replacement.
    let is_replacement = |change: &&ValueChange| matches!(change, ValueChange::Replace { .. });
    let first = changes.iter().rposition(is_replacement).unwrap_or_default();
    for change in changes.iter().skip(first) {
        match change {
            ValueChange::Add { values, .. } => each(values, normal, |normal, value| deltas.add(normal, value)),
            ValueChange::Delete { values, .. } => each(values, normal, |normal, value| deltas.delete(normal, value)),
            ValueChange::Replace { values, .. } => {
                let before = values_of(applied.attributes_before, &overlay.member);
                deltas.clear(before.iter().filter_map(|value| Some((normal(value)?, value.clone()))));
                each(values, normal, |normal, value| deltas.add(normal, value));
            }
        }
    }
    if changes.is_empty() {
        return Ok(());
    }
    let Some(group) = overlay.name_in(dn.as_bytes()) else {
        return Ok(());
    };
    if !was_group(overlay, execution, &group, applied)? {
        return Ok(());
    }
    let outcome = deltas.finish();
    for member in names(overlay, &outcome.gone) {
        overlay.link(execution, &member, &overlay.reverse, Link::Delete(&group))?;
    }
    for member in names(overlay, &outcome.new) {
        overlay.link(execution, &member, &overlay.reverse, Link::Add(&group))?;
    }
    // As with slapd, operators may replace the members of a group by themselves. This fills memberOf for data that was
    // loaded without it.
    for member in names(overlay, &outcome.kept) {
        if holds(execution, &member, &overlay.reverse, &group)? == Some(false) {
            overlay.link(execution, &member, &overlay.reverse, Link::Add(&group))?;
        }
    }
    Ok(())
}

/// Whether the entry was a group before the operation: by its former classes if they change, otherwise by its present
/// classes.
fn was_group(
    overlay: &Memberof,
    execution: &Execution<'_, '_>,
    group: &Dn,
    applied: AppliedEffect<'_>,
) -> Result<bool, OperationError> {
    let former = values_of(applied.attributes_before, &overlay.object_class);
    if !former.is_empty() {
        return Ok(overlay.is_group(former));
    }
    Ok(overlay.is_group(&stored(execution, group, &overlay.object_class)?))
}

fn renamed(
    overlay: &Memberof,
    execution: &mut Execution<'_, '_>,
    dn: &str,
    new_dn: &str,
) -> Result<(), OperationError> {
    let (Some(old), Some(new)) = (overlay.name_in(dn.as_bytes()), overlay.name_in(new_dn.as_bytes())) else {
        return Ok(());
    };
    if old == new {
        return Ok(());
    }
    if overlay.is_group(&stored(execution, &new, &overlay.object_class)?) {
        let members = stored(execution, &new, &overlay.member)?;
        for member in names(overlay, &members) {
            let member = moved(member, &old, &new);
            // A new group that is its own member does not name itself.
            if member != new || holds(execution, &new, &overlay.reverse, &old)? == Some(true) {
                exchange(overlay, execution, &member, &overlay.reverse, &old, &new)?;
            }
        }
    }
    if overlay.referential_integrity {
        let groups = stored(execution, &new, &overlay.reverse)?;
        for group in names(overlay, &groups) {
            let group = moved(group, &old, &new);
            exchange(overlay, execution, &group, &overlay.member, &old, &new)?;
        }
    }
    Ok(())
}

/// The name of an entry after a rename that may have moved it.
fn moved(name: Dn, old: &Dn, new: &Dn) -> Dn {
    name.rebase(old, new).unwrap_or(name)
}

/// Adds the new name first, so that a group always keeps a member.
fn exchange(
    overlay: &Memberof,
    execution: &mut Execution<'_, '_>,
    target: &Dn,
    attribute: &AttributeDescription,
    old: &Dn,
    new: &Dn,
) -> Result<(), OperationError> {
    overlay.link(execution, target, attribute, Link::Add(new))?;
    overlay.link(execution, target, attribute, Link::Delete(old))
}

/// Whether an attribute of an entry holds a name; `None` without the entry.
fn holds(
    execution: &Execution<'_, '_>,
    dn: &Dn,
    attribute: &AttributeDescription,
    name: &Dn,
) -> Result<Option<bool>, OperationError> {
    let view = execution.view();
    let Location::Entry(id) = view.locate(dn)? else {
        return Ok(None);
    };
    let Some(record) = view.record(id)? else {
        return Ok(None);
    };
    let Some(values) = record.values(attribute) else {
        return Ok(Some(false));
    };
    // Names are mostly spelled alike. Comparing the spelling is cheaper than normalizing dozens of names for each
    // member.
    let (spelled, mut found) = (name.pretty().as_bytes(), false);
    if !values.is_external() {
        values.for_each(&mut |value| {
            found = value == spelled;
            if found {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
    }
    Ok(Some(found || values.holds_normalized(name.normalized())?))
}

/// The values of an attribute of an entry as the transaction has it.
pub(super) fn stored(
    execution: &Execution<'_, '_>,
    dn: &Dn,
    attribute: &AttributeDescription,
) -> Result<Vec<Vec<u8>>, OperationError> {
    let view = execution.view();
    let Location::Entry(id) = view.locate(dn)? else {
        return Ok(Vec::new());
    };
    let Some(record) = view.record(id)? else {
        return Ok(Vec::new());
    };
    match record.values(attribute) {
        Some(values) => Ok(values.to_attribute()?.values),
        None => Ok(Vec::new()),
    }
}

fn names(overlay: &Memberof, values: &[Vec<u8>]) -> impl Iterator<Item = Dn> {
    values.iter().filter_map(|value| overlay.name_in(value))
}

fn each(values: &[Vec<u8>], normal: impl Fn(&[u8]) -> Option<Vec<u8>>, mut visit: impl FnMut(Vec<u8>, &[u8])) {
    for value in values {
        if let Some(normal) = normal(value) {
            visit(normal, value);
        }
    }
}
