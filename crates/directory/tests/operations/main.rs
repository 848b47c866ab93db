//! Random sequences of operations on a real database, answered as by a model: the fuzz target, on its seeds and on mutations of them.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "../harness/mod.rs"]
mod harness;
mod model;
mod sequence;

use ironbark_testkit::fuzz::smoke_of;

#[test]
fn every_answer_is_the_models() {
    smoke_of(300, "operations", &[0, 1, 2, 3, 4, 7, 8, 10, 15], sequence::operations).unwrap();
}
