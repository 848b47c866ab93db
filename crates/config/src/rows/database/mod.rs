//! Rows of database settings.

mod cluster;
mod conditions;
mod files;
mod general;
mod replication;
mod security;

use crate::setting::Setting;

/// All rows of this module's struct.
pub(crate) const ROWS: &[&[Setting]] = &[
    general::ROWS,
    conditions::ROWS,
    security::ROWS,
    replication::ROWS,
    files::ROWS,
    cluster::ROWS,
];
