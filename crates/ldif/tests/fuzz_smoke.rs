//! The fuzz targets' entry points on the seed corpus and on mutations of it: what CI runs of fuzzing.

use ironbark_testkit::fuzz::smoke;

#[test]
fn corpus_and_mutations_of_it_never_panic() {
    smoke("ldif", b"\n: -#<\r=", ironbark_ldif::fuzz::ldif).unwrap();
}
