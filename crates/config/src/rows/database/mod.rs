//! Rows of database settings.

mod bdb;
mod conditions;
mod files;
mod general;
mod index;
mod mdb;
mod null;
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
    mdb::ROWS,
    index::ROWS,
    bdb::ROWS,
    null::ROWS,
];
