//! An entry as it will be after a request, limited to the attributes that an overlay wants.
//!
//! A request that cannot be carried out is refused later, so its result does not matter here. Nor does the result
//! matter if the budget is exhausted: the request is refused then.

use std::collections::HashSet;

use ironbark_directory::{
    Modification, ModificationKind, OperationError,
    overlay::{Execution, Renaming},
};
use ironbark_model::{AttributeDescription, Budget, Entry, Schema, budget::cost_of};
use ironbark_store::EntryId;

/// Which attributes are wanted.
pub(crate) type Wanted<'w> = &'w dyn Fn(&AttributeDescription) -> bool;

/// After a modify request.
pub(crate) fn modified(
    wanted: Wanted<'_>,
    schema: &Schema,
    execution: &Execution<'_, '_>,
    id: EntryId,
    modifications: &[Modification],
    work: &Budget,
) -> Result<Entry, OperationError> {
    let mut entry = copy(wanted, execution, id)?;
    for modification in modifications {
        let name = &modification.description;
        if !wanted(name) {
            continue;
        }
        // The cost of finding the attribute among the others.
        let mut is_affordable = work.spend(1 + (entry.attributes.len() / ATTRIBUTES_PER_STEP) as u64);
        let mut values = take(&mut entry, name);
        match modification.kind {
            ModificationKind::Add | ModificationKind::AddIfAbsent => {
                values.extend_from_slice(&modification.values);
            }
            ModificationKind::Delete if !modification.values.is_empty() => {
                let gone: HashSet<&[u8]> = modification.normalized.iter().map(Vec::as_slice).collect();
                values.retain(|value| {
                    is_affordable = is_affordable && work.spend(cost_of(value));
                    is_affordable && !gone.contains(normal_form(schema, name, value).as_slice())
                });
            }
            ModificationKind::Delete | ModificationKind::Replace => values.clone_from(&modification.values),
            ModificationKind::Increment => {
                is_affordable = is_affordable && work.spend(values.len() as u64);
                increment(&mut values, modification);
            }
        }
        if !is_affordable {
            break;
        }
        entry.set_values(name, values);
    }
    Ok(entry)
}

/// After a modify DN request.
pub(crate) fn renamed(
    wanted: Wanted<'_>,
    schema: &Schema,
    execution: &Execution<'_, '_>,
    id: EntryId,
    renaming: Renaming<'_>,
    work: &Budget,
) -> Result<Entry, OperationError> {
    let mut entry = copy(wanted, execution, id)?;
    if renaming.delete_old_rdn {
        for (name, value) in renaming.dn.leaf_assertions(schema) {
            let gone = normal_form(schema, &name, &value);
            let mut values = take(&mut entry, &name);
            values.retain(|value| work.spend(cost_of(value)) && normal_form(schema, &name, value) != gone);
            entry.set_values(&name, values);
        }
    }
    for (name, value) in renaming.new_rdn.leaf_assertions(schema) {
        let known = entry.attribute(&name).map_or(0, |attribute| attribute.values.len());
        if wanted(&name) && work.spend(known as u64) {
            entry.add_value(schema, &name, &value);
        }
    }
    entry.dn = renaming.target.clone();
    Ok(entry)
}

/// The wanted attributes of a stored entry.
pub(crate) fn copy(wanted: Wanted<'_>, execution: &Execution<'_, '_>, id: EntryId) -> Result<Entry, OperationError> {
    let view = execution.view();
    let mut entry = Entry::new(view.dn(id)?);
    if let Some(record) = view.record(id)? {
        for stored in record.attributes().filter(|stored| wanted(stored.description())) {
            entry.attributes.push(stored.to_attribute()?);
        }
    }
    Ok(entry)
}

/// Takes the values without a copy; the attribute keeps its place.
fn take(entry: &mut Entry, name: &AttributeDescription) -> Vec<Vec<u8>> {
    entry
        .attribute_mut(name)
        .map(|attribute| std::mem::take(&mut attribute.values))
        .unwrap_or_default()
}

/// The normal form of a value by the equality rule of its attribute; the value itself if it has none.
pub(crate) fn normal_form(schema: &Schema, name: &AttributeDescription, value: &[u8]) -> Vec<u8> {
    let mut normal = Vec::with_capacity(value.len());
    let rule = schema.attribute_type(name.attribute_type).equality;
    if rule.is_none_or(|rule| (rule.normalize_value)(schema, value, &mut normal).is_err()) {
        normal.clear();
        normal.extend_from_slice(value);
    }
    normal
}

fn increment(values: &mut [Vec<u8>], modification: &Modification) {
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<i64>().ok();
    let Some(by) = modification.values.first().and_then(|value| number(value)) else {
        return;
    };
    for value in values {
        if let Some(sum) = number(value).and_then(|known| known.checked_add(by)) {
            *value = sum.to_string().into_bytes();
        }
    }
}

/// Attributes that are compared with a name in about one step.
const ATTRIBUTES_PER_STEP: usize = 8;
