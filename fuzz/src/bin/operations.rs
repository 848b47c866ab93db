//! Sequences of operations on a database, beside a model.
#![no_main]

#[path = "../../../crates/directory/tests/harness/mod.rs"]
mod harness;
#[path = "../../../crates/directory/tests/operations/model.rs"]
mod model;
#[path = "../../../crates/directory/tests/operations/sequence.rs"]
mod sequence;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    sequence::operations(data);
});
