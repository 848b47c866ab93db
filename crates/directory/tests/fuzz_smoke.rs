//! The entry points of the fuzz targets on the seed corpus and its mutations: the part of fuzzing that CI runs.

use ironbark_directory::fuzz;
use ironbark_testkit::fuzz::smoke;

#[test]
fn corpus_and_mutations_of_it_never_panic() {
    smoke("access", b" \"\\=,.*{}$/+", fuzz::access).unwrap();
    smoke("set", b"()[]|&+/->* ", fuzz::set).unwrap();
    smoke("password", b"{}$=,./0\n", fuzz::password).unwrap();
}
