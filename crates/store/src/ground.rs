//! The tables and shared sets that reading needs.

use std::sync::Arc;

use crate::{options::DatabaseOptions, sets::SharedSets, tables::Tables};

/// The tables, and the shared sets that their rows refer to.
pub(crate) struct Ground {
    pub(crate) tables: Tables,
    pub(crate) options: DatabaseOptions,
    /// One for an environment, whatever number of schemas it is used under.
    pub(crate) sets: Arc<SharedSets>,
}
