//! Entries as the program sends them.

use std::sync::Arc;

use ironbark_directory::{ReceivedEntryError, received_entry};
use ironbark_ldif::{Item, LdifError, LdifValue, RecordLines, Start};
use ironbark_model::{Entry, Schema};

/// Why a program's text is no entry.
#[derive(Debug, thiserror::Error)]
pub enum EntryTextError {
    /// It is no LDIF.
    #[error(transparent)]
    Ldif(#[from] LdifError),
    /// It does not begin with a name.
    #[error("no dn")]
    NoDn,
    /// It goes on with changes.
    #[error("line {line}: an entry has no changes")]
    HasChanges {
        /// From 1.
        line: u64,
    },
    /// Nobody opens a file because a program names it.
    #[error("a value is given as an URL")]
    HasUrl,
    /// It does not conform to the schema.
    #[error(transparent)]
    Entry(#[from] ReceivedEntryError),
}

/// Reads an entry in LDIF.
///
/// # Errors
/// It is none, or does not conform to the schema.
pub fn read(schema: &Arc<Schema>, mut paragraph: Vec<u8>) -> Result<Entry, EntryTextError> {
    let mut lines = RecordLines::new(&mut paragraph, 1, 0);
    let start = lines.start()?;
    let Start::Dn(dn) = start else {
        return Err(EntryTextError::NoDn);
    };
    let mut attributes = Vec::new();
    while let Some(item) = lines.next_item()? {
        let Item::Line(line) = item else {
            return Err(EntryTextError::HasChanges { line: lines.line() });
        };
        attributes.push((line.name, plain(line.value)?));
    }
    Ok(received_entry(schema, plain(dn.value)?, &attributes)?)
}

/// A value that stands there. Nobody opens a file because a program names it.
fn plain(value: LdifValue<'_>) -> Result<&[u8], EntryTextError> {
    match value {
        LdifValue::Plain(value) => Ok(value),
        LdifValue::Url(_) => Err(EntryTextError::HasUrl),
    }
}
