//! Sync Info (RFC 4533 §2.5): messages of a content synchronization between its entries.

use ironbark_ber::{Reader, Writer, tags};

use super::intermediate::{IntermediateResponse, encode_intermediate};
use crate::{Fault, MessageId, controls::sync::optional_boolean};

/// OID of the message.
pub const OID: &str = "1.3.6.1.4.1.4203.1.9.1.4";

/// The most UUIDs that a server names in one message.
pub const MOST_UUIDS: usize = 256;

/// A message of a content synchronization.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncInfo<'a> {
    /// A new cookie.
    NewCookie(&'a [u8]),
    /// The end of the delete phase: deleted entries were named.
    RefreshDelete {
        /// A new cookie.
        cookie: Option<&'a [u8]>,
        /// Whether the refresh ends here.
        done: bool,
    },
    /// The end of the present phase: entries that were not named are gone.
    RefreshPresent {
        /// A new cookie.
        cookie: Option<&'a [u8]>,
        /// Whether the refresh ends here.
        done: bool,
    },
    /// Entries by `entryUUID`.
    IdSet {
        /// A new cookie.
        cookie: Option<&'a [u8]>,
        /// Whether they are gone; otherwise they are present.
        deletes: bool,
        /// The UUIDs.
        uuids: Uuids<'a>,
    },
}

/// UUIDs of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uuids<'a> {
    /// To be sent.
    Plain(&'a [[u8; 16]]),
    /// As they came: elements of a SET OF, each checked.
    Encoded(&'a [u8]),
}

impl<'a> Uuids<'a> {
    /// One after the other.
    pub fn iter(self) -> impl Iterator<Item = [u8; 16]> + 'a {
        let (plain, encoded) = match self {
            Self::Plain(uuids) => (uuids, &[][..]),
            Self::Encoded(elements) => (&[][..], elements),
        };
        let mut reader = Reader::new(encoded);
        let decoded = std::iter::from_fn(move || reader.octet_string().ok()?.try_into().ok());
        plain.iter().copied().chain(decoded)
    }
}

impl<'a> SyncInfo<'a> {
    /// Decodes the value of an intermediate response. `None`: the response is another one.
    ///
    /// # Errors
    /// `protocolError`: the value is none of this kind.
    pub fn of(response: &IntermediateResponse<'a>) -> Result<Option<Self>, Fault> {
        if response.name != Some(OID.as_bytes()) {
            return Ok(None);
        }
        let value = response.value.ok_or(Fault::protocol("sync info has no value"))?;
        let mut reader = Reader::new(value);
        let Some(kind) = reader.peek() else {
            return Err(Fault::protocol("sync info is empty"));
        };
        if kind == NEW_COOKIE {
            let cookie = reader.optional(NEW_COOKIE)?;
            return Ok(cookie.map(Self::NewCookie));
        }
        if !matches!(kind, REFRESH_DELETE | REFRESH_PRESENT | ID_SET) {
            return Err(Fault::protocol("sync info is of no known kind"));
        }
        let mut content = reader.nested(kind)?;
        let cookie = content.optional(tags::OCTET_STRING)?;
        Ok(Some(match kind {
            REFRESH_DELETE => Self::RefreshDelete {
                cookie,
                done: optional_boolean(&mut content, true)?,
            },
            REFRESH_PRESENT => Self::RefreshPresent {
                cookie,
                done: optional_boolean(&mut content, true)?,
            },
            _ => Self::IdSet {
                cookie,
                deletes: optional_boolean(&mut content, false)?,
                uuids: read_uuids(&mut content)?,
            },
        }))
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let phase = |writer: &mut Writer<'_>, cookie: Option<&[u8]>, done: bool| {
            if let Some(cookie) = cookie {
                writer.octet_string(cookie);
            }
            if !done {
                writer.boolean(false);
            }
        };
        match *self {
            Self::NewCookie(cookie) => writer.element(NEW_COOKIE, cookie),
            Self::RefreshDelete { cookie, done } => {
                writer.constructed(REFRESH_DELETE, |writer| phase(writer, cookie, done));
            }
            Self::RefreshPresent { cookie, done } => {
                writer.constructed(REFRESH_PRESENT, |writer| phase(writer, cookie, done));
            }
            Self::IdSet { cookie, deletes, uuids } => writer.constructed(ID_SET, |writer| {
                if let Some(cookie) = cookie {
                    writer.octet_string(cookie);
                }
                if deletes {
                    writer.boolean(true);
                }
                writer.constructed(tags::SET, |writer| {
                    for uuid in uuids.iter() {
                        writer.octet_string(&uuid);
                    }
                });
            }),
        }
    }
}

fn read_uuids<'a>(content: &mut Reader<'a>) -> Result<Uuids<'a>, Fault> {
    let Some(elements) = content.optional(tags::SET)? else {
        return Err(Fault::protocol("sync info has no set of UUIDs"));
    };
    let mut reader = Reader::new(elements);
    while !reader.is_empty() {
        if reader.octet_string()?.len() != 16 {
            return Err(Fault::protocol("a UUID in sync info has not 16 octets"));
        }
    }
    Ok(Uuids::Encoded(elements))
}

/// Appends the message.
pub fn encode_sync_info(out: &mut Vec<u8>, id: MessageId, info: &SyncInfo<'_>) {
    let mut value = Vec::new();
    info.write(&mut Writer::new(&mut value));
    let response = IntermediateResponse {
        name: Some(OID.as_bytes()),
        value: Some(&value),
    };
    encode_intermediate(out, id, &response, &[]);
}

const NEW_COOKIE: u8 = tags::context(0);
const REFRESH_DELETE: u8 = tags::context_constructed(1);
const REFRESH_PRESENT: u8 = tags::context_constructed(2);
const ID_SET: u8 = tags::context_constructed(3);
