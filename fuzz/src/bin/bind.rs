//! Binds of every kind on one connection.
#![no_main]

#[path = "../../../crates/directory/tests/operations/binds.rs"]
mod binds;
#[path = "../../../crates/directory/tests/harness/mod.rs"]
mod harness;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    binds::binds(data);
});
