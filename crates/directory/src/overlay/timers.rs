//! Work that overlays do at regular times.

use std::time::Duration;

use super::Execution;
use crate::OperationError;

/// Work on the writer of a database, between the requests of clients.
pub trait TimerHooks: Send + Sync {
    /// How long it rests when there is nothing to do.
    fn period(&self) -> Duration;

    /// Makes one small step as the rootdn, in a transaction that it shares with other steps. More steps follow as long
    /// as steps change something; clients' writes come in between.
    ///
    /// # Errors
    /// The step failed: this is logged, and the step is tried again after the period.
    fn step(&self, execution: &mut Execution<'_, '_>) -> Result<(), OperationError>;
}
