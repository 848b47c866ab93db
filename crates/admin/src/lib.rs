//! What the binary `ironbark` is made of, beside the server.

pub mod command;
pub mod dispatch;
pub mod generate;
pub mod getopt;
mod own;
pub mod slapd;
pub mod tool;
