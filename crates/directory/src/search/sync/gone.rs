//! The cookies of entries that are gone: deleted, or out of the content.

use ironbark_ldap_proto::controls::EntryState;
use ironbark_store::{ChangeRecord, ContextVector, Csn};

use super::{Sending, Sync, refresh::deletion_csn};
use crate::search::{encode, run::SearchRun};

/// What goes with an entry that is gone by a change.
pub(super) struct CookiesOfGone {
    pub(super) deleted: Option<String>,
    pub(super) departed: Option<String>,
}

impl SearchRun {
    /// The cookie of a delete that is told by its change.
    pub(super) fn cookie_of_delete(
        &self,
        record: &ChangeRecord,
        csn: Csn,
        is_alone: bool,
        gone: &CookiesOfGone,
    ) -> Option<String> {
        self.own_cookie(record, csn, is_alone).or_else(|| gone.deleted.clone())
    }

    /// The cookie of a delete that is not the first one of its change, and has a CSN of its own. Without a cookie of
    /// the change itself, slapd is told CSNs that cover its version of the entry, or it would keep it; and a CSN of the
    /// server that has deleted the entry, which it does not tell. One that it does not have would claim what comes
    /// before it.
    fn own_cookie(&self, record: &ChangeRecord, csn: Csn, is_alone: bool) -> Option<String> {
        let sync = self.sync().filter(|sync| !sync.is_glued())?;
        let told: ContextVector = record.context_csns().collect();
        if sync.is_followed_by_slapd() && (!is_alone || told.is_empty()) {
            let sent = sync.persisting.iter().flat_map(|persisting| persisting.sent.iter());
            let all = sync.known.iter().chain(sent).chain(told.iter()).chain([csn]);
            let known = sync.known.of_server(csn.server_id());
            let deletion = if told.covers(csn) { Some(csn) } else { known };
            return Some(sync.cookie(csn.server_id(), &all.collect(), deletion));
        }
        if csn == record.csn {
            return None;
        }
        Some(sync.cookie(csn.server_id(), &sync.known, Some(csn)))
    }
}

impl SearchRun {
    /// Tells slapd that an entry is gone that was deleted before, and came again. slapd passes over a set of UUIDs if
    /// its version of the entry is of a server whose CSN is not in the cookie of the set. It deletes by an entry with
    /// the state "delete" in any case, whatever its name is. `false`: the consumer is another one, or the CSN of the
    /// delete would claim changes that it was not sent.
    pub(super) fn send_burial(&self, record: &ChangeRecord, (uuid, csn): ([u8; 16], Csn), out: &mut Vec<u8>) -> bool {
        let Some(sync) = self
            .sync()
            .filter(|sync| sync.is_followed_by_slapd() && !sync.is_glued())
        else {
            return false;
        };
        let told: ContextVector = record.context_csns().collect();
        if !told.covers(csn) {
            return false;
        }
        let cookie = sync.cookie(csn.server_id(), &std::iter::once(csn).collect(), None);
        let sending = Sending {
            state: EntryState::Delete,
            uuid,
            cookie: Some(cookie),
            place: None,
            recent: Vec::new(),
        };
        encode::departed_as(self.message(), &sync.base, &sending, out);
        true
    }
}

impl Sync {
    /// The cookies that go with entries that are gone by a change; `cookie` is that of the change, if one message is
    /// all that is sent of it. A server that provides what it gets must know the CSN of a delete before the cookie of
    /// the change comes. Who is told that it has a part tells deletes from departures by that CSN.
    pub(super) fn cookies_of_gone(&self, own: u16, record: &ChangeRecord, cookie: Option<&String>) -> CookiesOfGone {
        let deletion = deletion_csn(record);
        if self.tells_part() {
            let known = if cookie.is_some() {
                record.context_csns().collect()
            } else {
                self.known.clone()
            };
            return CookiesOfGone {
                deleted: deletion.map(|csn| self.cookie(own, &known, Some(csn))),
                departed: cookie.cloned().or_else(|| self.cookie_of_part(own)),
            };
        }
        let deleted = match cookie {
            None if !self.is_glued() => deletion.map(|csn| self.cookie(own, &self.known, Some(csn))),
            cookie => cookie.cloned(),
        };
        CookiesOfGone {
            departed: deleted.clone(),
            deleted,
        }
    }
}
