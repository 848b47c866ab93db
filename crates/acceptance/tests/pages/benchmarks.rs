//! docs/benchmarks.md: measurements take hours. Targets, scripts and variables are checked.

use super::{elsewhere::elsewhere, page::Section};

const REASON: &str = "it measures for minutes or hours";

#[track_caller]
fn one(section: &Section) {
    let [block] = section.blocks();
    elsewhere(&block, REASON, &[]);
}

pub(crate) fn all(section: &Section) {
    one(section);
}

pub(crate) fn replication(section: &Section) {
    one(section);
}

pub(crate) fn soak(section: &Section) {
    one(section);
}

pub(crate) fn cluster(section: &Section) {
    one(section);
}

pub(crate) fn ycsb(section: &Section) {
    one(section);
}
