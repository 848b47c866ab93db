//! The entry points of the fuzz targets that read configurations and the controls of overlays, on the seed corpus and
//! its mutations: the part of fuzzing that CI runs.

use ironbark_config::{MemoryFiles, fuzz, load};
use ironbark_overlays::registry;
use ironbark_testkit::fuzz::{corpus, smoke, smoke_of};

#[test]
fn corpus_and_mutations_of_it_never_panic() {
    smoke_of(500, "slapd_conf", b" \n\t\"\\#=,.*{}$", |data| {
        fuzz::slapd_conf(data, &registry());
    })
    .unwrap();
    smoke_of(500, "rules", b" \n\"\\=,.*{}$abc/+", |data| {
        fuzz::rules(data, &registry());
    })
    .unwrap();
    smoke_of(500, "config_entry", b": \n{}=<,\"", |data| {
        fuzz::config_entry(data, &registry());
    })
    .unwrap();
    let tokens = [0x00, 0x7f, 0x80, 0x84, 0xff, 0x30, 0x0a];
    smoke("overlay_control", &tokens, ironbark_overlays::fuzz::overlay_control).unwrap();
}

#[test]
fn every_file_of_the_corpus_loads() {
    for input in corpus("slapd_conf").unwrap() {
        let loaded = load(
            "slapd.conf",
            &MemoryFiles::file("slapd.conf", input.as_slice()),
            &registry(),
        );
        assert!(loaded.is_ok(), "{}: {loaded:?}", String::from_utf8_lossy(&input));
    }
}
