//! The fuzz targets' entry points on the seed corpus and on mutations of it: what CI runs of fuzzing.

use ironbark_directory::fuzz;
use ironbark_testkit::fuzz::smoke;

#[test]
fn corpus_and_mutations_of_it_never_panic() {
    smoke("access", b" \"\\=,.*{}$/+", fuzz::access).unwrap();
    smoke("set", b"()[]|&+/->* ", fuzz::set).unwrap();
    smoke("password", b"{}$=,./0\n", fuzz::password).unwrap();
}
