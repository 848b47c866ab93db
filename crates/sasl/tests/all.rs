//! All tests of the crate's messages.

mod conversations;
mod examples;
mod fuzz_smoke;
