//! What can be wrong with LDIF, and where.

use std::sync::Arc;

/// An error with its place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}line {line}: {kind}", .file.as_deref().map(|f| format!("{f}: ")).unwrap_or_default())]
pub struct LdifError {
    /// The included file, if the error is in one.
    pub file: Option<Arc<str>>,
    /// Line, from 1.
    pub line: u64,
    /// Byte offset of the line's first byte, from 0.
    pub offset: u64,
    /// What is wrong.
    pub kind: LdifErrorKind,
}

/// What is wrong.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LdifErrorKind {
    /// A line that is neither `name: value` nor `-`.
    #[error("missing ':' after the attribute description")]
    MissingColon,
    /// Nothing before the `:`.
    #[error("empty attribute description")]
    EmptyName,
    /// Base64 that does not decode, or no text after `::`.
    #[error("bad base64 value of {0:?}")]
    BadBase64(String),
    /// `:<` without URL, or a URL that could not be read.
    #[error("URL value {url:?}: {reason}")]
    BadUrl {
        /// The URL as written.
        url: String,
        /// Why.
        reason: String,
    },
    /// A record without `dn:`.
    #[error("the record does not begin with dn:, but with {0:?}")]
    MissingDn(String),
    /// Another version than 1.
    #[error("unknown LDIF version {0:?}")]
    BadVersion(String),
    /// `changetype:` of an unknown kind.
    #[error("unknown changetype {0:?}")]
    BadChangeType(String),
    /// A modification other than add, delete, replace, increment.
    #[error("unknown modification {0:?}")]
    BadModification(String),
    /// A value of another attribute than the one that the modification names.
    #[error("attribute {found:?} in a modification of {expected:?}")]
    WrongAttribute {
        /// The attribute of the `add:`, `delete:`, `replace:` or `increment:` line.
        expected: String,
        /// The one found.
        found: String,
    },
    /// A line that is not allowed in this kind of record.
    #[error("unexpected line {0:?}")]
    UnexpectedLine(String),
    /// A line that is missing in this kind of record.
    #[error("{0}: is missing")]
    MissingLine(&'static str),
    /// `deleteoldrdn:` neither 0 nor 1.
    #[error("deleteoldrdn must be 0 or 1, not {0:?}")]
    BadDeleteOldRdn(String),
    /// A malformed `control:` line.
    #[error("malformed control")]
    BadControl,
    /// Too many bytes in one line (folded lines count together).
    #[error("line longer than {0} bytes")]
    LineTooLong(usize),
    /// Too many bytes in one record.
    #[error("record longer than {0} bytes")]
    RecordTooLong(usize),
    /// Includes that are nested too deeply.
    #[error("includes nested deeper than {0}")]
    IncludeTooDeep(usize),
    /// The input could not be read.
    #[error("read error: {0}")]
    Read(String),
}

impl LdifError {
    pub(crate) fn at(line: u64, offset: u64, kind: LdifErrorKind) -> Self {
        Self {
            file: None,
            line,
            offset,
            kind,
        }
    }
}

/// For messages: the bytes as text, shortened.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let shown = bytes.get(..64).unwrap_or(bytes);
    String::from_utf8_lossy(shown).into_owned()
}
