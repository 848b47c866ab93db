//! Content synchronization (RFC 4533): the request, what comes with each entry, and what comes with the result.
//! Messages between the entries are in [`crate::response::sync_info`].

use ironbark_ber::{BerError, ErrorKind, Reader, Writer, tags};

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault};

/// OID of the Sync State control (RFC 4533 §2.3).
pub const STATE_OID: &str = "1.3.6.1.4.1.4203.1.9.1.2";
/// OID of the Sync Done control (RFC 4533 §2.4).
pub const DONE_OID: &str = "1.3.6.1.4.1.4203.1.9.1.3";

/// Sync Request (RFC 4533 §2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SyncRequest<'a> {
    /// Whether changes follow the refresh.
    pub persists: bool,
    /// What the server gave with the content that the client has.
    pub cookie: Option<&'a [u8]>,
    /// FALSE: where the server cannot tell what has changed, it is to refuse with `e-syncRefreshRequired`.
    pub reload_hint: bool,
}

/// Sync State (RFC 4533 §2.3): what has become of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SyncState<'a> {
    /// What.
    pub state: EntryState,
    /// Its `entryUUID`.
    pub uuid: [u8; 16],
    /// A new cookie.
    pub cookie: Option<&'a [u8]>,
}

/// The state of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryState {
    /// Unchanged; the message has no attributes.
    Present = 0,
    /// New for the client, or sent whole.
    Add = 1,
    /// Changed.
    Modify = 2,
    /// Gone; the message has no attributes.
    Delete = 3,
}

/// Sync Done (RFC 4533 §2.4): the end of a refresh without changes to follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SyncDone<'a> {
    /// A new cookie.
    pub cookie: Option<&'a [u8]>,
    /// Whether deleted entries were named; otherwise present entries were, and all others are gone.
    pub refresh_deletes: bool,
}

fn read_request(value: &[u8]) -> Result<SyncRequest<'_>, BerError> {
    let mut content = Reader::new(value).sequence()?;
    let before = content;
    let persists = match content.integer_i32(tags::ENUMERATED)? {
        REFRESH_ONLY => false,
        REFRESH_AND_PERSIST => true,
        _ => return Err(before.error(ErrorKind::BadInteger)),
    };
    Ok(SyncRequest {
        persists,
        cookie: content.optional(tags::OCTET_STRING)?,
        reload_hint: optional_boolean(&mut content, false)?,
    })
}

/// A BOOLEAN with a default.
pub(crate) fn optional_boolean(content: &mut Reader<'_>, default: bool) -> Result<bool, BerError> {
    if content.peek() == Some(tags::BOOLEAN) {
        return content.boolean();
    }
    Ok(default)
}

impl<'a> SyncState<'a> {
    /// Decodes the value's content octets.
    ///
    /// # Errors
    /// They are no such value.
    pub fn decode_value(value: &'a [u8]) -> Result<Self, Fault> {
        let mut content = Reader::new(value).sequence()?;
        let state = match content.integer_i32(tags::ENUMERATED)? {
            0 => EntryState::Present,
            1 => EntryState::Add,
            2 => EntryState::Modify,
            3 => EntryState::Delete,
            _ => return Err(Fault::protocol("sync state is unknown")),
        };
        let uuid = content.octet_string()?;
        let uuid = uuid
            .try_into()
            .map_err(|_| Fault::protocol("entryUUID in sync state has not 16 octets"))?;
        let cookie = content.optional(tags::OCTET_STRING)?;
        Ok(Self { state, uuid, cookie })
    }
}

impl<'a> SyncDone<'a> {
    /// Decodes the value's content octets.
    ///
    /// # Errors
    /// They are no such value.
    pub fn decode_value(value: &'a [u8]) -> Result<Self, Fault> {
        let mut content = Reader::new(value).sequence()?;
        Ok(Self {
            cookie: content.optional(tags::OCTET_STRING)?,
            refresh_deletes: optional_boolean(&mut content, false)?,
        })
    }
}

impl ControlValue for SyncRequest<'_> {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            let mode = if self.persists {
                REFRESH_AND_PERSIST
            } else {
                REFRESH_ONLY
            };
            writer.enumerated(i64::from(mode));
            if let Some(cookie) = self.cookie {
                writer.octet_string(cookie);
            }
            if self.reload_hint {
                writer.boolean(true);
            }
        });
    }
}

impl ControlValue for SyncState<'_> {
    const OID: &'static str = STATE_OID;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            writer.enumerated(self.state as i64);
            writer.octet_string(&self.uuid);
            if let Some(cookie) = self.cookie {
                writer.octet_string(cookie);
            }
        });
    }
}

impl ControlValue for SyncDone<'_> {
    const OID: &'static str = DONE_OID;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            if let Some(cookie) = self.cookie {
                writer.octet_string(cookie);
            }
            if self.refresh_deletes {
                writer.boolean(true);
            }
        });
    }
}

impl<'a> RequestControl<'a> for SyncRequest<'a> {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(value: &'a [u8], _: &DecodeLimits) -> Result<Self, Fault> {
        read_request(value).map_err(|_| DESCRIPTOR.malformed())
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.3.6.1.4.1.4203.1.9.1.1",
    name: "content synchronization",
    operations: descriptor::SEARCH,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::NotEmpty,
    advertised: true,
    texts: descriptor::Texts {
        malformed: "Sync control : decoding error",
        ..texts!("Sync control")
    },
};

const REFRESH_ONLY: i32 = 1;
const REFRESH_AND_PERSIST: i32 = 3;
