//! The fuzz target's entry point on the seed corpus and on mutations of it: what CI runs of fuzzing.

use ironbark_testkit::fuzz::smoke;

#[test]
fn corpus_and_mutations_of_it_never_panic() {
    smoke("sasl", b",=\"\\ nyprcsime\0\xff", ironbark_sasl::fuzz::sasl).unwrap();
}
