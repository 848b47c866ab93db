//! What a provider sends, owned.

use std::fmt;

use ironbark_client::{ReceivedResult, SearchEntry, SearchItem};
use ironbark_ldap_proto::{
    IntermediateResponse, SyncInfo,
    controls::{EntryState, SyncDone, SyncState, sync},
};
use ironbark_model::ResultCode;
use uuid::Uuid;

use crate::Violation;

/// A message of a search with the Sync Request control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SyncMessage {
    /// An entry with its Sync State control (RFC 4533 §2.3).
    Entry {
        /// What has become of it.
        state: EntryState,
        /// Its `entryUUID`.
        uuid: [u8; 16],
        /// A new cookie.
        cookie: Option<Vec<u8>>,
        /// Its name.
        dn: String,
        /// Attribute descriptions and values; none if it is gone or unchanged.
        attributes: Vec<(Box<str>, Vec<Vec<u8>>)>,
    },
    /// An entry without that control.
    PlainEntry,
    /// A continuation reference. A provider has none for a consumer that asks with `ManageDsaIT`.
    Reference,
    /// A Sync Info message (RFC 4533 §2.5).
    Info(Info),
    /// The result of the search.
    Done {
        /// Result code.
        code: ResultCode,
        /// Diagnostic message.
        text: String,
        /// The Sync Done control (RFC 4533 §2.4): a cookie, and whether deleted entries were named.
        done: Option<(Option<Vec<u8>>, bool)>,
    },
}

/// A Sync Info message, owned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Info {
    /// A new cookie.
    NewCookie(Vec<u8>),
    /// The end of a phase that has named entries.
    PhaseEnd {
        /// A new cookie.
        cookie: Option<Vec<u8>>,
        /// Whether entries that were not named are gone.
        names_present: bool,
        /// Whether the refresh ends here.
        done: bool,
    },
    /// Entries by UUID.
    IdSet {
        /// A new cookie.
        cookie: Option<Vec<u8>>,
        /// Whether they are gone; otherwise they are there.
        deletes: bool,
        /// The UUIDs.
        uuids: Vec<[u8; 16]>,
    },
}

impl SyncMessage {
    /// The new cookie in it.
    pub fn cookie(&self) -> Option<&[u8]> {
        match self {
            Self::Entry { cookie, .. } => cookie.as_deref(),
            Self::Info(Info::NewCookie(cookie)) => Some(cookie),
            Self::Info(Info::PhaseEnd { cookie, .. } | Info::IdSet { cookie, .. }) => cookie.as_deref(),
            Self::Done { done, .. } => done.as_ref().and_then(|(cookie, _)| cookie.as_deref()),
            Self::PlainEntry | Self::Reference => None,
        }
    }

    /// Reads a part of the answer to the search. `None`: an intermediate response of another kind.
    ///
    /// # Errors
    /// [`Violation::Malformed`].
    pub fn of_item(item: SearchItem) -> Result<Option<Self>, Violation> {
        Ok(Some(match item {
            SearchItem::Entry(entry) => Self::of_entry(entry)?,
            SearchItem::Reference { .. } => Self::Reference,
            SearchItem::Intermediate { name, value, .. } => {
                let response = IntermediateResponse {
                    name: name.as_ref().map(String::as_bytes),
                    value: value.as_deref(),
                };
                let info = SyncInfo::of(&response).map_err(|fault| Violation::Malformed(fault.to_string()))?;
                let Some(info) = info else { return Ok(None) };
                Self::Info(info.into())
            }
        }))
    }

    /// Reads the result of the search.
    ///
    /// # Errors
    /// [`Violation::Malformed`].
    pub fn of_result(result: &ReceivedResult) -> Result<Self, Violation> {
        let done = match result.control(sync::DONE_OID) {
            None => None,
            Some(value) => {
                let done = SyncDone::decode_value(value).map_err(|fault| Violation::Malformed(fault.to_string()))?;
                Some((done.cookie.map(<[u8]>::to_vec), done.refresh_deletes))
            }
        };
        Ok(Self::Done {
            code: result.code,
            text: result.diagnostic.clone(),
            done,
        })
    }

    fn of_entry(entry: SearchEntry) -> Result<Self, Violation> {
        let Some(value) = entry.control(sync::STATE_OID) else {
            return Ok(Self::PlainEntry);
        };
        let state = SyncState::decode_value(value).map_err(|fault| Violation::Malformed(fault.to_string()))?;
        let (state, uuid, cookie) = (state.state, state.uuid, state.cookie.map(<[u8]>::to_vec));
        let attributes = entry.attributes.into_iter();
        Ok(Self::Entry {
            state,
            uuid,
            cookie,
            dn: entry.dn,
            attributes: attributes.map(|(name, values)| (name.into(), values)).collect(),
        })
    }
}

/// For the log (`loglevel sync`): what it is, whom it is about, and its cookie.
impl fmt::Display for SyncMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry { state, uuid, dn, .. } => {
                write!(f, "{state:?} \"{dn}\" {}", Uuid::from_bytes(*uuid))?;
            }
            Self::PlainEntry => f.write_str("entry without state")?,
            Self::Reference => f.write_str("reference")?,
            Self::Info(Info::NewCookie(_)) => f.write_str("new cookie")?,
            Self::Info(Info::PhaseEnd {
                names_present, done, ..
            }) => {
                let phase = if *names_present { "present" } else { "delete" };
                write!(f, "end of the {phase} phase, refresh done={done}")?;
            }
            Self::Info(Info::IdSet { deletes, uuids, .. }) => {
                let what = if *deletes { "gone" } else { "present" };
                write!(f, "{} entries are {what}", uuids.len())?;
            }
            Self::Done { code, text, .. } => write!(f, "result {} {text}", code.0)?,
        }
        match self.cookie() {
            Some(cookie) => write!(f, " cookie={}", String::from_utf8_lossy(cookie)),
            None => Ok(()),
        }
    }
}

impl From<SyncInfo<'_>> for Info {
    fn from(info: SyncInfo<'_>) -> Self {
        let owned = |cookie: Option<&[u8]>| cookie.map(<[u8]>::to_vec);
        let end = |cookie: Option<&[u8]>, names_present, done| Self::PhaseEnd {
            cookie: owned(cookie),
            names_present,
            done,
        };
        match info {
            SyncInfo::NewCookie(cookie) => Self::NewCookie(cookie.to_vec()),
            SyncInfo::RefreshDelete { cookie, done } => end(cookie, false, done),
            SyncInfo::RefreshPresent { cookie, done } => end(cookie, true, done),
            SyncInfo::IdSet { cookie, deletes, uuids } => Self::IdSet {
                cookie: owned(cookie),
                deletes,
                uuids: uuids.iter().collect(),
            },
        }
    }
}
