//! Random sequences of operations on a real database, compared with a model: the fuzz target, on its seeds and on
//! mutations of them.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a panic fails the test")]

mod binds;
mod model;
mod sequence;

use ironbark_testkit::fuzz::smoke_of;

#[test]
fn every_answer_is_the_models() {
    smoke_of(300, "operations", &[0, 1, 2, 3, 4, 7, 8, 10, 15], sequence::operations).unwrap();
}

#[test]
fn nobody_becomes_somebody_by_what_no_client_sends() {
    smoke_of(100, "bind", b"abcdefghi,=\0 -\n", binds::binds).unwrap();
}
