//! Code that several subcommands share: options, the choice of databases and entries, files that are left behind.

pub(crate) mod access_options;
pub(crate) mod chosen;
pub(crate) mod colour;
pub(crate) mod config_database;
pub(crate) mod config_options;
pub(crate) mod context_csn;
pub(crate) mod filter;
pub(crate) mod getopt;
pub(crate) mod load_options;
pub(crate) mod members;
pub(crate) mod names;
pub(crate) mod open;
pub(crate) mod options;
pub(crate) mod owner;
pub(crate) mod progress;
pub(crate) mod replicas;
pub(crate) mod running;
pub(crate) mod shell;
pub(crate) mod target;
pub(crate) mod wanted;
pub(crate) mod written;
