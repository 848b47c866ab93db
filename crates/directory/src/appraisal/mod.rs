//! The decisions of a configuration that no server uses: for tools.

pub(crate) mod access;
mod authorization;
pub(crate) mod derived;
