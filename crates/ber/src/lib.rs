//! BER (X.690) as LDAP uses it (RFC 4511 §5.1): a TLV reader over slices and a writer that appends to a `Vec<u8>`.
//!
//! Invariants: definite lengths only; reading never allocates, recurses or panics; writing produces the shortest length
//! form.

mod error;
mod reader;
mod tag;
mod tlv;
mod writer;

pub use error::{BerError, ErrorKind};
pub use reader::Reader;
pub use tag::{Class, Tag, tags};
pub use tlv::{Header, Tlv, Tlvs};
pub use writer::{Mark, Writer, integer_length, length_length};
