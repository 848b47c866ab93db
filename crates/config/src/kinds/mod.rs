//! The types of databases that this crate knows itself, a file each, and the table of them.

mod config;
mod ldif;
mod mdb;
mod monitor;
mod null;

use crate::database::DatabaseDescriptor;

pub use crate::database::FRONTEND;
pub use config::CONFIG;
pub use ldif::LDIF;
pub use mdb::MDB;
pub use monitor::MONITOR;
pub use null::{NULL, NullConfig};

/// Each type, in slapd's order. Adding one is a file and a line.
pub(crate) static KINDS: &[&DatabaseDescriptor] = &[&CONFIG, &LDIF, &MONITOR, &MDB, &NULL, &FRONTEND];
