//! The state of a reactor.

pub(crate) mod bare;
mod elsewhere;
pub(crate) mod held;
pub(crate) mod long_searches;
mod renewal;
pub(crate) mod worker;
