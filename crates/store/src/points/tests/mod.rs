//! Forced schedules: readers at each point of a commit, and two processes in turns on one database.

#![allow(clippy::cast_possible_truncation, reason = "tests")]

mod commit;
pub(crate) mod hook;
mod model;
mod process;
mod turns;
