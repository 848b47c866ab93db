//! Notices: each change of an entry that answers the search is told with the entry, as an overlay wants it. The search
//! follows the log like a consumer that stays, but nothing is owed: there are no cookies, no names of what has left the
//! content, and nothing is said of entries below a renamed one. Aliases are entries like others.
//!
//! An entry is sent as it is now. One that is gone by now is told with its deletion, as it was before.
//!
//! Who may see what: an entry is considered as in any search, when it is sent. A deleted entry is considered as it was
//! when it was deleted. A former name is told only to who could see the entry by that name.

use std::sync::Arc;

use ironbark_model::{Budget, Entry};
use ironbark_store::{ChangeRecord, DitScope, Effect, RecordedEffect};

use super::{
    Phase, Sync,
    former::former,
    persist::{after, find},
};
use crate::{
    OperationError, ResponseControl,
    access::{self, Source},
    overlay::{EntryChangeKind, Notices},
    refusal::SyncRefusal,
    search::{
        consider::Asker,
        run::{SearchRun, Walked},
        target::in_scope,
        work::Step,
    },
};

/// The notices of a search.
pub(in crate::search) struct Noticing {
    asked: Box<dyn Notices>,
    /// What comes with the entry that is being sent.
    now: Option<ResponseControl>,
}

impl Noticing {
    pub(super) fn new(asked: Box<dyn Notices>) -> Self {
        Self { asked, now: None }
    }

    /// What comes with the entry that is being sent. `None`: nothing is wanted, or it is there since before.
    pub(in crate::search) fn control(&self) -> Option<&ResponseControl> {
        self.now.as_ref()
    }

    fn wants(&self, recorded: &RecordedEffect) -> Option<EntryChangeKind> {
        let change = match &recorded.effect {
            Effect::Add { .. } => EntryChangeKind::Add,
            Effect::Delete { .. } => EntryChangeKind::Delete,
            Effect::Modify { .. } => EntryChangeKind::Modify,
            Effect::Rename { .. } => EntryChangeKind::Rename,
        };
        // The keeper of a log writes down its own state; glue is no entry.
        let is_told = !recorded.marks.silent && !recorded.effect.is_glue();
        (is_told && self.asked.wants(change)).then_some(change)
    }
}

impl Sync {
    /// The notices, if the search is told of changes.
    pub(in crate::search) fn notices(&self) -> Option<&Noticing> {
        self.notices.as_ref()
    }

    /// Why a search that follows the log ends: the log no longer has what comes next.
    pub(super) fn falls_behind(&self) -> OperationError {
        match &self.notices {
            Some(notices) => notices.asked.falls_behind(),
            None => SyncRefusal::StaleCookie.into(),
        }
    }

    /// Sets what comes with the next entry.
    fn notify_with(&mut self, now: Option<(EntryChangeKind, Option<&str>)>) {
        if let Some(notices) = &mut self.notices {
            notices.now = now.and_then(|(change, former_name)| notices.asked.control(change, former_name));
        }
    }
}

impl SearchRun {
    /// Whether it is told of changes, without a state of synchronization.
    pub(in crate::search) fn tells_notices(&self) -> bool {
        self.sync().is_some_and(|sync| sync.notices.is_some())
    }

    /// Begins with the entries that are there, if they are wanted, and goes on with the changes behind them.
    pub(super) fn begin_notices(&mut self, step: &mut Step<'_>) -> Result<Walked, OperationError> {
        let Some(sync) = self.sync_mut() else {
            return Ok(Walked::Finish);
        };
        sync.for_each_member(|sync| {
            let context = Arc::clone(&sync.context);
            let Some(snapshot) = step.scratch.take_snapshot(&context)? else {
                return Err(OperationError::from(SyncRefusal::NoProvider));
            };
            let state = snapshot.view().log_state();
            step.scratch.keep_snapshot(snapshot);
            sync.refresh.last = state?.last;
            Ok(())
        })?;
        let sends_all = sync.notices().is_some_and(|notices| notices.asked.sends_present());
        sync.phase = if sends_all { Phase::Send } else { Phase::End };
        Ok(Walked::Through)
    }

    /// Tells the effects of a change.
    pub(super) fn notify_change(
        &mut self,
        record: &ChangeRecord,
        told: usize,
        step: &mut Step<'_>,
    ) -> Result<Walked, OperationError> {
        for (number, recorded) in record.effects.iter().enumerate().skip(told) {
            let wanted = self
                .sync()
                .and_then(Sync::notices)
                .and_then(|notices| notices.wants(recorded));
            if let Some(change) = wanted {
                let walked = self.notify(change, record, recorded, step)?;
                if !matches!(walked, Walked::Through) {
                    return Ok(walked);
                }
            }
            if let Some(persisting) = self.sync_mut().and_then(|sync| sync.persisting.as_mut()) {
                persisting.effects = number + 1;
            }
        }
        if let Some(persisting) = self.sync_mut().and_then(|sync| sync.persisting.as_mut()) {
            persisting.go_behind(record);
        }
        Ok(Walked::Through)
    }

    fn notify(
        &mut self,
        change: EntryChangeKind,
        record: &ChangeRecord,
        recorded: &RecordedEffect,
        step: &mut Step<'_>,
    ) -> Result<Walked, OperationError> {
        let Some(sync) = self.sync() else {
            return Ok(Walked::Finish);
        };
        let context = Arc::clone(&sync.context);
        let Some(snapshot) = step.scratch.take_snapshot(&context)? else {
            return Err(SyncRefusal::NoProvider.into());
        };
        let found = match change {
            EntryChangeKind::Delete => Ok(None),
            _ => find(&snapshot, recorded.before.entry_uuid),
        };
        let state_after = match (&found, change) {
            (Ok(Some(id)), EntryChangeKind::Rename) => after(&snapshot, *id, record.csn),
            _ => Ok(None),
        };
        step.scratch.keep_snapshot(snapshot);
        let (found, state_after) = (found?, state_after?);
        let before = match change {
            EntryChangeKind::Delete | EntryChangeKind::Rename => {
                former(&self.configuration.schema, recorded, state_after)
            }
            EntryChangeKind::Add | EntryChangeKind::Modify => None,
        };
        let former_name = before.as_ref().filter(|_| change == EntryChangeKind::Rename);
        let former_name = former_name.and_then(|before| self.name_that_was_visible(before, step.slice.budget));
        if step.is_exhausted() {
            return Ok(Walked::Exhausted);
        }
        if let Some(sync) = self.sync_mut() {
            sync.notify_with(Some((change, former_name.as_deref())));
        }
        let walked = match (change, before) {
            (EntryChangeKind::Delete, Some(entry)) => self.send_deleted(&entry, step),
            (EntryChangeKind::Delete, None) => Ok(Walked::Through),
            _ => self.send_now(found, step),
        };
        if let Some(sync) = self.sync_mut() {
            sync.notify_with(None);
        }
        walked
    }

    /// Sends a deleted entry as it was, if it answered the search.
    fn send_deleted(&mut self, entry: &Entry, step: &mut Step<'_>) -> Result<Walked, OperationError> {
        let Some(sync) = self.sync() else {
            return Ok(Walked::Finish);
        };
        // Who does not ask for subentries gets one only as the base object.
        let is_of_kind = self.options.subentries.is_some() || sync.scope == DitScope::Base || !self.is_subentry(entry);
        // A referral to what is gone would lead nowhere.
        let is_reference = !self.options.manage_dsa_it && self.is_referral(entry);
        if !is_of_kind || is_reference || !in_scope(&entry.dn, &sync.base, sync.scope) {
            return Ok(Walked::Through);
        }
        let (context, before) = (Arc::clone(&sync.context), step.out.len());
        let walked = self.consider_memory(&context, entry, step);
        if step.is_exhausted() {
            step.out.truncate(before);
            return Ok(Walked::Exhausted);
        }
        Ok(walked?.unwrap_or(Walked::Through))
    }

    /// The name of an entry as it was, if the client could see the entry by it.
    fn name_that_was_visible(&self, before: &Entry, budget: &Budget) -> Option<Box<str>> {
        let context = Arc::clone(&self.sync()?.context);
        let source = Source::Memory(before);
        let asker = Asker::of(self);
        let check = access::check(asker.requester_within(&context, budget), source);
        let name = before.dn.pretty();
        access::visible(check.as_ref(), source, name).map(|_| name.into())
    }
}
