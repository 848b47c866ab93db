//! Entries that come from elsewhere as text.

use ironbark_model::{Attribute, Dn, Entry, Schema};

/// Why a text is no entry.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReceivedEntryError {
    /// The name, as it came.
    #[error("invalid DN \"{0}\"")]
    Dn(String),
    /// The attribute with a value that does not conform to its syntax.
    #[error("{0}: a value is invalid per syntax")]
    Syntax(String),
}

/// Makes an entry from a name and attributes with their values. Attributes that the schema does not know are left out
/// and logged.
///
/// # Errors
/// [`ReceivedEntryError`].
pub fn received_entry(schema: &Schema, dn: &[u8], attributes: &[(&[u8], &[u8])]) -> Result<Entry, ReceivedEntryError> {
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    let dn = Dn::parse(schema, dn).map_err(|_| ReceivedEntryError::Dn(text(dn)))?;
    let mut entry = Entry::new(dn);
    for (name, value) in attributes {
        let Ok(description) = schema.attribute_description(name) else {
            let (name, dn) = (text(name), entry.dn.pretty());
            tracing::warn!(target: "any", "\"{dn}\": attribute {name} is not in the schema and is left out");
            continue;
        };
        let syntax = schema.attribute_type(description.attribute_type).syntax;
        (syntax.validate)(schema, value).map_err(|_| ReceivedEntryError::Syntax(text(name)))?;
        let value = value.to_vec();
        match entry.attribute_mut(&description) {
            Some(known) => known.values.push(value),
            None => entry.attributes.push(Attribute {
                description,
                values: vec![value],
            }),
        }
    }
    Ok(entry)
}
