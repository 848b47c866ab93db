//! The rows of all settings.

pub(crate) mod database;
pub(crate) mod fields;
pub(crate) mod global;
