//! What a configuration that nobody serves would say: for tools.

pub(crate) mod access;
mod authorization;
