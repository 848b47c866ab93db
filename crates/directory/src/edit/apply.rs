//! Applying effects, and showing them to overlays, which add theirs.

use ironbark_model::{Attribute, Dn};
use ironbark_store::{ChangeKind, Effect, EntryId};

use crate::{
    OperationError,
    overlay::{AppliedEffect, Execution, overlays_of},
};

/// The former state of an entry, limited to the parts that overlays want.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before<'a> {
    /// Watched attributes.
    pub(crate) attributes: &'a [Attribute],
    /// The top of the subtree that is deleted with it.
    pub(crate) deleted_tree: Option<&'a Dn>,
}

impl<'a> Before<'a> {
    fn of(self, effect: &'a Effect) -> AppliedEffect<'a> {
        AppliedEffect {
            effect,
            attributes_before: self.attributes,
            deleted_tree: self.deleted_tree,
        }
    }
}

/// Applies an effect that the request asks for, then lets the overlays act in the transaction. Call it after every
/// check, once, or for each entry of a deleted subtree.
///
/// With the no-op control this is where the operation ends.
///
/// # Errors
/// `noOperation`; the entry is too big; an overlay refuses, or the storage failed.
pub(crate) fn apply_own(
    execution: &mut Execution<'_, '_>,
    kind: ChangeKind,
    effect: Effect,
    before: Before<'_>,
) -> Result<EntryId, OperationError> {
    let overlays = &overlays_of(execution.context).effects;
    let shown = (!overlays.is_empty()).then(|| effect.clone());
    let id = execution.make_own(kind, effect)?;
    let Some(effect) = shown else { return Ok(id) };
    for overlay in overlays {
        overlay.in_transaction(execution, before.of(&effect))?;
    }
    Ok(id)
}

/// The same for an effect that follows from the change of another entry, and of which no consumer is told.
///
/// # Errors
/// As of [`apply_own`].
pub(crate) fn apply_implied(
    execution: &mut Execution<'_, '_>,
    kind: ChangeKind,
    effect: Effect,
    before: Before<'_>,
) -> Result<EntryId, OperationError> {
    let number = execution.record().effects.len();
    let id = apply_own(execution, kind, effect, before)?;
    execution.mark_internal(number);
    Ok(id)
}

/// Shows a further effect to the overlays that do not act last.
///
/// # Errors
/// One of them refuses, or the storage failed.
pub(crate) fn show_to_first(
    execution: &mut Execution<'_, '_>,
    effect: &Effect,
    before: Before<'_>,
) -> Result<(), OperationError> {
    let mut overlays = overlays_of(execution.context).first_in_transaction();
    overlays.try_for_each(|overlay| overlay.in_transaction(execution, before.of(effect)))
}
