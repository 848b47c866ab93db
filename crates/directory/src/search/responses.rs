//! Overlays that are told of the entries that a search sends.

use super::{run::SearchRun, work::Slice};
use crate::{
    OperationError,
    access::{Source, VisibleEntry},
    request::responses::ResponseWait,
};

impl SearchRun {
    /// Tells overlays of an entry that is sent. The step ends when they want the search to wait.
    ///
    /// # Errors
    /// The storage failed.
    #[cold]
    pub(super) fn tell_overlays(
        &mut self,
        entry: &VisibleEntry<'_>,
        slice: &mut Slice<'_>,
    ) -> Result<(), OperationError> {
        let wait = self.told(entry)?;
        self.wait_for(wait, slice);
        Ok(())
    }

    /// Tells overlays of an entry. `Some`: the search is to wait before it sends another one.
    ///
    /// # Errors
    /// The storage failed.
    pub(super) fn told(&self, entry: &VisibleEntry<'_>) -> Result<Option<ResponseWait>, OperationError> {
        if self.counts_only() {
            return Ok(None);
        }
        let hearing = self
            .origin
            .responses
            .as_ref()
            .filter(|responses| responses.takes_entries());
        let Some(responses) = hearing else { return Ok(None) };
        Ok(match entry.source() {
            Source::Memory(entry) => responses.entry(&self.origin, entry),
            Source::Record(record, view) => responses.entry(&self.origin, &record.to_entry(view.dn(record.id)?)?),
        })
    }

    /// Whether overlays have yet to make room.
    pub(super) fn waits_for_overlays(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.wait.is_some())
    }

    /// Ends the step, if there is something to wait for.
    pub(super) fn wait_for(&mut self, wait: Option<ResponseWait>, slice: &mut Slice<'_>) {
        if wait.is_some() {
            self.extras.get_or_insert_default().wait = wait;
            slice.end = 0;
        }
    }
}
