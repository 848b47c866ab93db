//! All tests of the crate, but for those that need a process of their own.

mod answers;
mod borders;
mod bulk;
mod changes;
mod checkpoint;
mod common;
mod crash;
mod damage;
mod entries;
mod fuzz_smoke;
mod glue;
mod indexing;
mod log;
mod referrals;
mod search;
