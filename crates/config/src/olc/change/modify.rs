//! Modify: values with `{n}` are inserted, found and numbered by this prefix.

use ironbark_model::{Dn, ResultCode, Schema};

use super::{AttributeChange, AttributeChangeKind, ChangeError, Stamps, check_schema, same};
use crate::{
    ConfigError, LoadedConfiguration,
    olc::{
        index, load_change,
        tree::{OlcNode, Tree, path_of},
    },
    registry::Registry,
};

impl Tree {
    /// The tree with a changed entry.
    ///
    /// # Errors
    /// `noSuchObject`; the errors of RFC 4511 §4.6 for existing or missing values; `notAllowedOnRDN`; refusals of the
    /// schema.
    pub fn modify(
        &self,
        schema: &Schema,
        dn: &Dn,
        modifications: &[AttributeChange],
        stamps: &Stamps,
    ) -> Result<Self, ChangeError> {
        let path = path_of(schema, dn).ok_or_else(ChangeError::missing)?;
        let registry = self.registry.clone();
        let mut tree = self.clone();
        let node = tree.find_mut(&path).ok_or_else(ChangeError::missing)?;
        apply_all(&registry, schema, node, modifications, Presence::Checked)?;
        stamps.mark_modified(node);
        Ok(tree)
    }
}

/// A modify, one modification after the other.
#[derive(Clone, Copy, Debug)]
pub struct ModifySteps<'a> {
    /// The tree before.
    pub former: &'a Tree,
    /// The entry.
    pub dn: &'a Dn,
    /// In the order of the request.
    pub modifications: &'a [AttributeChange],
}

impl ModifySteps<'_> {
    /// With more modifications, a modify is checked as a whole only.
    const MOST: usize = 100;

    /// Loads what the modify made, as slapd does it: each value is checked against those that stand before it in the
    /// request. So a password may come with the suffix that leaves it without effect.
    ///
    /// # Errors
    /// As of [`load_change`], of the first modification that is refused.
    pub fn load(&self, changed: &Tree, current: &Schema) -> Result<LoadedConfiguration, ConfigError> {
        let between = self.modifications.len().saturating_sub(1);
        if between > Self::MOST {
            return load_change(changed, Some(self.former), current);
        }
        let mut tree = self.former.clone();
        for modification in self.modifications.iter().take(between) {
            let mut next = tree.clone();
            if let Some(node) = path_of(current, self.dn).and_then(|path| next.find_mut(&path)) {
                // It was applied before, in this order.
                let _ = apply(&tree.registry, current, node, modification, Presence::Checked);
            }
            load_change(&next, Some(&tree), current)?;
            tree = next;
        }
        load_change(changed, Some(&tree), current)
    }
}

/// What becomes of a value that is to be added and is there, or to be deleted and is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::olc) enum Presence {
    /// The change is refused (RFC 4511 §4.6).
    Checked,
    /// It is as it should be: another server has made the change.
    Granted,
}

/// Makes changes of one entry.
pub(in crate::olc) fn apply_all(
    registry: &Registry,
    schema: &Schema,
    node: &mut OlcNode,
    modifications: &[AttributeChange],
    presence: Presence,
) -> Result<(), ChangeError> {
    for modification in modifications {
        apply(registry, schema, node, modification, presence)?;
    }
    check_schema(schema, node, false)
}

fn apply(
    registry: &Registry,
    schema: &Schema,
    node: &mut OlcNode,
    modification: &AttributeChange,
    presence: Presence,
) -> Result<(), ChangeError> {
    let AttributeChange {
        kind,
        attribute,
        values,
    } = modification;
    if attribute.eq_ignore_ascii_case(&node.naming) {
        return Err(ChangeError::new(
            ResultCode::NOT_ALLOWED_ON_RDN,
            format!("{attribute}: the RDN is changed by modify DN"),
        ));
    }
    // An attribute may have several names. It is stored under the name that it was written with.
    let row = registry.with_attribute(attribute);
    let held_as = row.and_then(|row| row.attributes.iter().find(|name| !node.values(name).is_empty()));
    let attribute = held_as.map_or(attribute.as_str(), |name| name);
    let is_ordered = row.is_some_and(|row| row.form.is_ordered());
    let mut held = node.values(attribute).to_vec();
    match kind {
        AttributeChangeKind::Add => add(schema, attribute, &mut held, values, is_ordered, presence)?,
        AttributeChangeKind::Delete => delete(schema, attribute, &mut held, values, presence)?,
        // As in slapd, each value is put where its number says among those before it, as if it were added.
        AttributeChangeKind::Replace if is_ordered => {
            held.clear();
            for value in values {
                index::insert(&mut held, value.clone());
            }
        }
        AttributeChangeKind::Replace => held.clone_from(values),
    }
    let is_replaced = *kind == AttributeChangeKind::Replace;
    if is_ordered {
        index::number(&mut held);
    }
    if is_replaced {
        node.replace(attribute, held);
    } else {
        node.set(attribute, held);
    }
    Ok(())
}

fn add(
    schema: &Schema,
    attribute: &str,
    held: &mut Vec<Vec<u8>>,
    values: &[Vec<u8>],
    is_ordered: bool,
    presence: Presence,
) -> Result<(), ChangeError> {
    for (number, value) in values.iter().enumerate() {
        let text = index_free(value, is_ordered);
        if held
            .iter()
            .any(|known| same(schema, attribute, index_free(known, is_ordered), text))
        {
            if presence == Presence::Granted {
                continue;
            }
            return Err(ChangeError::new(
                ResultCode::ATTRIBUTE_OR_VALUE_EXISTS,
                format!("modify/add: {attribute}: value #{number} already exists"),
            ));
        }
        if is_ordered {
            index::insert(held, value.clone());
        } else {
            held.push(value.clone());
        }
    }
    Ok(())
}

fn index_free(value: &[u8], is_ordered: bool) -> &[u8] {
    if is_ordered { index::split_value(value).1 } else { value }
}

fn delete(
    schema: &Schema,
    attribute: &str,
    held: &mut Vec<Vec<u8>>,
    values: &[Vec<u8>],
    presence: Presence,
) -> Result<(), ChangeError> {
    if held.is_empty() && presence == Presence::Checked {
        return Err(ChangeError::new(
            ResultCode::NO_SUCH_ATTRIBUTE,
            format!("modify/delete: {attribute}: no such attribute"),
        ));
    }
    if values.is_empty() {
        held.clear();
        return Ok(());
    }
    // The numbers are those before the modification.
    let is_same = |one: &[u8], other: &[u8]| same(schema, attribute, one, other);
    let mut places = Vec::new();
    for value in values {
        let found = index::find(held, value, is_same).filter(|place| !places.contains(place));
        if found.is_none() && presence == Presence::Checked {
            return Err(ChangeError::new(
                ResultCode::NO_SUCH_ATTRIBUTE,
                format!("modify/delete: {attribute}: no such value"),
            ));
        }
        places.extend(found);
    }
    places.sort_unstable();
    for place in places.into_iter().rev() {
        held.remove(place);
    }
    Ok(())
}
