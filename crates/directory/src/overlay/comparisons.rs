//! Comparisons that an overlay answers in its own way.

use ironbark_model::{AttributeDescription, Entry};

use super::{Execution, SecondFactor};
use crate::OperationError;

/// Answers comparisons with an attribute whose values are secrets. It is asked only if the access rules let the client
/// compare. It runs on the database's one writer, because an answer may use something up.
pub trait CompareHooks: Send + Sync {
    /// The attribute.
    fn attribute(&self) -> &AttributeDescription;

    /// Whether the value is right. `None`: the values of this entry are compared as usual.
    ///
    /// # Errors
    /// The storage failed.
    fn compare(
        &self,
        execution: &Execution<'_, '_>,
        entry: &Entry,
        value: &[u8],
    ) -> Result<Option<SecondFactor>, OperationError>;
}
