//! The one way in: what a server and its databases refuse whoever asks.

pub(crate) mod controls;
pub(crate) mod database;
mod security;
