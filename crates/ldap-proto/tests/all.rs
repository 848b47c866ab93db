//! All tests of the crate, but for those that need a process of their own.

mod controls;
mod deep_filters;
mod fuzz_smoke;
mod messages;
mod sync;
