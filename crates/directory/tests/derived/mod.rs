//! Attributes that overlays derive, shown by the test's own derivations: to clients they are like stored ones.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod access;
mod ask;
mod facts;
mod levels;
mod model;
mod planned;
mod rule;
mod seen;
mod tree;
