//! The bytes of change records. Those of a row of the log stand one after the other and share their texts; a record
//! alone is a row with one record.
//!
//! ```text
//! record     byte       1 2: kind (0 add, 1 delete, 2 modify, 3 modify DN); what follows: 4 position, 8 predecessor,
//!                       16 server, 32 authenticated identity, 64 sections, 128 a whole CSN
//!            position   8 bytes generation, varint number; without it: the next one of the record before
//!            predecessor 16 bytes, hash of the record before
//!            csn        CSN; if not whole, a varint: its microseconds less those of the record before, as zigzag. The
//!                       rest of it is as there
//!            server     varint, ID of the server that brought it; without it: 0
//!            varint     microseconds since 1970 less those of the CSN, as zigzag (0, -1, 1, -2 are 0, 1, 2, 3)
//!            text       author
//!            text       authenticated identity; without it: the author
//!            list       effects
//!            sections   byte, of which follow: 1 request, 2 requested changes, 4 cookie, 8 buried, 16 notes,
//!                       32 forgotten, 64 revised by
//! effect     byte       1 2: kind (0 add, 1 modify, 2 rename, 3 delete); 4 internal, 8 silent, 16 with the values that
//!                       are gone, 32 with entryUUID, 64 with attributes that a follower wants
//!            16 bytes   entryUUID
//!            dn         name
//!            0 add:     list of attributes
//!            1 modify:  list of changes
//!            2 rename:  dn new name, list of changes
//!            3 delete:  if marked with 16, list of attributes
//!            list of attributes, not empty, if marked with 64
//! request    varint connection, varint operation, peer name, list of controls (text OID, byte critical)
//! peer name  varint n: n % 4 = 0: n / 4 bytes; 1: n / 4 bytes, and a text that stands before them with a colon
//! requested  list of: byte 1 add: dn, list of attributes
//!                          2 modify: dn, list of (byte 1 add, 2 delete, 3 replace, 4 increment; attribute)
//!                          3 modify DN: dn, text new RDN, byte (1 deletes the old RDN, 2 with new superior), dn new
//!                            superior if there is one
//!                          4 delete: dn
//!                          5 as applied: varint number of the effect
//!                          6 the entry before the change: dn, list of attributes
//! cookie     list of csn
//! buried     list of 16 bytes, entryUUID
//! notes      list of: text name, value
//! forgotten  list of varint, ID of a server
//! revised by csn
//! change     byte 1 add, 2 delete, 3 replace; attribute; if marked with 16, and not an add, list of values
//! attribute  text description, list of values
//! csn        8 bytes microseconds since 0000-03-01 less 400 years, 3 bytes count, 3 bytes modification, 2 bytes ID
//! list       varint count, then the items
//! dn         varint n: n % 4 = 0: n / 4 bytes; 1: n / 4 bytes, a comma, and a text; 2: the name of the first effect
//! text, value  varint n: n % 4 = 0: n / 4 bytes; 1: the text that the place n / 4 remembers (codec/texts.rs);
//!            2: a packed form (n / 4 % 8 of `PACKINGS`) of n / 32 bytes; 3: the CSN of the record
//! ```
//!
//! Varints are the ordered ones of ARCHITECTURE.md, "Tables"; numbers of fixed length are big-endian. No released
//! version has written the forms before it.

mod reader;
mod texts;
mod writer;

use super::{ChangeRecord, Position};
use crate::{StoreError, csn::Csn, record::packed::Packing};
use reader::Reader;
use texts::Texts;

/// The version that is written and read. It stands before a record alone, and in the first byte of a row.
pub(crate) const VERSION: u8 = 3;

const HAS_POSITION: u8 = 4;
const HAS_PREDECESSOR: u8 = 8;
const HAS_SERVER: u8 = 16;
const HAS_AUTHENTICATED: u8 = 32;
const HAS_SECTIONS: u8 = 64;
const HAS_WHOLE_CSN: u8 = 128;

const INTERNAL: u8 = 4;
const SILENT: u8 = 8;
const WITH_GONE: u8 = 16;
const WITH_UUID: u8 = 32;
const WITH_KEPT: u8 = 64;

const HAS_REQUEST: u8 = 1;
const HAS_REQUESTED: u8 = 2;
const HAS_COOKIE: u8 = 4;
const HAS_BURIED: u8 = 8;
const HAS_NOTES: u8 = 16;
const HAS_FORGOTTEN: u8 = 32;
const HAS_REVISED_BY: u8 = 64;
const ALL_SECTIONS: u8 = 127;

const DELETES_OLD_RDN: u8 = 1;
const HAS_SUPERIOR: u8 = 2;

const LITERAL: u64 = 0;
const PLACE: u64 = 1;
const PACKED: u64 = 2;
const OWN_CSN: u64 = 3;
const WITH_TEXT: u64 = 1;
const FIRST_NAME: u64 = 2;

const PACKINGS: [Packing; 5] = [
    Packing::Uuid,
    Packing::Csn,
    Packing::Time,
    Packing::Decimal,
    Packing::Hex,
];

/// What the records of a row share. It begins empty, for the writer and for the reader.
#[derive(Default)]
pub(crate) struct Shared {
    texts: Texts,
    /// That of the last record.
    position: Position,
    csn: Csn,
    /// For the writer.
    packed: Vec<u8>,
}

impl ChangeRecord {
    /// The encoding of the record alone.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        writer::append(self, &mut out, &mut Shared::default());
        out
    }

    /// Reads an encoding. A name takes at most 255 times its bytes; otherwise memory is taken for the bytes that are
    /// there, never for the length that they claim.
    ///
    /// # Errors
    /// [`StoreError::Format`]: another version, or damage.
    pub fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        if bytes.first().is_some_and(|&version| version > VERSION) {
            return Err(StoreError::Format("change record of a later version".into()));
        }
        let mut at = 1;
        let record = (bytes.first() == Some(&VERSION))
            .then(|| Reader::take(bytes, &mut at, &mut Shared::default()))
            .flatten();
        let record = record.filter(|_| at == bytes.len());
        record.ok_or_else(|| StoreError::Format("malformed change record".into()))
    }

    /// Appends the record to those of a row.
    pub(crate) fn append(&self, row: &mut Vec<u8>, shared: &mut Shared) {
        writer::append(self, row, shared);
    }

    /// Reads the record at `at` in the records of a row, and moves `at` behind it. `None`: damaged.
    pub(crate) fn take(row: &[u8], at: &mut usize, shared: &mut Shared) -> Option<Self> {
        Reader::take(row, at, shared)
    }
}

#[cfg(test)]
mod tests;
