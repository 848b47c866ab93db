//! The tables that reading needs.

use crate::{EnvironmentNumber, options::DatabaseOptions, tables::Tables};

/// The tables, and the environment that they are in.
pub(crate) struct Ground {
    pub(crate) tables: Tables,
    pub(crate) options: DatabaseOptions,
    pub(crate) environment: EnvironmentNumber,
}
