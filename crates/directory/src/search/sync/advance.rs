//! The phases of a synchronization, one after the other.

use std::task::{Context, Poll};

use ironbark_model::ResultCode;

use super::{Phase, Sync};
use crate::{
    OperationError,
    refusal::SyncRefusal,
    search::{
        run::{Progress, SearchRun, Walked},
        work::Step,
    },
};

impl SearchRun {
    /// The content synchronization, if it is one.
    pub(in crate::search) fn sync(&self) -> Option<&Sync> {
        self.extras.as_ref()?.sync.as_deref()
    }

    /// Lets a search begin whose base object is missing, if both sides have nothing yet.
    pub(in crate::search) fn may_begin_empty(&self, error: OperationError) -> Result<(), OperationError> {
        let is_missing = error.result_code == ResultCode::NO_SUCH_OBJECT;
        if is_missing && self.sync().is_some_and(Sync::may_begin_empty) {
            return Ok(());
        }
        Err(error)
    }

    pub(super) fn sync_mut(&mut self) -> Option<&mut Sync> {
        self.extras.as_mut()?.sync.as_deref_mut()
    }

    /// Notes how much work there may be.
    pub(super) fn note_allowance(&mut self) {
        let allowance = self.work;
        if let Some(sync) = self.sync_mut() {
            sync.allowance = allowance;
        }
    }

    /// Whether the consumer has everything, and waits for changes.
    pub(in crate::search) fn waits_for_changes(&self) -> bool {
        let waits = self.sync().is_some_and(Sync::is_drained);
        waits || self.waits_for_tree()
    }

    /// Ready when there are changes, or another configuration.
    pub(in crate::search) fn poll_changes(&mut self, cx: &Context<'_>) -> Poll<()> {
        if self.waits_for_tree() {
            return self.poll_tree(cx);
        }
        let Some(sync) = self.sync_mut().filter(|sync| sync.is_drained()) else {
            return Poll::Ready(());
        };
        // All are asked, so that each wakes it.
        let mut ready = Poll::Pending;
        for persisting in sync.all_persisting() {
            let seen = persisting.next.saturating_sub(1);
            if persisting.reader.poll_behind(seen, cx).is_ready() {
                ready = Poll::Ready(());
            }
        }
        if ready.is_ready() {
            sync.all_persisting()
                .for_each(|persisting| persisting.is_drained = false);
        }
        ready
    }

    /// Whether it is a content synchronization.
    pub(crate) fn is_synchronizing(&self) -> bool {
        self.sync().is_some() || self.tree_sync().is_some()
    }

    /// Whether it sends changes, after the refresh.
    pub(crate) fn follows(&self) -> bool {
        self.sync().is_some_and(|sync| sync.phase == Phase::Persist) || self.follows_tree()
    }

    /// The request of a synchronization.
    pub(in crate::search) fn request_of_sync(&self) -> Option<&[u8]> {
        let of_sync = self.sync().map(|sync| &*sync.request);
        of_sync.or_else(|| self.request_of_tree())
    }

    /// Continues where another run of the same request stands.
    ///
    /// # Errors
    /// `unavailable`: the database is another one, or provides no changes any more.
    pub(crate) fn continue_as(&mut self, former: &mut Self) -> Result<(), OperationError> {
        self.continue_session(former);
        if former.tree_sync().is_some() {
            return self.continue_tree(former);
        }
        if !former.follows() {
            return self.continue_refresh(former);
        }
        let before = former.extras.as_mut().and_then(|extras| extras.sync.take());
        let (Some(sync), Some(mut before)) = (self.sync_mut(), before) else {
            return Err(SyncRefusal::NoProvider.into());
        };
        sync.continue_members(&mut before)?;
        (sync.phase, sync.content) = (Phase::Persist, before.content);
        (sync.has_everything, sync.is_part) = (before.has_everything, before.is_part);
        self.note_allowance();
        self.targets.clear();
        self.begin_persisting();
        self.sent = former.sent;
        Ok(())
    }

    /// Goes on with a refresh that has begun.
    fn continue_refresh(&mut self, former: &mut Self) -> Result<(), OperationError> {
        let before = former.extras.as_mut().and_then(|extras| extras.sync.take());
        let (Some(sync), Some(mut before)) = (self.sync_mut(), before) else {
            return Err(SyncRefusal::NoProvider.into());
        };
        before.go_under(sync)?;
        if let Some(extras) = &mut self.extras {
            extras.sync = Some(before);
        }
        self.note_allowance();
        Ok(self.continue_from(former.progress())?)
    }

    /// A slice of a synchronization.
    pub(in crate::search) fn advance_sync(&mut self, step: &mut Step<'_>) -> Progress {
        if let Err(error) = self.note_extent(step).and_then(|()| self.goes_on_in_log(step)) {
            self.refuse(error, step.scratch, step.out);
            return Progress::Done;
        }
        loop {
            let Some(phase) = self.sync().map(|sync| sync.phase) else {
                return Progress::Done;
            };
            let walked = match phase {
                Phase::Begin => self.begin_sync(step),
                Phase::Collect { next } => self.collect(next, step),
                Phase::Probe => self.probe(step),
                Phase::List { after } => self.list_others(after, step),
                Phase::Gone { next } => Ok(self.name_gone(next, step)),
                Phase::Send => self.send(step),
                Phase::Ended { after } => self.name_ended(after, step),
                Phase::End => {
                    if self.end_refresh(step) {
                        self.finish(step.scratch, step.out);
                        return Progress::Done;
                    }
                    Ok(Walked::Through)
                }
                Phase::Persist => self.persist(step),
            };
            match walked {
                Ok(Walked::Through) => {}
                Ok(Walked::SliceEnd) => return Progress::More,
                Ok(Walked::Exhausted) => return self.exhausted(step),
                Ok(Walked::Finish) => {
                    self.finish(step.scratch, step.out);
                    return Progress::Done;
                }
                Err(error) => {
                    self.refuse(error, step.scratch, step.out);
                    return Progress::Done;
                }
            }
        }
    }
}
