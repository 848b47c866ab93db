//! A directory in a temporary folder, driven with encoded requests as a connection would drive it.
#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

pub mod changes;
pub mod peer;
pub mod staying;

mod answer;
mod client;
mod configuration;
mod site;

pub use answer::{DecodedAnswer, read_answer};
pub use client::{TestClient, encoded, search_request};
pub use site::Site;
