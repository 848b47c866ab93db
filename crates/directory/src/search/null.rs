//! The entries that searches of a null database return.

use std::sync::Arc;

use ironbark_model::{Attribute, Dn, Entry, Schema};

use crate::Configuration;

/// The result of each search with `dosearch`: an entry for the suffix with its naming attribute. As in slapd the value
/// is in normal form.
pub(crate) fn entry_of_search(configuration: &Configuration, suffix: &Dn) -> Arc<[Entry]> {
    let schema: &Schema = &configuration.schema;
    let mut entry = Entry::new(suffix.clone());
    let normal = Dn::parse(schema, suffix.normalized()).unwrap_or_default();
    let naming = normal.leaf_assertions(schema).into_iter();
    entry.attributes.extend(naming.map(|(description, value)| Attribute {
        description,
        values: vec![value],
    }));
    entry.attributes.push(Attribute {
        description: configuration.well_known.object_class.clone(),
        values: vec![b"extensibleObject".to_vec()],
    });
    Arc::new([entry])
}
