//! What the binary `ironbark` is made of, beside the server.

mod command;
mod commands;
pub mod dispatch;
mod shared;
mod tools;
