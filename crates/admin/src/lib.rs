//! What the binary `ironbark` is made of, beside the server.

pub mod command;
pub mod dispatch;
pub mod generate;
pub mod getopt;
pub mod slapd;
pub mod tool;
