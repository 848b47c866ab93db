//! What searches of a null database return.

use std::sync::Arc;

use ironbark_model::{Attribute, Dn, Entry, Schema};

use crate::Configuration;

/// What each search returns with `dosearch`: the suffix with the attribute of its name, in normal form as slapd has it.
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
