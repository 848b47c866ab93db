//! docs/paper.md: its blocks are formulas.

use super::page::Section;

/// The append of a batch, as etcd's transaction.
pub(crate) fn no_commands(section: &Section) {
    let [append] = section.blocks();
    assert!(append.text.contains("put tail"), "{append:?}");
}

/// The time of a group, and the rate of them: the simulation has the same terms.
pub(crate) fn no_commands_either(section: &Section) {
    let [time] = section.blocks();
    assert!(time.text.contains("rate = G / T(G)"), "{time:?}");
}
