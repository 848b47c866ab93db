//! What the binary `ironbark` is made of, beside the server.

pub mod generate;
