//! Persistent search (draft-ietf-ldapext-psearch-03): each change of an entry that answers the search is told with the
//! entry. It follows the log like a consumer that stays, but nothing is owed: there are no cookies, no names of what
//! has left the content, and nothing is said of entries below a renamed one. Aliases are entries like others.
//!
//! An entry is sent as it is now. One that is gone by now is told with its deletion, as it was before.
//!
//! Who may see what: an entry is considered as in any search, when it is sent. A deleted entry is considered as it was
//! when it was deleted. A former name is told only to who could see the entry by that name.

use std::sync::Arc;

use ironbark_ldap_proto::controls::{ChangeType, Control, EntryChange, PersistentSearch};
use ironbark_model::{Budget, Entry};
use ironbark_store::{ChangeRecord, DitScope, Effect, RecordedEffect};

use super::{
    Phase, Sync,
    former::former,
    persist::{after, find},
};
use crate::{
    OperationError,
    access::{self, Source},
    refusal::{NoticeRefusal, SyncRefusal},
    search::{
        consider::Asker,
        run::{SearchRun, Walked},
        target::in_scope,
        work::Step,
    },
};

/// What a persistent search asks for.
pub(in crate::search) struct Notices {
    asked: PersistentSearch,
    /// What is told with the entry that is being sent.
    now: Option<(ChangeType, Option<Box<str>>)>,
}

impl Notices {
    pub(super) fn new(asked: PersistentSearch) -> Self {
        Self { asked, now: None }
    }

    /// What comes with the entry that is being sent. `None`: nothing is wanted, or it is there since before.
    pub(in crate::search) fn control(&self) -> Option<Control<EntryChange<'_>>> {
        let (change, previous_dn) = self.now.as_ref().filter(|_| self.asked.notifies)?;
        Some(Control::optional(EntryChange {
            change: *change,
            previous_dn: previous_dn.as_deref().map(str::as_bytes),
        }))
    }

    fn wants(&self, recorded: &RecordedEffect) -> Option<ChangeType> {
        let change = match &recorded.effect {
            Effect::Add { .. } => ChangeType::Add,
            Effect::Delete { .. } => ChangeType::Delete,
            Effect::Modify { .. } => ChangeType::Modify,
            Effect::Rename { .. } => ChangeType::ModDn,
        };
        // The keeper of a log writes down its own state; glue is no entry.
        let is_told = !recorded.marks.silent && !recorded.effect.is_glue();
        (is_told && self.asked.changes.contains(change)).then_some(change)
    }
}

impl Sync {
    /// The persistent search, if it is one.
    pub(in crate::search) fn notices(&self) -> Option<&Notices> {
        self.notices.as_ref()
    }

    /// Why a search that follows the log ends: the log no longer has what comes next.
    pub(super) fn falls_behind(&self) -> OperationError {
        if self.notices.is_some() {
            NoticeRefusal::Behind.into()
        } else {
            SyncRefusal::StaleCookie.into()
        }
    }

    fn notify_with(&mut self, now: Option<(ChangeType, Option<Box<str>>)>) {
        if let Some(notices) = &mut self.notices {
            notices.now = now;
        }
    }
}

impl SearchRun {
    /// Whether it is a persistent search.
    pub(in crate::search) fn tells_notices(&self) -> bool {
        self.sync().is_some_and(|sync| sync.notices.is_some())
    }

    /// Begins a persistent search: the entries that are there, if they are wanted, and the changes behind them.
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
        let sends_all = sync.notices().is_some_and(|notices| !notices.asked.changes_only);
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
        change: ChangeType,
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
            ChangeType::Delete => Ok(None),
            _ => find(&snapshot, recorded.before.entry_uuid),
        };
        let state_after = match (&found, change) {
            (Ok(Some(id)), ChangeType::ModDn) => after(&snapshot, *id, record.csn),
            _ => Ok(None),
        };
        step.scratch.keep_snapshot(snapshot);
        let (found, state_after) = (found?, state_after?);
        let before = match change {
            ChangeType::Delete | ChangeType::ModDn => former(&self.configuration.schema, recorded, state_after),
            ChangeType::Add | ChangeType::Modify => None,
        };
        let previous_dn = before.as_ref().filter(|_| change == ChangeType::ModDn);
        let previous_dn = previous_dn.and_then(|before| self.name_that_was_visible(before, step.slice.budget));
        if step.is_exhausted() {
            return Ok(Walked::Exhausted);
        }
        if let Some(sync) = self.sync_mut() {
            sync.notify_with(Some((change, previous_dn)));
        }
        let walked = match (change, before) {
            (ChangeType::Delete, Some(entry)) => self.send_deleted(&entry, step),
            (ChangeType::Delete, None) => Ok(Walked::Through),
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
