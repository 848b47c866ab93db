//! Work that overlays do of their own accord, now and then.

use std::time::Duration;

use super::Execution;
use crate::OperationError;

/// Work on the writer of a database, between what clients ask for.
pub trait TimerHooks: Send + Sync {
    /// How long it rests once there was nothing to do.
    fn period(&self) -> Duration;

    /// Makes one small step as the rootdn, in a transaction that it shares with other steps. As long as steps change
    /// something, more are made; clients' writes come in between.
    ///
    /// # Errors
    /// It cannot: that is logged, and tried again after the period.
    fn step(&self, execution: &mut Execution<'_, '_>) -> Result<(), OperationError>;
}
