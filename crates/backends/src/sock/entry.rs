//! Entries as the program sends them.

use std::sync::Arc;

use ironbark_directory::received_entry;
use ironbark_ldif::{Item, LdifValue, RecordLines, Start};
use ironbark_model::{Entry, Schema};

/// Reads an entry in LDIF.
///
/// # Errors
/// It is none, or does not conform to the schema.
pub fn read(schema: &Arc<Schema>, mut paragraph: Vec<u8>) -> Result<Entry, String> {
    let mut lines = RecordLines::new(&mut paragraph, 1, 0);
    let start = lines.start().map_err(|error| error.to_string())?;
    let Start::Dn(dn) = start else {
        return Err("no dn".to_owned());
    };
    let mut attributes = Vec::new();
    while let Some(item) = lines.next_item().map_err(|error| error.to_string())? {
        let Item::Line(line) = item else {
            return Err(format!("line {}: an entry has no changes", lines.line()));
        };
        attributes.push((line.name, plain(line.value)?));
    }
    received_entry(schema, plain(dn.value)?, &attributes)
}

/// A value that stands there. Nobody opens a file because a program names it.
fn plain(value: LdifValue<'_>) -> Result<&[u8], String> {
    match value {
        LdifValue::Plain(value) => Ok(value),
        LdifValue::Url(_) => Err("a value is given as an URL".to_owned()),
    }
}
