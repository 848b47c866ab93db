//! The row of a type of database.

use std::sync::Arc;

use ironbark_config::{DatabaseConfig, SettingError, database::DatabaseDescriptor};
use ironbark_directory::ExternalDatabase;
use ironbark_model::Schema;

/// Makes what serves a database.
pub type MakeDatabase = fn(&DatabaseConfig, &Arc<Schema>) -> Result<Arc<dyn ExternalDatabase>, SettingError>;

/// A type of database: how it is configured, and how what serves it is made.
#[derive(Debug)]
pub struct BackendRow {
    /// How it is configured.
    pub descriptor: DatabaseDescriptor,
    /// Makes what serves a database of this type. Fails when what it needs cannot be had.
    pub make: MakeDatabase,
}
