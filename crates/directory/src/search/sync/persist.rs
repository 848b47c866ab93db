//! The changes after the refresh, one after the other as they were committed.
//!
//! An effect is sent as the entry is now. A later change of the same entry is sent again, which does no harm. If the
//! entry does not belong to the content now, what the log keeps of it tells whether it did before.

use std::{collections::VecDeque, sync::Arc};

use ironbark_ldap_proto::controls::EntryState;
use ironbark_model::{Dn, Entry, number_map::NumberMap};
use ironbark_store::{
    ChangeRecord, ContextVector, Csn, Effect, EntryId, HeldSnapshot, Location, RecordedEffect, StoreError, View,
};

use super::{
    Meeting, Persisting, Sync,
    former::{csn_after, former},
};
use crate::{
    NamingContext, OperationError,
    access::{self, Source},
    backend::feed::Reader,
    place,
    refusal::{SearchRefusal, SyncRefusal},
    scratch::shared_entries::EffectPlace,
    search::{
        run::{SearchRun, Walked},
        target::in_scope,
        work::Step,
    },
};

/// Superiors that are remembered to have been sent before their turn.
const MOST_AHEAD: usize = 1_024;

/// An effect that is being sent.
pub(super) struct Moment<'r> {
    pub(super) recorded: &'r RecordedEffect,
    /// Its number in the change.
    number: usize,
    csn: Csn,
    sequence: u64,
    /// The cookie of the change, if this is all that is sent of it.
    pub(super) cookie: Option<String>,
    /// The same if the entry is gone: was deleted, or has left the content.
    for_departure: Option<String>,
}

impl Moment<'_> {
    /// The state that is sent with the entry.
    pub(super) fn state(&self) -> EntryState {
        if matches!(self.recorded.effect, Effect::Add { .. }) {
            EntryState::Add
        } else {
            EntryState::Modify
        }
    }

    pub(super) fn place(&self, context: &NamingContext) -> EffectPlace {
        (context.cache, self.sequence, self.number)
    }
}

impl Sync {
    /// From now on, the consumer follows the log from this number on.
    pub(super) fn follow_from(&mut self, next: u64) {
        let Some(writer) = self.context.backend.own_writer() else {
            return;
        };
        self.persisting = Some(Persisting {
            reader: Reader::of(writer.feed()),
            told: Arc::default(),
            next,
            batch: VecDeque::new(),
            effects: 0,
            below: None,
            has_sent_own: false,
            in_doubt_until: 0,
            ahead: NumberMap::default(),
            later_superiors: 0,
            sent: ContextVector::default(),
            owes_cookie: false,
            withholds_cookie: false,
            is_drained: false,
        });
    }

    /// Whether the consumer brought a change here. Others may bring what the consumer made itself: it may have lost
    /// that since, if it was restored from a backup.
    fn has_brought(&self, record: &ChangeRecord, own: u16) -> bool {
        let consumer = self.consumer.1;
        // A database may follow another one of the same server.
        consumer != 0 && consumer != own && record.via == consumer
    }
}

impl SearchRun {
    /// Sends changes until there are no more, or the slice is full.
    pub(super) fn persist(&mut self, step: &mut Step<'_>) -> Result<Walked, OperationError> {
        loop {
            if step.is_used_up() {
                return Ok(Walked::SliceEnd);
            }
            if let Some(sync) = self.sync_mut() {
                sync.begin_round(step.scratch.directory())?;
            }
            let Some((record, effects)) = self.next_change(step)? else {
                if self.goes_to_next_member(step) {
                    continue;
                }
                return Ok(Walked::SliceEnd);
            };
            let sent = if self.tells_notices() {
                self.notify_change(&record, effects, step)?
            } else {
                self.send_change(&record, effects, step)?
            };
            if !matches!(sent, Walked::Through) {
                return Ok(sent);
            }
            step.slice.has_advanced = true;
            self.work = self.sync().map_or(self.work, |sync| sync.allowance);
        }
    }

    /// Goes to the next of glued databases, if it is not read to its end. Otherwise tells what the consumer has of all.
    fn goes_to_next_member(&mut self, step: &mut Step<'_>) -> bool {
        let own = step.scratch.directory().server_id();
        let Some(sync) = self.sync_mut().filter(|sync| sync.is_glued()) else {
            return false;
        };
        let Some(vector) = sync.end_of_member() else {
            return true;
        };
        if sync.notices.is_none() && vector.iter().fold(false, |news, csn| sync.known.merge(csn) | news) {
            let cookie = sync.cookie(own, &vector, None);
            self.send_cookie(&cookie, step.out);
        }
        false
    }

    /// The change to be sent, and how many of its effects were sent. `None`: there are no more.
    fn next_change(&mut self, step: &mut Step<'_>) -> Result<Option<(Arc<ChangeRecord>, usize)>, OperationError> {
        let own = step.scratch.directory().server_id();
        let Some(sync) = self.sync_mut() else { return Ok(None) };
        let context = Arc::clone(&sync.context);
        let Some(snapshot) = step.scratch.take_snapshot(&context)? else {
            return Err(SyncRefusal::NoProvider.into());
        };
        let found = sync.next_change(&snapshot, own);
        step.scratch.keep_snapshot(snapshot);
        match found? {
            Next::Change(record, effects) => Ok(Some((record, effects))),
            Next::Drained(cookie) => {
                if let Some(cookie) = cookie {
                    self.send_cookie(&cookie, step.out);
                }
                Ok(None)
            }
        }
    }

    /// Sends the effects of a change that the consumer lacks.
    fn send_change(
        &mut self,
        record: &ChangeRecord,
        sent: usize,
        step: &mut Step<'_>,
    ) -> Result<Walked, OperationError> {
        let own = step.scratch.directory().server_id();
        let Some(sync) = self.sync() else {
            return Ok(Walked::Finish);
        };
        sync.goes_on_behind(record)?;
        let is_glued = sync.is_glued();
        // What one member has of another server says nothing of the others.
        let is_known = !is_glued && sync.has(record) || sync.has_brought(record, own);
        // What came in a refresh is complete only with the cookie at its end.
        let csns: ContextVector = record.context_csns().collect();
        let cookie = (!csns.is_empty() && !is_glued).then(|| sync.cookie(own, &csns, None));
        let is_alone = sync.is_alone(record);
        let gone = sync.cookies_of_gone(own, record, cookie.as_ref().filter(|_| is_alone));
        if !is_known {
            for (number, (recorded, csn)) in record.stamped_effects().enumerate().skip(sent) {
                if recorded.is_told() {
                    let moment = Moment {
                        recorded,
                        number,
                        csn,
                        sequence: record.position.sequence,
                        cookie: cookie.clone().filter(|_| is_alone),
                        for_departure: match recorded.effect {
                            Effect::Delete { .. } => self.cookie_of_delete(record, csn, is_alone, &gone),
                            _ => gone.departed.clone(),
                        },
                    };
                    let walked = self.send_effect(&moment, step)?;
                    if !matches!(walked, Walked::Through) {
                        return Ok(walked);
                    }
                }
                if let Some(persisting) = self.sync_mut().and_then(|sync| sync.persisting.as_mut()) {
                    (persisting.effects, persisting.below, persisting.has_sent_own) = (number + 1, None, false);
                    persisting.sent.merge(csn);
                }
            }
            for (uuid, csn) in record.stamped_burials() {
                if !self.send_burial(record, (uuid, csn), step.out) {
                    self.send_gone(uuid, gone.deleted.as_deref(), step.out);
                }
                if let Some(persisting) = self.sync_mut().and_then(|sync| sync.persisting.as_mut()) {
                    persisting.owes_cookie = true;
                }
            }
        }
        let Some(sync) = self.sync_mut() else {
            return Ok(Walked::Finish);
        };
        let Some(persisting) = &mut sync.persisting else {
            return Ok(Walked::Finish);
        };
        let owes_cookie = std::mem::take(&mut persisting.owes_cookie);
        let is_alone = is_alone && !std::mem::take(&mut persisting.withholds_cookie);
        persisting.go_behind(record);
        // It may know the change, but not all that came with it.
        let has_all = is_known && record.via == sync.consumer.1 && record.via != 0;
        let has_news = is_known && !has_all && csns.iter().any(|csn| !sync.known.covers(csn));
        if !is_glued && (is_known || owes_cookie) {
            csns.iter().for_each(|csn| _ = sync.known.merge(csn));
        }
        if let Some(cookie) = cookie.filter(|_| has_news || owes_cookie && !is_alone) {
            self.send_cookie(&cookie, step.out);
        }
        Ok(Walked::Through)
    }

    /// Sends one effect. The entry itself is sent as a whole, or again; then what is below it.
    fn send_effect(&mut self, moment: &Moment<'_>, step: &mut Step<'_>) -> Result<Walked, OperationError> {
        if self.send_shared(moment, step) {
            return Ok(Walked::Through);
        }
        let Some(sync) = self.sync_mut() else {
            return Ok(Walked::Finish);
        };
        let context = Arc::clone(&sync.context);
        let Some(snapshot) = step.scratch.take_snapshot(&context)? else {
            return Err(SyncRefusal::NoProvider.into());
        };
        let found = find(&snapshot, moment.recorded.before.entry_uuid).and_then(|id| {
            sync.note_below(&snapshot, &moment.recorded.effect, id)?;
            if id.is_none() && moment.state() == EntryState::Add {
                sync.goes_on_without(snapshot.view())?;
            }
            Ok(id)
        });
        step.scratch.keep_snapshot(snapshot);
        let found = found?;
        let walked = self.name_below(step)?;
        if !matches!(walked, Walked::Through) {
            return Ok(walked);
        }
        let withheld = self.without_cookie(moment);
        let walked = self.send_own(withheld.as_ref().unwrap_or(moment), found, step)?;
        if !matches!(walked, Walked::Through) {
            return Ok(walked);
        }
        self.send_below(step)
    }

    /// The effect without the cookie of its change, if entries below follow it.
    fn without_cookie<'r>(&self, moment: &Moment<'r>) -> Option<Moment<'r>> {
        let persisting = self.sync()?.persisting.as_ref()?;
        persisting.withholds_cookie.then_some(Moment {
            cookie: None,
            for_departure: None,
            ..*moment
        })
    }

    /// Tells the end of an entry that was added, and is gone by now, to a consumer that may write itself. It comes
    /// again in its turn; but then this server may have lost it, by a restore of a copy that has the entry.
    fn send_end(&mut self, moment: &Moment<'_>, step: &mut Step<'_>) -> Result<(), OperationError> {
        let own = step.scratch.directory().server_id();
        let Some(sync) = self.sync().filter(|sync| sync.tells_places()) else {
            return Ok(());
        };
        let (context, uuid) = (Arc::clone(&sync.context), moment.recorded.before.entry_uuid);
        let Some(snapshot) = step.scratch.take_snapshot(&context)? else {
            return Err(SyncRefusal::NoProvider.into());
        };
        let tombstone = snapshot.view().tombstone(&uuid);
        step.scratch.keep_snapshot(snapshot);
        let Some((deleted, _)) = tombstone? else { return Ok(()) };
        if let Some(sync) = self.sync() {
            let cookie = sync.cookie(own, &sync.known, Some(deleted));
            self.send_gone(uuid, Some(&cookie), step.out);
        }
        Ok(())
    }

    /// Sends the entry of an effect, or that it has left the content.
    fn send_own(
        &mut self,
        moment: &Moment<'_>,
        found: Option<EntryId>,
        step: &mut Step<'_>,
    ) -> Result<Walked, OperationError> {
        let is_new = moment.state() == EntryState::Add;
        let Some(sync) = self.sync_mut() else {
            return Ok(Walked::Finish);
        };
        if sync
            .persisting
            .as_ref()
            .is_some_and(|persisting| persisting.has_sent_own)
        {
            return Ok(Walked::Through);
        }
        let walked = self.send_superiors(found, step)?;
        if !matches!(walked, Walked::Through) {
            return Ok(walked);
        }
        let Some(sync) = self.sync_mut() else {
            return Ok(Walked::Finish);
        };
        sync.meeting = Meeting::Send(moment.state(), moment.cookie.clone());
        let (before, start) = (self.sent, step.out.len());
        let walked = self.send_now(found, step)?;
        if !matches!(walked, Walked::Through) {
            return Ok(walked);
        }
        let is_sent = self.sent != before;
        let persisting = self.sync().and_then(|sync| sync.persisting.as_ref());
        // Another consumer may lack the superiors that this one has been sent.
        if is_sent && persisting.is_some_and(|persisting| persisting.later_superiors == 0) {
            self.share(moment, start, step);
        }
        if found.is_none() && is_new {
            self.send_end(moment, step)?;
        }
        let is_gone = !is_sent && !is_new && self.send_departure(moment, found, step)?;
        if step.is_exhausted() {
            return Ok(Walked::Exhausted);
        }
        self.has_sent_own(is_sent || is_gone);
        Ok(Walked::Through)
    }

    /// Notes that the effect's own entry needs no more, and whether something was sent.
    pub(super) fn has_sent_own(&mut self, is_sent: bool) {
        if let Some(persisting) = self.sync_mut().and_then(|sync| sync.persisting.as_mut()) {
            persisting.has_sent_own = true;
            persisting.owes_cookie |= is_sent;
        }
    }

    /// Sends the superiors of an entry whose changes come later: they must be there before it.
    fn send_superiors(&mut self, found: Option<EntryId>, step: &mut Step<'_>) -> Result<Walked, OperationError> {
        let Some(sync) = self.sync() else {
            return Ok(Walked::Finish);
        };
        let (Some(id), true) = (found, sync.has_everything) else {
            return Ok(Walked::Through);
        };
        let context = Arc::clone(&sync.context);
        let Some(snapshot) = step.scratch.take_snapshot(&context)? else {
            return Err(SyncRefusal::NoProvider.into());
        };
        let unknown = sync.unknown_superiors(&snapshot, id);
        step.scratch.keep_snapshot(snapshot);
        let unknown = unknown?;
        if let Some(persisting) = self.sync_mut().and_then(|sync| sync.persisting.as_mut()) {
            persisting.later_superiors = unknown.len();
        }
        for (id, csn) in unknown.into_iter().rev() {
            let persisting = self.sync().and_then(|sync| sync.persisting.as_ref());
            if persisting.is_some_and(|persisting| persisting.ahead.get(&id) == Some(&csn)) {
                continue;
            }
            let Some(sync) = self.sync_mut() else {
                return Ok(Walked::Finish);
            };
            sync.meeting = Meeting::Send(EntryState::Modify, None);
            let walked = self.send_now(Some(id), step)?;
            if !matches!(walked, Walked::Through) {
                return Ok(walked);
            }
            if let Some(persisting) = self.sync_mut().and_then(|sync| sync.persisting.as_mut()) {
                if persisting.ahead.len() >= MOST_AHEAD {
                    // They are sent again where they are needed.
                    persisting.ahead.clear();
                }
                persisting.ahead.insert(id, csn);
            }
        }
        Ok(Walked::Through)
    }

    /// Sends an entry as it is, if it belongs to the content.
    pub(super) fn send_now(&mut self, found: Option<EntryId>, step: &mut Step<'_>) -> Result<Walked, OperationError> {
        if let Some(id) = found
            && let Some(mut target) = self.content(Some(std::iter::once(id).collect()), step)?
        {
            return self.walk(&mut target, step);
        }
        Ok(Walked::Through)
    }

    /// Tells that an entry no longer belongs to the content, if it did, or may have.
    fn send_departure(
        &mut self,
        moment: &Moment<'_>,
        found: Option<EntryId>,
        step: &mut Step<'_>,
    ) -> Result<bool, OperationError> {
        let Some(sync) = self.sync() else { return Ok(false) };
        let (context, uuid) = (Arc::clone(&sync.context), moment.recorded.before.entry_uuid);
        let Some(snapshot) = step.scratch.take_snapshot(&context)? else {
            return Err(SyncRefusal::NoProvider.into());
        };
        let after = match found {
            Some(id) => after(&snapshot, id, csn_after(moment.recorded, moment.csn)),
            None => Ok(None),
        };
        step.scratch.keep_snapshot(snapshot);
        let configuration = Arc::clone(&self.configuration);
        let persisting = self.sync().and_then(|sync| sync.persisting.as_ref());
        let is_in_doubt = persisting.is_some_and(|persisting| moment.sequence <= persisting.in_doubt_until);
        let known = former(&configuration.schema, moment.recorded, after?).filter(|_| !is_in_doubt);
        let Some(entry) = known else {
            self.send_gone(uuid, moment.for_departure.as_deref(), step.out);
            return Ok(true);
        };
        let Some(sync) = self.sync() else { return Ok(false) };
        if !in_scope(&entry.dn, &sync.base, sync.scope)
            || !self.answers_in_memory(&context, &entry, step)
            || step.is_exhausted()
        {
            return Ok(false);
        }
        let source = Source::Memory(&entry);
        let asker = super::super::consider::Asker::of(self);
        let check = access::check(asker.requester(&context), source);
        if let Some(visible) = access::visible(check.as_ref(), source, entry.dn.pretty()) {
            match (&moment.cookie, &moment.for_departure) {
                // slapd takes no entry whose cookie begins with a CSN that it has. It takes a set of UUIDs.
                (None, Some(cookie)) => self.send_gone(uuid, Some(cookie), step.out),
                (_, cookie) => self.send_departed(&visible, uuid, cookie.clone(), step.out),
            }
        }
        Ok(true)
    }
}

impl Persisting {
    /// Goes on behind a change of which everything was sent.
    pub(super) fn go_behind(&mut self, record: &ChangeRecord) {
        (self.next, self.effects) = (record.position.sequence + 1, 0);
        self.batch.pop_front();
    }
}

/// What comes next.
enum Next {
    Change(Arc<ChangeRecord>, usize),
    /// Nothing. A cookie that the consumer was not told yet.
    Drained(Option<String>),
}

impl Sync {
    /// The superiors of an entry whose changes the consumer has not been told in their turn, with their CSNs, the
    /// closest first.
    fn unknown_superiors(
        &self,
        snapshot: &HeldSnapshot,
        id: EntryId,
    ) -> Result<Vec<(EntryId, Option<Csn>)>, OperationError> {
        let view = snapshot.view();
        let mut unknown = Vec::new();
        let mut below = view.record(id)?;
        while let Some(record) = below.take() {
            let (_, above) = place::closest(view, &record)?;
            let Some(above) = above else { break };
            let csn = above.entry_csn()?;
            if csn.is_some_and(|csn| !self.knows(csn)) {
                unknown.push((above.id, csn));
            }
            below = Some(above);
        }
        Ok(unknown)
    }

    /// Whether one message is all that is sent of a change.
    fn is_alone(&self, record: &ChangeRecord) -> bool {
        let mut sent = record.effects.iter().filter(|recorded| recorded.is_told());
        let is_move = |recorded: &RecordedEffect| matches!(recorded.effect, Effect::Rename { .. });
        let first = sent.next();
        if !record.buried.is_empty() {
            return first.is_none() && record.buried.len() == 1 && !self.is_followed_by_slapd();
        }
        sent.next().is_none() && (self.has_everything || !first.is_some_and(is_move))
    }

    fn next_change(&mut self, snapshot: &HeldSnapshot, own: u16) -> Result<Next, OperationError> {
        let view = snapshot.view();
        match (view.locate(&self.base)?, self.base_id) {
            (Location::Entry(id), Some(known)) if id == known => {}
            (_, Some(0) | None) => {}
            // The client is told first that it was deleted.
            _ if self.notices.is_some() => {}
            _ => return Err(SyncRefusal::OtherBase.into()),
        }
        let Some(persisting) = &mut self.persisting else {
            return Err(SyncRefusal::NoProvider.into());
        };
        if let Some(record) = persisting.batch.front() {
            return Ok(Next::Change(Arc::clone(record), persisting.effects));
        }
        let state = view.log_state()?;
        if persisting.next > state.last {
            persisting.is_drained = true;
            persisting.ahead.clear();
            if self.notices.is_some() && !self.is_subordinate && is_missing(view, &self.base)? {
                return Err(SearchRefusal::NoSuchBase.into());
            }
            if !self.glued.is_empty() || self.notices.is_some() {
                return Ok(Next::Drained(None));
            }
            let vector = view.context_vector()?.unwrap_or_default();
            let is_news = vector.iter().fold(false, |news, csn| self.known.merge(csn) | news);
            return Ok(Next::Drained(is_news.then(|| self.cookie(own, &vector, None))));
        }
        // The log must have every change that was not sent.
        if state.first.is_none_or(|first| first > persisting.next) {
            return Err(self.falls_behind());
        }
        let changes = persisting.reader.changes(view, persisting.next)?;
        let in_order = |record: &&Arc<ChangeRecord>| record.position.sequence == persisting.next;
        let Some(first) = changes.first().filter(in_order) else {
            return Err(self.falls_behind());
        };
        let first = Arc::clone(first);
        persisting.batch = changes.into();
        Ok(Next::Change(first, 0))
    }
}

/// Whether the base object is not there. The root of all names is always there.
fn is_missing(view: View<'_>, base: &Dn) -> Result<bool, StoreError> {
    Ok(!base.is_root() && !matches!(view.locate(base)?, Location::Entry(_)))
}

pub(super) fn find(snapshot: &HeldSnapshot, uuid: [u8; 16]) -> Result<Option<EntryId>, OperationError> {
    match snapshot.view().entry_of_uuid(&uuid) {
        Ok(found) => Ok(found),
        // Its index is still being built.
        Err(StoreError::Inapplicable(_)) => Err(SyncRefusal::StaleCookie.into()),
        Err(error) => Err(error.into()),
    }
}

/// The entry, if the change is the last one of it.
pub(super) fn after(snapshot: &HeldSnapshot, id: EntryId, csn: Csn) -> Result<Option<Entry>, OperationError> {
    let view = snapshot.view();
    let Some(record) = view.record(id)? else {
        return Ok(None);
    };
    if record.entry_csn()? != Some(csn) {
        return Ok(None);
    }
    Ok(Some(record.to_entry(view.dn(id)?)?))
}
