//! Requesters and their requests.

pub(crate) mod bound;
pub(crate) mod context;
pub(crate) mod controls;
pub(crate) mod identity;
pub(crate) mod last_base;
pub(crate) mod modification;
mod pretty;
pub(crate) mod requested_change;
pub(crate) mod responses;
pub(crate) mod stop;
