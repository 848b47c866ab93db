//! LDIF (RFC 2849): a streaming reader, a borrowed reader over blocks for bulk loads, and a writer with the same output
//! as slapcat.
//!
//! The reader knows no schema: names and values are bytes. It opens no file by itself: values and includes given as
//! URLs go through a [`Resolver`]. Memory is bounded by [`Limits`]: one record at a time, or one block at a time.
//!
//! As in OpenLDAP's tools, the reader accepts comments anywhere between lines (folded lines after a comment belong to
//! the comment), CRLF, a missing last newline, `version:` before the first record, a line that begins with a digit
//! before a record, and `include:`.

mod base64_text;
mod block;
mod error;
pub mod fuzz;
mod line;
mod reader;
mod record;
mod resolver;
mod writer;

#[cfg(test)]
mod tests;

pub use block::{Block, Blocks, Records};
pub use error::{LdifError, LdifErrorKind};
pub use line::{Item, LdifLine, LdifValue, RecordLines, Start};
pub use reader::{LdifReader, Limits};
pub use record::{Attributes, LdifChange, LdifControl, LdifRecord, ModSpec, ModifyKind, RecordKind};
pub use resolver::{FileResolver, NoFiles, ResolveError, Resolver};
pub use writer::{LdifWriter, Wrap, needs_base64};

/// The Base64 text of a value.
pub fn base64(value: &[u8]) -> String {
    let mut text = String::new();
    base64_text::encode_pieces(value, &mut |piece| text.push_str(&String::from_utf8_lossy(piece)));
    text
}
