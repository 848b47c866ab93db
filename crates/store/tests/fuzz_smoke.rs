//! The entry points of the fuzz targets on the seed corpus and its mutations: the part of fuzzing that CI runs.

use ironbark_store::fuzz;
use ironbark_testkit::fuzz::smoke;

#[test]
fn corpus_and_mutations_of_it_never_panic() {
    smoke("record", &[0, 1, 2, 4, 0x7f, 0x80, 0xff], fuzz::record).unwrap();
    smoke("change_record", &[0, 1, 2, 3, 4, 0x7f, 0x80, 0xff], fuzz::change_record).unwrap();
    smoke("pages", &[0, 1, 2, 4, 0x10, 0x7f, 0x80, 0xff], fuzz::pages).unwrap();
    smoke("posting", &[0, 1, 2, 3, 0x7f, 0x80, 0xff], fuzz::posting).unwrap();
}
