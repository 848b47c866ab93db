//! Databases whose entries are elsewhere, one folder each, and the table of them.
//!
//! Invariants: no reactor and no writer waits here; what a database holds for its clients is bounded, however slow the
//! other side is.

pub mod fuzz;
mod row;
pub mod sock;

use std::sync::Arc;

use ironbark_config::{DatabaseConfig, SettingError};
use ironbark_directory::ExternalDatabase;
use ironbark_model::Schema;

pub use row::{BackendRow, MakeDatabase};

/// Every type of database whose entries are elsewhere, in the order of the reference page. Adding one is one line.
pub static BACKENDS: &[BackendRow] = &[sock::ROW];

/// Makes what serves a database.
///
/// # Errors
/// It is of a type that is not in the table, or what it needs cannot be had.
pub fn make(config: &DatabaseConfig, schema: &Arc<Schema>) -> Result<Arc<dyn ExternalDatabase>, SettingError> {
    let row = BACKENDS.iter().find(|row| &row.descriptor == config.kind);
    let row = row.ok_or_else(|| format!("a {} database cannot be made here", config.kind.name))?;
    (row.make)(config, schema)
}
