//! What reading needs of a database.

use std::sync::Arc;

use crate::{options::DatabaseOptions, sets::SharedSets, tables::Tables};

/// The tables and what their rows lean on.
pub(crate) struct Ground {
    pub(crate) tables: Tables,
    pub(crate) options: DatabaseOptions,
    /// One for an environment, under however many schemas it is in use.
    pub(crate) sets: Arc<SharedSets>,
}
