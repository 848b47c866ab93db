//! The cookies of entries that are gone: deleted, or out of the content.

use ironbark_store::{ChangeRecord, Csn};

use super::{Sync, refresh::deletion_csn};
use crate::search::run::SearchRun;

/// What goes with an entry that is gone by a change.
pub(super) struct CookiesOfGone {
    pub(super) deleted: Option<String>,
    pub(super) departed: Option<String>,
}

impl SearchRun {
    /// The cookie of a delete that is not the first one of its change, and has a CSN of its own.
    pub(super) fn own_cookie(&self, record: &ChangeRecord, csn: Csn) -> Option<String> {
        let sync = self.sync().filter(|sync| csn != record.csn && !sync.is_glued())?;
        Some(sync.cookie(csn.server_id(), &sync.known, Some(csn)))
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
