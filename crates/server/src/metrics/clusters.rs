//! Databases of clusters: where they are in the log.

use ironbark_cluster::Status;

use super::text::Page;

/// Takes one number out of a status.
type Figure = fn(&Status) -> u64;

/// Name, meaning and figure of the gauges.
const GAUGES: [(&str, &str, Figure); 4] = [
    (
        "ironbark_cluster_ready",
        "Whether the database has what its cluster has, and follows the log: 1 or 0.",
        |status| u64::from(status.is_ready),
    ),
    (
        "ironbark_cluster_position",
        "Number of the last change that the database has.",
        |status| status.position,
    ),
    (
        "ironbark_cluster_end",
        "Number of the last change that the log is known to have.",
        |status| status.end,
    ),
    (
        "ironbark_cluster_copied_bytes",
        "Bytes of a copy of another server's database that have come; 0: none comes.",
        |status| status.copied.map_or(0, |(octets, _)| octets),
    ),
];

/// Name, meaning and figure of the counters.
const COUNTERS: [(&str, &str, Figure); 3] = [
    (
        "ironbark_cluster_appended_total",
        "Batches of changes that this server has put into the log.",
        |status| status.appended,
    ),
    (
        "ironbark_cluster_overtaken_total",
        "Batches that were executed again because another server came before.",
        |status| status.overtaken,
    ),
    (
        "ironbark_cluster_failures_total",
        "Attempts to write to etcd that had no answer, or were refused.",
        |status| status.failures,
    ),
];

/// Adds the families, if there are databases of clusters.
pub(super) fn add(page: &mut Page, clusters: &[Status]) {
    if clusters.is_empty() {
        return;
    }
    for (name, help, figure) in GAUGES {
        let mut family = page.gauge(name, help);
        for status in clusters {
            family.sample(&[("suffix", &*status.suffix)], figure(status));
        }
    }
    for (name, help, figure) in COUNTERS {
        let mut family = page.counter(name, help);
        for status in clusters {
            family.sample(&[("suffix", &*status.suffix)], figure(status));
        }
    }
}
