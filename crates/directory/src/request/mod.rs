//! Who asks, and for what.

pub(crate) mod asked;
pub(crate) mod identity;
pub(crate) mod modification;
pub(crate) mod origin;
mod pretty;
pub(crate) mod stop;
