//! What the binary `ironbark` is made of, beside the server.

pub mod command;
pub mod dispatch;
pub mod getopt;
mod index_advice;
mod load;
mod own;
pub mod slapd;
pub mod tool;
