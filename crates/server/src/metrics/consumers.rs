//! Consumers of this server (`syncrepl`): what they are doing, and how often they failed.

use ironbark_replication::{ConsumerStatus, Phase};
use ironbark_runtime::WallTime;

use super::text::{Page, seconds};

/// Takes one number out of a status.
type Figure = fn(&ConsumerStatus) -> u64;

/// Name, meaning and figure of the counters.
const COUNTERS: [(&str, &str, Figure); 3] = [
    (
        "ironbark_consumer_failures_total",
        "Searches at the provider that failed.",
        |status| status.failures,
    ),
    (
        "ironbark_consumer_fallbacks_total",
        "Refreshes of the content because the provider's log had a gap.",
        |status| status.fallbacks,
    ),
    (
        "ironbark_consumer_refreshes_total",
        "Refreshes that were completed.",
        |status| status.refreshes,
    ),
];

/// Adds the families, if there are consumers.
pub(super) fn add(page: &mut Page, consumers: &[ConsumerStatus]) {
    if consumers.is_empty() {
        return;
    }
    let mut family = page.gauge(
        "ironbark_consumer_phase",
        "What a consumer is doing: 1 for its phase, 0 for the others.",
    );
    for status in consumers {
        for (phase, name) in PHASES {
            let rid = status.name(1);
            let labels = [("suffix", &*status.suffix), ("rid", &rid), ("phase", name)];
            family.sample(&labels, u8::from(status.phase == phase));
        }
    }
    let mut family = page.gauge(
        "ironbark_consumer_last_contact_seconds",
        "When the last message of the provider came, in seconds since 1970; 0: never.",
    );
    each(consumers, |status, labels| {
        let micros = status.last_contact.map_or(0, WallTime::unix_micros);
        family.sample(labels, seconds(u64::try_from(micros).unwrap_or_default()));
    });
    if consumers.iter().any(|status| status.diverged.is_some()) {
        let mut family = page.gauge(
            "ironbark_replica_diverged",
            "Whether the last comparison with the provider found other entries under an equal contextCSN.",
        );
        each(consumers, |status, labels| {
            if let Some(diverged) = status.diverged {
                family.sample(labels, u8::from(diverged));
            }
        });
    }
    for (name, help, figure) in COUNTERS {
        let mut family = page.counter(name, help);
        each(consumers, |status, labels| family.sample(labels, figure(status)));
    }
    let gauges: [(&'static str, &str, Figure); 2] = [
        (
            "ironbark_consumer_entries",
            "Entries that came with the last search.",
            |status| status.entries,
        ),
        (
            "ironbark_consumer_deletes",
            "Entries that went with the last search.",
            |status| status.deletes,
        ),
    ];
    for (name, help, figure) in gauges {
        let mut family = page.gauge(name, help);
        each(consumers, |status, labels| family.sample(labels, figure(status)));
    }
}

fn each(consumers: &[ConsumerStatus], mut tell: impl FnMut(&ConsumerStatus, &[(&str, &str)])) {
    for status in consumers {
        let rid = status.name(1);
        tell(status, &[("suffix", &status.suffix), ("rid", &rid)]);
    }
}

const PHASES: [(Phase, &str); 3] = [
    (Phase::Disconnected, "disconnected"),
    (Phase::Refresh, "refresh"),
    (Phase::Persist, "persist"),
];
