//! The protocol of a consumer: its state, and how a search begins. What the messages of the provider mean stands in
//! `messages.rs`.
//!
//! Rules that keep a consumer from losing anything:
//! - A cookie is taken in with the change that it came with, or with the end of the refresh; never before.
//! - Entries are deleted because they were not named only after a refresh with its well-formed end.
//! - A part of the content (`part=1` in cookies) deletes only what is named with the CSN of its deletion.
//! - A message that has no meaning in its phase ends the search; nothing of it is applied.

mod messages;

use ironbark_directory::SyncCookie;
use ironbark_model::ResultCode;
use ironbark_store::{ContextVector, Csn};

use crate::LogEntry;

/// Why a provider's message cannot be taken. The search must be abandoned.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    /// RFC 4533 §2.3.
    #[error("an entry came without Sync State control")]
    NoState,
    /// RFC 4533 §3.3.1: there is one end.
    #[error("the refresh ended twice")]
    SecondEnd,
    /// A present entry after the refresh means nothing.
    #[error("an unchanged entry came after the refresh")]
    PresentAfterRefresh,
    /// The search ended with success, but without Sync Done control.
    #[error("the refresh ended without Sync Done control")]
    NoDone,
    /// The cookie is not one of OpenLDAP's form.
    #[error("the cookie \"{0}\" has an unknown form")]
    UnknownCookie(String),
    /// A control or a Sync Info message cannot be read.
    #[error("{0}")]
    Malformed(String),
    /// There is no search.
    #[error("a message came without a search")]
    NoSearch,
}

/// A step that the consumer takes in its database. Steps are taken in the order in which they come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConsumerAction {
    /// Stores the entry as it is here, whatever it was.
    Put {
        /// Its `entryUUID`.
        uuid: [u8; 16],
        /// Its name.
        dn: String,
        /// Attribute descriptions and values.
        attributes: Vec<(Box<str>, Vec<Vec<u8>>)>,
        /// The CSN of the change, if it came after the refresh and its cookie told it.
        csn: Option<Csn>,
        /// CSNs that the context vector takes in with it.
        cookie: Vec<Csn>,
    },
    /// Deletes the entry, if it is there.
    Delete {
        /// Its `entryUUID`.
        uuid: [u8; 16],
        /// The CSN of the deletion, if the provider told it.
        csn: Option<Csn>,
        /// CSNs that the context vector takes in with it.
        cookie: Vec<Csn>,
    },
    /// Makes a change that the provider's log tells of.
    Make {
        /// What was done.
        change: Box<LogEntry>,
        /// Its CSN.
        csn: Csn,
        /// CSNs that the context vector takes in with it.
        cookie: Vec<Csn>,
    },
    /// Remembers until the end of the refresh that these entries are there.
    Remember(Vec<[u8; 16]>),
    /// Takes in CSNs. All changes up to them were told.
    TakeIn(Vec<Csn>),
    /// Ends the refresh: deletes what was neither stored nor remembered in it, if that is so; then takes in the CSNs.
    EndRefresh {
        /// Whether entries that were not named are gone.
        deletes_others: bool,
        /// What the provider has.
        vector: ContextVector,
    },
    /// The search has ended; another one is to begin.
    Search(Again),
}

/// When another search begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Again {
    /// After the interval: the refresh was completed.
    AfterInterval,
    /// At once: the provider wants a refresh.
    AtOnce,
    /// At once: the provider's log does not reach back so far, as its text says. A refresh of the content follows.
    FallBack(String),
    /// At once, in the provider's log: the refresh was completed.
    InLog,
    /// After the next wait of the list of retries: result code and text.
    AfterRetry(ResultCode, String),
}

/// A consumer of one provider.
#[derive(Clone, Debug)]
pub struct Machine {
    rid: u16,
    /// The own server ID, if the database has several providers.
    sid: Option<u16>,
    persists: bool,
    log: LogUse,
    phase: Phase,
    /// The provider does not know the cookie at all: the next refresh brings everything.
    begins_anew: bool,
    /// `slapd -c`: what the provider is told instead of what the database has, until a refresh is completed.
    given: Option<SyncCookie>,
    /// The server ID of the provider, as its last cookie said; 0: not known.
    provider: u16,
    /// Whether the provider has said in this search that it may keep entries from this consumer.
    has_part: bool,
}

/// What the provider's log has to do with a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LogUse {
    /// The line does not name one.
    None,
    /// It is followed once the content is here.
    Later,
    /// The content is brought up to date.
    FallenBack,
    /// The content was brought up to date: the search that begins next looks at the log, also if the provider has no
    /// content yet.
    Next,
    /// The search looks at it.
    Now,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// There is no search.
    Idle,
    Refresh {
        /// The search was sent without a cookie: there was none, or the provider did not know it.
        is_whole: bool,
        /// A phase has ended that named all entries that are still there.
        has_named: bool,
    },
    Persist,
}

/// A search as it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Begin {
    /// Whether it looks at the provider's log.
    pub in_log: bool,
    /// Whether changes are to follow the refresh.
    pub persists: bool,
    /// The cookie to be sent.
    pub cookie: String,
}

impl Machine {
    /// A consumer with this `rid`, and the server ID of its server if the database has several providers.
    pub fn new(rid: u16, sid: Option<u16>, persists: bool) -> Self {
        Self {
            rid,
            sid: sid.filter(|sid| *sid != 0),
            persists,
            log: LogUse::None,
            phase: Phase::Idle,
            begins_anew: false,
            given: None,
            provider: 0,
            has_part: false,
        }
    }

    /// The same for a consumer that follows the provider's log once the content is here (`syncdata=accesslog`).
    #[must_use]
    pub fn with_log(self) -> Self {
        Self {
            log: LogUse::Later,
            ..self
        }
    }

    /// The same for a consumer that tells the provider this cookie until a refresh is completed. Without a CSN
    /// everything is sent.
    #[must_use]
    pub fn with_cookie(self, given: Option<SyncCookie>) -> Self {
        Self { given, ..self }
    }

    /// Whether the next search begins with the cookie of [`Self::with_cookie`].
    pub fn has_given_cookie(&self) -> bool {
        self.given.is_some()
    }

    /// The log has a gap: the next search is a refresh of all content.
    pub fn fall_back(&mut self) {
        (self.log, self.begins_anew) = (LogUse::FallenBack, true);
    }

    /// Begins a search. `known`: the context vector of the database.
    pub fn begin(&mut self, known: &ContextVector) -> Begin {
        let known = self.given.as_ref().map_or(known, |given| &given.csns);
        self.log = match self.log {
            LogUse::Later | LogUse::Now if known.is_empty() => LogUse::FallenBack,
            LogUse::Later | LogUse::Next => LogUse::Now,
            other => other,
        };
        // Without a cookie everything comes, and the provider thinks that there is nothing here. But a refresh that was
        // broken off may have left entries.
        let is_whole = std::mem::take(&mut self.begins_anew) || known.is_empty();
        self.has_part = false;
        self.phase = Phase::Refresh {
            is_whole,
            has_named: false,
        };
        let cookie = SyncCookie {
            rid: self.rid,
            sid: self.given.as_ref().and_then(|given| given.sid).or(self.sid),
            csns: if is_whole {
                ContextVector::default()
            } else {
                known.clone()
            },
            deletion: None,
            is_part: false,
        };
        Begin {
            in_log: self.is_in_log(),
            persists: self.persists && self.log != LogUse::FallenBack,
            cookie: cookie.text(),
        }
    }

    fn is_in_log(&self) -> bool {
        self.log == LogUse::Now
    }

    /// The connection is lost, or the search was given up.
    pub fn stop(&mut self) {
        self.phase = Phase::Idle;
    }

    /// Whether changes are followed: the refresh was completed.
    pub fn follows(&self) -> bool {
        self.phase == Phase::Persist
    }

    /// Whether the provider, a server of our kind, has said that it may keep entries from this consumer, which is one
    /// of several writing servers. Then what it does not name may exist, and stays here.
    pub fn has_part(&self) -> bool {
        self.has_part
    }

    /// The server ID of the provider, as its cookies say; 0: not known.
    pub fn provider(&self) -> u16 {
        self.provider
    }
}

#[cfg(test)]
mod tests;
