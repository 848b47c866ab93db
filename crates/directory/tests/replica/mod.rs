//! What a provider has sent, in the writer of a database: one module for the rules, one for random orders.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod absent;
mod conflicts;
mod convergence;
mod entries;
mod initial;
mod logged;
mod numbered;
mod places;
mod restored;
mod revised;
