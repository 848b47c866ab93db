//! In the transaction of a write: overlays add effects that follow from the write.

use ironbark_model::{Attribute, AttributeDescription, Dn};
use ironbark_store::Effect;

use super::Execution;
use crate::OperationError;

/// Acts in the transaction, after the operation's own effect.
pub trait EffectHooks: Send + Sync {
    /// May add effects, or refuse, which undoes the operation.
    ///
    /// # Errors
    /// It refuses, or the storage failed.
    fn in_transaction(
        &self,
        execution: &mut Execution<'_, '_>,
        applied: AppliedEffect<'_>,
    ) -> Result<(), OperationError>;

    /// Attributes whose former values it needs; asked for once, when the overlay is configured.
    fn watched(&self) -> &[AttributeDescription] {
        &[]
    }

    /// Attributes whose values it makes from other entries: what a provider sends of them is ignored.
    fn maintained(&self) -> &[AttributeDescription] {
        &[]
    }

    /// Whether it waits until all others have seen the effect.
    fn acts_last(&self) -> bool {
        false
    }
}

/// What an effect did, as overlays in the transaction see it.
#[derive(Clone, Copy, Debug)]
pub struct AppliedEffect<'a> {
    /// The operation's own effect, already applied.
    pub effect: &'a Effect,
    /// The [watched](EffectHooks::watched) attributes as they were. For a delete, all attributes of the entry. For
    /// changes, the changed attributes; a big value set only if it was deleted or replaced as a whole.
    pub attributes_before: &'a [Attribute],
    /// The top of the subtree that the operation deletes, if this effect is part of that; the top itself is deleted
    /// last.
    pub deleted_tree: Option<&'a Dn>,
}
