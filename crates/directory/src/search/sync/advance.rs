//! The phases of a synchronization, one after the other.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use ironbark_model::{Dn, ResultCode, filter::compiled::Node};

use super::{Phase, Sync};
use crate::{
    NamingContext, OperationError,
    access::{Extent, Requester},
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

    /// Notes at the begin whether the consumer gets every entry of the database, or of its base, by the rules, and asks
    /// again in each slice. If of the database, it renames what is below a renamed entry, and is told places. To a
    /// persistent search it does not matter.
    ///
    /// # Errors
    /// `e-syncRefreshRequired`: it no longer does. What is told to one that does would leave it wrong.
    fn note_extent(&mut self, step: &mut Step<'_>) -> Result<(), OperationError> {
        let is_any = match self.filter.nodes.as_slice() {
            [Node::Present(slot)] => self.filter.slot(*slot) == Some(&self.configuration.well_known.object_class),
            _ => false,
        };
        let Some(sync) = self.sync_mut().filter(|sync| sync.notices.is_none()) else {
            return Ok(());
        };
        let is_begin = sync.phase == Phase::Begin;
        let is_whole = is_any && sync.covers_database();
        let matters = if is_begin {
            is_whole || sync.asks_ends
        } else {
            sync.has_everything || sync.asks_ends && !sync.is_part
        };
        if !matters {
            return Ok(());
        }
        let mut contexts = Vec::new();
        let _: Result<(), ()> = sync.for_each_member(|sync| {
            contexts.push(Arc::clone(&sync.context));
            Ok(())
        });
        let mut is_all = is_any;
        for context in &contexts {
            let extent = self.extent(context, step)?;
            is_all &= extent.has_every_entry;
            if is_whole {
                self.tell_of_partial(extent, context);
            }
        }
        if !is_begin && !is_all {
            return Err(SyncRefusal::StaleCookie.into());
        }
        if let Some(sync) = self.sync_mut() {
            (sync.has_everything, sync.is_part) = (is_all && is_whole, !is_all);
        }
        Ok(())
    }

    fn extent(&self, context: &Arc<NamingContext>, step: &mut Step<'_>) -> Result<Extent, OperationError> {
        let Some(snapshot) = step.scratch.take_snapshot(context)? else {
            return Err(SyncRefusal::NoProvider.into());
        };
        let view = snapshot.view();
        let standing = step.scratch.standing(&self.configuration, context, &self.origin, view);
        let requester = Requester::of(&self.configuration, context, &self.origin);
        let extent = Extent::of(requester, standing.as_deref(), view);
        step.scratch.keep_snapshot(snapshot);
        Ok(extent)
    }

    /// Says once in a session that a copy of the whole database may lack something.
    fn tell_of_partial(&self, extent: Extent, context: &NamingContext) {
        let Some(sync) = self.sync().filter(|sync| sync.phase == Phase::Begin) else {
            return;
        };
        let hidden = match extent {
            Extent {
                has_every_entry: false, ..
            } => "entries",
            Extent {
                has_every_value: false, ..
            } => "values",
            Extent { .. } => return,
        };
        let (rid, identity) = (sync.consumer.0, self.origin.identity.dn.pretty());
        let suffix = context.suffixes().first().map_or("", Dn::pretty);
        tracing::warn!(
            target: "any",
            "access rules may hide {hidden} of {suffix} from the consumer rid={rid:03} of \"{identity}\", \
             which then copies a part"
        );
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
        (sync.phase, sync.has_everything, sync.is_part) = (Phase::Persist, before.has_everything, before.is_part);
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
