//! Values that are computed, beside the servers that have them.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cos;
mod roles;
