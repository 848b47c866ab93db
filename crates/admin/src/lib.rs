//! What the binary `ironbark` is made of, beside the server.

mod commands;
pub mod dispatch;
mod shared;
mod tools;
