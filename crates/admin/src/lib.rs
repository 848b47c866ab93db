//! The parts of the binary `ironbark` in addition to the server.

mod commands;
pub mod dispatch;
mod shared;
mod tools;
