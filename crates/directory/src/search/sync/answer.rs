//! What a consumer is sent.

use std::sync::Arc;

use ironbark_ldap_proto::{
    MessageId, SyncInfo, Uuids,
    controls::{Control, EntryState, SyncDone},
    encode_sync_info,
    response::sync_info::MOST_UUIDS,
};
use ironbark_store::{ContextVector, Csn, EntryId, Record, StoreError, View};

use super::{Departure, Meeting, Phase, Refresh, Sending, Sync};
use crate::{
    OperationError,
    cookie::SyncCookie,
    place,
    refusal::SyncRefusal,
    search::{
        encode,
        run::{RunLimits, SearchRun, Walked},
        work::Step,
    },
};

/// A CSN makes the value of a `delcsn` and its message longer than an ID alone: so much of them fits in a slice.
const NAMED_AT_ONCE: usize = 64;

impl SearchRun {
    pub(super) fn message(&self) -> MessageId {
        MessageId::new(self.origin.message_id).unwrap_or_default()
    }

    /// Considers an entry that belongs to the content. `true`: it is sent.
    ///
    /// # Errors
    /// The record is damaged.
    pub(in crate::search) fn meets(
        &mut self,
        view: View<'_>,
        record: &Record<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, OperationError> {
        let id = self.message();
        let Some(sync) = self.sync_mut().filter(|sync| sync.notices.is_none()) else {
            return Ok(true);
        };
        if sync.meeting == Meeting::Note {
            sync.refresh.matched.insert(record.id);
            if let Some(csn) = record.entry_csn()?.filter(|csn| !sync.knows(*csn)) {
                let oldest = sync.refresh.oldest.entry(csn.server_id()).or_insert(csn);
                *oldest = csn.min(*oldest);
            }
            return Ok(false);
        }
        if let Some(recent) = &mut sync.recent {
            // What was changed since they were read.
            recent.read(view, usize::MAX)?;
        }
        let Some(uuid) = record.entry_uuid()? else {
            tracing::warn!(target: "sync", "entry {} has no entryUUID and is not synchronized", record.id);
            return Ok(false);
        };
        // slapd adds again what it has deleted meanwhile.
        if sync.phase == Phase::Send
            && sync.has_everything
            && sync.is_followed_by_slapd()
            && sync.refresh.is_from_log
            && record.entry_csn()?.is_some_and(|csn| sync.has_version(csn))
        {
            return Ok(false);
        }
        let (state, cookie) = match &sync.meeting {
            Meeting::Send(state, None) if sync.phase == Phase::Send => (*state, sync.cookie_within(view, record)?),
            Meeting::Send(state, cookie) => (*state, cookie.clone()),
            Meeting::Note | Meeting::Compare => {
                let csn = record.entry_csn()?;
                let has_news = sync.recent.as_ref().is_some_and(|recent| recent.has_news_of(&uuid));
                if csn.is_some_and(|csn| sync.has_version(csn)) && !has_news {
                    sync.name_present(uuid, id, out);
                    return Ok(false);
                }
                (EntryState::Add, sync.cookie_within(view, record)?)
            }
        };
        if sync.waits_for_superior(view, record)? {
            sync.refresh.deferred.insert(record.id);
            return Ok(false);
        }
        let (mut place, mut recent) = (None, Vec::new());
        if sync.tells_places() {
            let vector = view.context_vector()?.unwrap_or_default();
            place = Some(place::text_of(view, record, &vector)?);
            if let Some(told) = &sync.recent {
                recent = told.values(view, &vector, &uuid)?;
            }
        }
        sync.sending = Some(Sending {
            state,
            uuid,
            cookie,
            place,
            recent,
        });
        Ok(true)
    }

    /// Names entries that are gone.
    pub(super) fn name_gone(&mut self, next: usize, step: &mut Step<'_>) -> Walked {
        let (id, own) = (self.message(), step.scratch.directory().server_id());
        let Some(sync) = self.sync_mut() else {
            return Walked::Finish;
        };
        // A deletion goes alone, with its CSN; the others together.
        if next == 0 {
            if sync.names_gone_first() && !sync.asks_places {
                sync.hide_deletions();
            }
            let order = |(_, departure): &([u8; 16], Departure)| (departure.deletion, departure.turn);
            sync.refresh.gone.sort_unstable_by_key(order);
        }
        let covered = sync.covered_by_refresh();
        let rest = sync.refresh.gone.get(next..).unwrap_or_default();
        let mut named = 0;
        while named < NAMED_AT_ONCE
            && let Some((uuid, departure)) = rest.get(named)
        {
            if let Some(csn) = departure.told() {
                let cookie = sync.cookie(own, &covered, Some(csn));
                named += 1;
                encode_gone(step.out, id, Some(&cookie), &[*uuid]);
                continue;
            }
            let together = rest.iter().skip(named).take(MOST_UUIDS);
            let together = together.take_while(|(_, departure)| departure.told().is_none());
            let uuids: Vec<[u8; 16]> = together.map(|(uuid, _)| *uuid).collect();
            named += uuids.len();
            encode_gone(step.out, id, sync.cookie_of_part(own).as_deref(), &uuids);
        }
        if named < rest.len() {
            sync.phase = Phase::Gone { next: next + named };
            return Walked::SliceEnd;
        }
        sync.phase = if sync.names_gone_first() {
            Phase::Send
        } else if sync.refresh.names_ended {
            Phase::Ended { after: None }
        } else {
            Phase::End
        };
        Walked::Through
    }

    /// Names entries whose end is remembered. They are read as they are sent: there may be very many. What ends
    /// meanwhile follows from the log. Who is told places takes them in any order.
    pub(super) fn name_ended(
        &mut self,
        after: Option<[u8; 16]>,
        step: &mut Step<'_>,
    ) -> Result<Walked, OperationError> {
        let (id, own) = (self.message(), step.scratch.directory().server_id());
        let Some(sync) = self.sync_mut() else {
            return Ok(Walked::Finish);
        };
        let context = Arc::clone(&sync.context);
        let Some(snapshot) = step.scratch.take_snapshot(&context)? else {
            return Err(SyncRefusal::NoProvider.into());
        };
        let found = snapshot.view().tombstones(after.as_ref(), NAMED_AT_ONCE);
        step.scratch.keep_snapshot(snapshot);
        let found = found?;
        for (uuid, csn) in &found {
            let cookie = sync.cookie(own, &sync.known, Some(*csn));
            encode_gone(step.out, id, Some(&cookie), &[*uuid]);
        }
        let last = found.last().filter(|_| found.len() == NAMED_AT_ONCE);
        sync.phase = match last {
            Some((uuid, _)) => Phase::Ended { after: Some(*uuid) },
            None => Phase::End,
        };
        Ok(if last.is_some() {
            Walked::SliceEnd
        } else {
            Walked::Through
        })
    }

    /// Ends the refresh. `true`: nothing follows it but the result.
    pub(super) fn end_refresh(&mut self, step: &mut Step<'_>) -> bool {
        let (id, own) = (self.message(), step.scratch.directory().server_id());
        let Some(sync) = self.sync_mut() else { return true };
        if sync.notices.is_some() {
            self.follow();
            return false;
        }
        sync.name_rest(id, step.out);
        let refresh = std::mem::take(&mut sync.refresh);
        sync.recent = None;
        let cookie = refresh.has_changes.then(|| sync.cookie(own, &refresh.vector, None));
        if !sync.persists {
            sync.done = Some((cookie, !refresh.names_present));
            return true;
        }
        let cookie = cookie.as_deref().map(str::as_bytes);
        let info = if refresh.names_present {
            SyncInfo::RefreshPresent { cookie, done: true }
        } else {
            SyncInfo::RefreshDelete { cookie, done: true }
        };
        encode_sync_info(step.out, id, &info);
        for csn in refresh.vector.iter() {
            sync.known.merge(csn);
        }
        sync.refresh.last = refresh.last;
        self.follow();
        false
    }

    /// Goes on with the changes behind the refresh.
    fn follow(&mut self) {
        if let Some(sync) = self.sync_mut() {
            sync.phase = Phase::Persist;
            let _: Result<(), ()> = sync.for_each_member(|sync| {
                sync.follow_from(sync.refresh.last + 1);
                Ok(())
            });
        }
        self.begin_persisting();
        self.show_places();
    }

    /// From here on, changes are sent as they come, without limits of size or time.
    pub(super) fn begin_persisting(&mut self) {
        self.limits = RunLimits::default();
    }

    /// Tells that an entry is gone, of which the consumer may know only the UUID.
    pub(super) fn send_gone(&self, uuid: [u8; 16], cookie: Option<&str>, out: &mut Vec<u8>) {
        encode_gone(out, self.message(), cookie, &[uuid]);
    }

    /// Sends a new cookie.
    pub(super) fn send_cookie(&self, cookie: &str, out: &mut Vec<u8>) {
        encode_sync_info(out, self.message(), &SyncInfo::NewCookie(cookie.as_bytes()));
    }

    /// Sends the name of an entry that the consumer could see before, and that is gone.
    pub(super) fn send_departed(
        &mut self,
        entry: &crate::access::VisibleEntry<'_>,
        uuid: [u8; 16],
        cookie: Option<String>,
        out: &mut Vec<u8>,
    ) {
        let sending = Sending {
            state: EntryState::Delete,
            uuid,
            cookie,
            place: None,
            recent: Vec::new(),
        };
        encode::departed(self, entry, &sending, out);
    }
}

impl Sync {
    /// A cookie of this server for the consumer.
    pub(super) fn cookie(&self, own: u16, csns: &ContextVector, deletion: Option<Csn>) -> String {
        let cookie = SyncCookie {
            rid: self.consumer.0,
            sid: (own != 0).then_some(own),
            csns: csns.clone(),
            deletion,
            is_part: self.tells_part(),
        };
        cookie.text()
    }

    /// What goes with an entry that is gone, if nothing else is to be told.
    pub(super) fn cookie_of_part(&self, own: u16) -> Option<String> {
        self.tells_part()
            .then(|| self.cookie(own, &ContextVector::default(), None))
    }

    /// Whether the consumer is told that it has a part. Then only what is named with the CSN of its deletion is
    /// deleted; the rest may only be out of its sight.
    pub(super) fn tells_part(&self) -> bool {
        self.asks_places && self.is_part
    }

    /// The cookie of an entry within a refresh. A log is sent in the order in which it was written, so its consumer has
    /// every change up to each entry, unless that came with a refresh.
    fn cookie_within(&self, view: View<'_>, record: &Record<'_>) -> Result<Option<String>, StoreError> {
        let Some(own) = self.sends_log.filter(|_| !Self::is_unordered(view, record)) else {
            return Ok(None);
        };
        let csn = record.entry_csn()?;
        Ok(csn.map(|csn| self.cookie(own, &std::iter::once(csn).collect(), None)))
    }

    /// The CSNs that go with a delete in a refresh. slapd keeps an entry whose version they do not cover. It may have
    /// got from others what is newer than its cookie, and it takes nothing else from them.
    fn covered_by_refresh(&self) -> ContextVector {
        let mut covered = self.known.clone();
        if self.is_followed_by_slapd() {
            self.refresh.vector.iter().for_each(|csn| _ = covered.merge(csn));
        }
        covered
    }

    /// Whether the consumer takes writes itself and is no server of this kind: slapd.
    pub(super) fn is_followed_by_slapd(&self) -> bool {
        self.consumer.1 != 0 && !self.asks_places && self.sends_log.is_none() && !self.may_be_log()
    }

    /// Whether places are told: the consumer asks for them, and has everything.
    pub(super) fn tells_places(&self) -> bool {
        self.asks_places && self.has_everything
    }

    /// Whether a superior of an entry comes later in this refresh. The entry is sent when it has come. A superior may
    /// have got the name that another entry still has at the consumer, and what is below it must not come there.
    fn waits_for_superior(&self, view: View<'_>, record: &Record<'_>) -> Result<bool, StoreError> {
        if self.phase != Phase::Send {
            return Ok(false);
        }
        let may_have_moved = self.refresh.has_moves || !self.refresh.is_from_log;
        if self.has_everything {
            // A superior that is not sent itself has another name by now if one above it has moved, and that one may
            // have been below this entry. A consumer without a cookie may have entries of a refresh that did not end.
            let (_, mut closest) = place::closest(view, record)?;
            while let Some(above) = closest {
                if self.comes_after(above.id, record.id) {
                    return Ok(true);
                }
                if !may_have_moved {
                    break;
                }
                (_, closest) = place::closest(view, &above)?;
            }
            return Ok(false);
        }
        if !may_have_moved || !self.holds_subtrees() {
            return Ok(false);
        }
        let mut above = record.parent();
        while above != 0 {
            if self.comes_after(above, record.id) {
                return Ok(true);
            }
            above = view.parent(above)?.unwrap_or(0);
        }
        Ok(false)
    }

    /// Whether the entry `above` comes after the entry `id`.
    fn comes_after(&self, above: EntryId, id: EntryId) -> bool {
        let refresh = &self.refresh;
        let comes = match &refresh.again {
            Some(again) => again.contains(above),
            None => !refresh.is_from_log || refresh.matched.contains(above),
        };
        comes && above > id || refresh.deferred.contains(above)
    }

    /// Leaves out for slapd the CSNs of deletions that are newer than an entry which comes after them. To one that
    /// takes writes, a CSN of the same server that it has stands in for them: it would take the first CSN of its
    /// cookie, and not tell that server of the delete. Others would take the delete for known.
    fn hide_deletions(&mut self) {
        let is_writer = self.is_followed_by_slapd();
        let Refresh { gone, oldest, .. } = &mut self.refresh;
        for (_, departure) in gone {
            let Some(csn) = departure.deletion else { continue };
            if oldest.get(&csn.server_id()).is_some_and(|oldest| csn >= *oldest) {
                departure.deletion = None;
                departure.instead = self.known.of_server(csn.server_id()).filter(|_| is_writer);
            }
        }
    }

    /// Notes an entry that is still as the consumer has it. They are named together.
    fn name_present(&mut self, uuid: [u8; 16], id: MessageId, out: &mut Vec<u8>) {
        if !self.refresh.names_present {
            return;
        }
        self.refresh.present.push(uuid);
        if self.refresh.present.len() >= MOST_UUIDS {
            self.name_rest(id, out);
        }
    }

    fn name_rest(&mut self, id: MessageId, out: &mut Vec<u8>) {
        if self.refresh.present.is_empty() {
            return;
        }
        let info = SyncInfo::IdSet {
            cookie: None,
            deletes: false,
            uuids: Uuids::Plain(&self.refresh.present),
        };
        encode_sync_info(out, id, &info);
        self.refresh.present.clear();
    }

    /// The control of a successful result.
    pub(in crate::search) fn done_control(&self) -> Option<Control<SyncDone<'_>>> {
        let (cookie, refresh_deletes) = self.done.as_ref()?;
        Some(Control::optional(SyncDone {
            cookie: cookie.as_deref().map(str::as_bytes),
            refresh_deletes: *refresh_deletes,
        }))
    }
}

fn encode_gone(out: &mut Vec<u8>, id: MessageId, cookie: Option<&str>, uuids: &[[u8; 16]]) {
    let info = SyncInfo::IdSet {
        cookie: cookie.map(str::as_bytes),
        deletes: true,
        uuids: Uuids::Plain(uuids),
    };
    encode_sync_info(out, id, &info);
}
