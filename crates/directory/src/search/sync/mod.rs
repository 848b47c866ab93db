//! Content synchronization (RFC 4533): a search that sends what a consumer lacks, and then each change. A search with
//! notices of changes (`notify.rs`) is one that has no state: it begins with everything or nothing.
//!
//! ```text
//! Begin -> Collect -> Probe -> Gone -> Send -> End -> Persist     what has changed is read from the log
//!       -> Send -> End -> Persist                                 everything, or what is newer than the cookie
//! ```
//!
//! A consumer that persists has a position in the log. There is no queue: what was not sent yet is read from the log
//! when the consumer takes more. If the log no longer has it, the consumer must refresh.
//!
//! Who may see what: an entry is considered as in any search, at the moment when it is sent. Of an entry that has left
//! the content, its name is sent only to who could see it before; others get its UUID at most.

mod advance;
mod answer;
mod asked;
mod begin;
mod below;
mod extent;
mod former;
mod glued;
mod gone;
mod least;
mod notify;
mod persist;
mod recent;
mod refresh;
mod session;
mod shared;

use std::{
    cmp::Reverse,
    collections::{HashMap, VecDeque},
    sync::{Arc, atomic::AtomicU64},
};

use ironbark_ldap_proto::controls::EntryState;
use ironbark_model::{Dn, number_map::NumberMap};
use ironbark_store::{ChangeRecord, ContextVector, Csn, DitScope, EntryId, Subtrees};
use roaring::RoaringTreemap;

pub use self::least::{UNORDERED, first_note as log_first_note};
pub(super) use self::notify::Noticing;
use self::{glued::Glued, recent::Recent};
use super::work::Work;
use crate::{NamingContext, backend::feed::Reader, overlay::SyncProvider, told::SyncContent};

/// The state of a content synchronization.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of the request, of its base or of the consumer"
)]
pub(crate) struct Sync {
    context: Arc<NamingContext>,
    base: Dn,
    scope: DitScope,
    /// The base object, once it was there.
    base_id: Option<EntryId>,
    /// Whether it is glued below the base.
    is_subordinate: bool,
    /// The other databases of the content.
    glued: Glued,
    persists: bool,
    /// Whether the database had no entries when it began.
    is_of_nothing: bool,
    reload_hint: bool,
    provider: SyncProvider,
    /// The request, to be prepared again under another configuration.
    request: Box<[u8]>,
    /// The consumer: its `rid` and server ID.
    consumer: (u16, u16),
    /// The content is a log: its entries have cookies of this server ID within the refresh.
    sends_log: Option<u16>,
    /// The CSNs that the consumer has, or was told.
    known: ContextVector,
    /// Whether the consumer has every entry of the database.
    has_everything: bool,
    /// Whether the rules or its filter may keep entries of its base from the consumer. Not found out unless the
    /// consumer asks for places.
    is_part: bool,
    /// How much of the database the consumer gets, once it has begun.
    content: Option<SyncContent>,
    /// Whether the consumer asks for the places of entries: it is one of several writing servers.
    asks_places: bool,
    /// The same in a log.
    asks_logged_places: bool,
    /// Whether it asks for recent changes of entries, and those of them that the refresh tells.
    asks_recent: bool,
    recent: Option<Recent>,
    /// The work that the refresh, and each change after it, may take.
    allowance: Work,
    phase: Phase,
    refresh: Refresh,
    meeting: Meeting,
    /// The entry that is being sent.
    sending: Option<Sending>,
    /// Changes are told without a state of synchronization.
    notices: Option<Noticing>,
    persisting: Option<Persisting>,
    /// What the result tells: a cookie, and whether deletions were named.
    done: Option<(Option<String>, bool)>,
}

/// Where a synchronization stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Begin,
    /// Reads changes from number `next` on.
    Collect {
        next: u64,
    },
    /// Finds out which of the changed entries belong to the content.
    Probe,
    /// Lists the changed entries that no longer do, from behind this one on.
    List {
        after: EntryId,
    },
    /// Names the entries that no longer do, from this place of the list on.
    Gone {
        next: usize,
    },
    /// Sends entries.
    Send,
    /// Names all entries whose end is remembered, from behind this UUID on.
    Ended {
        after: Option<[u8; 16]>,
    },
    End,
    Persist,
}

/// The work of a refresh.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of the content, or says how far it is"
)]
struct Refresh {
    /// The context vector, and the number of the last change, when it began.
    vector: ContextVector,
    last: u64,
    /// Whether the consumer lacks something.
    has_changes: bool,
    /// Whether the log names the entries that are sent.
    is_from_log: bool,
    /// Whether entries that are not named are gone.
    names_present: bool,
    changed: RoaringTreemap,
    /// The entries below those that have moved, which are changed, too.
    below: Subtrees,
    /// Changed entries that belong to the content.
    matched: RoaringTreemap,
    /// Whether one of the changes was a move.
    has_moves: bool,
    /// Entries with a superior that comes later, and the former ones of this kind, which are being sent.
    deferred: RoaringTreemap,
    again: Option<RoaringTreemap>,
    /// Whether all entries are named whose end is remembered.
    names_ended: bool,
    /// Entries that are gone.
    gone: Vec<([u8; 16], Departure)>,
    /// Effects that were taken up.
    effects: u64,
    /// Whether an entry may have got a name that the consumer has for one that is gone.
    reuses_names: bool,
    /// The least CSN of each server among the entries to be sent.
    oldest: HashMap<u16, Csn>,
    /// Unchanged entries to be named.
    present: Vec<[u8; 16]>,
}

/// How an entry has left the content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Departure {
    /// The CSN of its deletion, if there was one.
    deletion: Option<Csn>,
    /// An older one of the same server that is told instead.
    instead: Option<Csn>,
    turn: Turn,
}

impl Departure {
    /// The CSN that goes with it.
    fn told(&self) -> Option<Csn> {
        self.deletion.or(self.instead)
    }
}

/// The turn of an entry among those whose departures have the same CSN, or none: subordinates come before superiors. A
/// consumer may delete no entry that has subordinates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Turn {
    /// It is there, at this depth.
    Left(Reverse<usize>),
    /// It was there until this effect.
    Ended(u64),
}

/// What is done with an entry that belongs to the content.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Meeting {
    /// It is noted.
    Note,
    /// It is sent, unless the consumer has it; then it is named, if that is wanted.
    Compare,
    /// It is sent.
    Send(EntryState, Option<String>),
}

/// What goes with an entry.
pub(super) struct Sending {
    pub(super) state: EntryState,
    pub(super) uuid: [u8; 16],
    pub(super) cookie: Option<String>,
    /// Its place, if places are told.
    pub(super) place: Option<String>,
    /// Its recent changes, as they are told.
    pub(super) recent: Vec<Vec<u8>>,
}

/// A consumer that stays.
pub(super) struct Follower<'s> {
    /// `rid` and server ID of its cookie.
    pub(super) id: (u16, u16),
    pub(super) context: &'s NamingContext,
    pub(super) base: &'s str,
}

/// The place of a consumer that follows the log.
#[expect(clippy::struct_excessive_bools, reason = "each says how far one part of a change is")]
struct Persisting {
    reader: Reader,
    /// Number of the last change that was considered, for its session.
    told: Arc<AtomicU64>,
    /// Number of the next change.
    next: u64,
    /// Changes that were read.
    batch: VecDeque<Arc<ChangeRecord>>,
    /// Effects of the first of them that were sent.
    effects: usize,
    /// The entries below one that is renamed.
    below: Option<Below>,
    /// Whether the entry of the effect was sent, and only those below it are not.
    has_sent_own: bool,
    /// Up to this change, an entry that does not belong to the content may have belonged to it, whatever its name was:
    /// it may have been below one that was moved out.
    in_doubt_until: u64,
    /// Superiors that were sent before the changes of theirs, with the CSNs that they had then.
    ahead: NumberMap<Option<Csn>>,
    /// Superiors of the entry of the effect whose changes come later.
    later_superiors: usize,
    /// The CSNs of what was sent since the session began, also of what came in a refresh, whose cookie comes later.
    sent: ContextVector,
    /// Whether something was sent of it, without a cookie.
    owes_cookie: bool,
    /// Whether the cookie of the change comes only behind entries below one that is gone.
    withholds_cookie: bool,
    /// Whether everything was sent.
    is_drained: bool,
}

/// What is done with the entries below a renamed one.
struct Below {
    /// Finds them.
    subtrees: Subtrees,
    /// Each after those above it.
    all: Vec<EntryId>,
    /// Those that belong to the content.
    matched: RoaringTreemap,
    stage: Stage,
}

/// Before and after the renamed entry itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Finds them.
    Find,
    /// Finds out which belong to the content.
    Note,
    /// Names the others, from the last of so many on.
    Name(usize),
    /// Sends them, when the renamed entry was sent.
    Send,
}

impl Sync {
    /// Whether the base object may be missing: neither side has anything yet.
    pub(super) fn may_begin_empty(&self) -> bool {
        self.known.is_empty() && self.notices.is_none() && (self.persists || self.is_of_nothing)
    }

    /// Whether a walk over the content finds nothing where the base object is missing. A search with notices ends
    /// with its base object when it has told the changes up to then.
    fn may_miss_base(&self) -> bool {
        let follows_notices = self.notices.is_some() && self.phase == Phase::Persist;
        self.may_begin_empty() || self.is_subordinate || follows_notices
    }

    /// What goes with the entry that is being sent.
    pub(super) fn sending(&self) -> Option<&Sending> {
        self.sending.as_ref()
    }

    /// Whether the consumer has a change.
    fn knows(&self, csn: Csn) -> bool {
        self.known.covers(csn)
    }

    /// Whether the consumer has a change, and everything of it. The CSN of one that this server got without a cookie
    /// says nothing: it may be that of the entry which it removed. That of a revision says nothing either: the
    /// cookie has the change that made it, or [`ChangeRecord::revised_by`] covers that change.
    fn has(&self, record: &ChangeRecord) -> bool {
        let mut csns = record.context_csns().peekable();
        if record.csn.is_revision() {
            return csns.peek().is_some() && csns.chain(record.revised_by).all(|csn| self.knows(csn));
        }
        csns.peek().is_some() && self.knows(record.last_csn())
    }

    /// Whether the consumer has the version of an entry, by its CSN. Whether it has a revision, that does not tell.
    fn has_version(&self, csn: Csn) -> bool {
        !csn.is_revision() && self.knows(csn)
    }

    /// Whether the content is the whole database, but for the filter.
    fn covers_database(&self) -> bool {
        !self.is_glued() && self.scope == DitScope::Subtree && self.context.is_suffix(&self.base)
    }

    /// Whether the content is a database and all that are glued below it, but for the filter.
    fn covers_glued(&self) -> bool {
        self.is_glued() && self.scope == DitScope::Subtree && self.context.is_suffix(&self.base)
    }

    /// Whether entries that move together with a superior may be in the content.
    fn holds_subtrees(&self) -> bool {
        matches!(self.scope, DitScope::Subtree | DitScope::Children)
    }
}
