//! What the binary `ironbark` is made of, beside the server.

pub mod command;
mod commands;
pub mod dispatch;
pub mod getopt;
mod load;
pub mod slapd;
pub mod tool;
