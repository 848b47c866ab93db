//! What a provider sends, owned.

use ironbark_ldap_proto::{SyncInfo, controls::EntryState};
use ironbark_model::ResultCode;

/// A message of a search with the Sync Request control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
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
