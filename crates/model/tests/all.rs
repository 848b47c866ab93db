//! All tests of the crate, but for those that need a process of their own.

mod fuzz_smoke;
mod keyed_maps;
