//! What comes from a provider, and what became of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ironbark_store::{Csn, EntryId, change::TextAttribute};

use super::{log_place::LogStep, logged::LoggedChange, mapping::ReplicaMapping, own::OwnChanges};
use crate::request::stop::Sequence;

/// What a provider has sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Incoming {
    /// The entry as it is now (RFC 4533 §2.2: state add, modify, or present with attributes).
    Entry(ReplicatedEntry),
    /// The entry of this UUID is gone.
    Delete {
        /// Its `entryUUID`.
        uuid: [u8; 16],
    },
    /// A change of an entry, from the provider's log.
    Logged(LoggedChange),
    /// The provider has these entries although it has heard of their deletes. They are deleted with a new CSN, so that
    /// it hears of that again.
    Contradicted(Vec<[u8; 16]>),
    /// Nothing but the cookie.
    Nothing,
    /// Nothing but the cookie: a refresh has come to its end, and all of it is here.
    EndOfRefresh,
}

/// An entry as a provider has sent it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplicatedEntry {
    /// Its UUID in the Sync State control.
    pub uuid: [u8; 16],
    /// Its name at the provider.
    pub dn: Box<str>,
    /// Its attributes, operational ones included.
    pub attributes: Vec<TextAttribute>,
}

/// One message of a provider, for [`replicate`](crate::replicate).
#[derive(Clone, Debug)]
pub struct Replicated {
    /// The message.
    pub incoming: Incoming,
    /// ID of the server that sent it; 0: not known.
    pub via: u16,
    /// CSN of the change, if the cookie of the message told one: in the persist phase, and for deletes. `None` during a
    /// refresh: then the context vector does not say whether the change was made here.
    pub csn: Option<Csn>,
    /// Whether it is part of a refresh: then its end will tell what the provider knows.
    pub in_refresh: bool,
    /// CSNs that the context vector takes in, in the same transaction.
    pub cookie: Vec<Csn>,
    /// What the message does to the place at a provider without CSNs.
    pub step: Option<LogStep>,
    /// The consumer's settings.
    pub mapping: Arc<ReplicaMapping>,
    /// The messages that it belongs to, and its number among them.
    pub session: (ReplicaSession, u64),
}

/// The messages of one search at a provider. None of them is executed after one that was refused: its cookie would
/// cover what was not applied.
#[derive(Clone, Debug)]
pub struct ReplicaSession {
    order: Sequence,
    /// Changes of this server that the provider lacked, as far as they were looked for.
    own: Arc<Mutex<OwnChanges>>,
}

impl Default for ReplicaSession {
    fn default() -> Self {
        Self {
            order: Sequence::kept(),
            own: Arc::default(),
        }
    }
}

impl Replicated {
    /// The message was refused.
    pub(super) fn refuse(&self) {
        let (session, number) = &self.session;
        session.order.refuse(*number);
    }

    /// Changes of this server that the provider lacked, as far as the session has looked for them.
    pub(super) fn own_changes(&self) -> MutexGuard<'_, OwnChanges> {
        let (session, _) = &self.session;
        session.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A change of the same session that was told with an entry.
    pub(super) fn told_with_it(&self, csn: Csn) -> Self {
        Self {
            incoming: Incoming::Nothing,
            csn: Some(csn),
            cookie: Vec::new(),
            step: None,
            ..self.clone()
        }
    }

    /// Whether a message before it was refused.
    pub(super) fn comes_after_refusal(&self) -> bool {
        let (session, number) = &self.session;
        session.order.has_ended_before(*number)
    }
}

impl ReplicatedEntry {
    /// Octets of its name and values.
    pub fn octets(&self) -> usize {
        let of_attribute = |(name, values): &TextAttribute| name.len() + values.iter().map(Vec::len).sum::<usize>();
        self.dn.len() + self.attributes.iter().map(of_attribute).sum::<usize>()
    }
}

impl Incoming {
    /// Octets of its names and values.
    pub fn octets(&self) -> usize {
        match self {
            Self::Entry(entry) => entry.octets(),
            Self::Logged(change) => change.octets(),
            Self::Contradicted(uuids) => uuids.len() * 16,
            Self::Delete { .. } | Self::Nothing | Self::EndOfRefresh => 0,
        }
    }
}

/// What became of a message, after its commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplicaOutcome {
    /// What was done, or why nothing was.
    pub kind: OutcomeKind,
    /// The entry, if it is here (for a delete: if it was). It counts as present (RFC 4533 §3.3.2).
    pub id: Option<EntryId>,
    /// `entryUUID` of an entry that is sent in a refresh although it was deleted here.
    pub tombstoned: Option<[u8; 16]>,
    /// Other entries that were made anew, as a name had to become free for them: their former IDs and the new ones.
    pub remade: Vec<(EntryId, EntryId)>,
    /// Whether another entry had to leave its name, and took with it what is below. Some of that may belong to the
    /// entry that has the name now: a provider that does not send superiors first must send it again.
    pub has_displaced: bool,
}

/// What was done with a message. Its cookie is taken in whatever it was.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OutcomeKind {
    /// The entry is new.
    Added,
    /// Attributes of the entry were changed.
    Modified,
    /// The entry has another name, perhaps other attributes as well.
    Renamed,
    /// The entry was deleted. If it has subordinates, glue took its place.
    Deleted,
    /// The entry is here as it was sent; or there is nothing to delete.
    Same,
    /// The entry that is here is newer.
    Older,
    /// The context vector says that the change was made here before.
    Covered,
    /// The entry was deleted, which is final.
    Tombstoned,
    /// A newer entry has its name.
    Lost,
    /// There was nothing but the cookie.
    Noted,
}

impl From<OutcomeKind> for ReplicaOutcome {
    fn from(kind: OutcomeKind) -> Self {
        Self {
            kind,
            id: None,
            tombstoned: None,
            remade: Vec::new(),
            has_displaced: false,
        }
    }
}

impl OutcomeKind {
    /// The outcome for an entry.
    pub(super) fn of(self, id: EntryId) -> ReplicaOutcome {
        ReplicaOutcome {
            id: Some(id),
            ..self.into()
        }
    }
}
