//! Conflicts among several writers.

use ironbark_directory::Directory;
use ironbark_model::Dn;

use super::text::Page;

/// Adds the counters of the databases that take writes beside others, or have had a conflict.
pub(super) fn add(page: &mut Page, directory: &Directory) {
    let all = directory.replica_conflicts();
    if all.is_empty() {
        return;
    }
    let mut family = page.counter(
        "ironbark_replica_conflicts_total",
        "Conflicts among several writers that were decided here, by kind.",
    );
    for (context, conflicts) in all {
        let suffix = context.suffixes().first().map(Dn::pretty).unwrap_or_default();
        for (kind, count) in conflicts.counts() {
            family.sample(&[("suffix", suffix), ("kind", kind.word())], count);
        }
    }
}
