//! The entry points of the fuzz targets on the seed corpus and its mutations: the part of fuzzing that CI runs.

use ironbark_server::fuzz;
use ironbark_testkit::fuzz::smoke;

#[test]
fn corpus_and_mutations_of_it_never_panic() {
    smoke(
        "proxy_header",
        &[0, 0x11, 0x20, 0x21, 0x31, 12, 36, 0xff],
        fuzz::proxy_header,
    )
    .unwrap();
    smoke("listener_url", b"/:%?[],=0x", fuzz::listener_url).unwrap();
}
