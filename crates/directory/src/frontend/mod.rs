//! The entries that belong to no database: root DSE and subschema subentry.

pub(crate) mod root_dse;
