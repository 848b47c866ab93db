//! The figures that `/metrics` shows.

use ironbark_directory::Statistics;
use ironbark_ldap_proto::Operation;
use ironbark_runtime::process;
use ironbark_store::{DatabaseStat, IndexProgress};

use super::{
    Source, clusters, conflicts, consumers, sessions,
    text::{Page, seconds},
};

/// Takes one number out of several.
type Figure<T> = fn(&T) -> u64;

/// All present figures.
pub(super) fn render(source: &Source) -> String {
    let mut page = Page::default();
    page.gauge("ironbark_build_info", "Version of the server; always 1.")
        .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    let statistics = source.directory.statistics();
    operations(&mut page, statistics);
    searches(&mut page, statistics);
    connections(&mut page, source);
    commits(&mut page, statistics);
    databases(&mut page, source);
    index_builds(&mut page, source);
    consumers::add(&mut page, &source.replication.status());
    clusters::add(&mut page, &source.replication.clusters());
    sessions::add(&mut page, source.directory.sync_sessions());
    conflicts::add(&mut page, &source.directory);
    page.counter(
        "ironbark_log_lines_lost_total",
        "Lines of the log that its targets did not take in time, or not at all.",
    )
    .sample(&[], source.log.lost());
    process_figures(&mut page, source);
    page.finish()
}

fn operations(page: &mut Page, statistics: &Statistics) {
    let mut family = page.counter(
        "ironbark_operations_initiated_total",
        "Requests received, by operation.",
    );
    for (operation, name) in NAMES {
        family.sample(&[("operation", name)], statistics.initiated(operation));
    }
    let mut family = page.counter(
        "ironbark_operations_completed_total",
        "Operations that have ended, given up ones included, by operation.",
    );
    for (operation, name) in NAMES {
        family.sample(&[("operation", name)], statistics.completed(operation));
    }
    let mut family = page.counter(
        "ironbark_operation_results_total",
        "Results sent, by operation, result code and its name.",
    );
    for (operation, name) in with_results() {
        for (code, count) in statistics.results(operation) {
            let number = code.map_or_else(|| "other".to_owned(), |code| code.0.to_string());
            let text = code.map_or("other", |code| code.name().unwrap_or("unregistered"));
            family.sample(&[("operation", name), ("code", &number), ("result", text)], count);
        }
    }
    let mut family = page.histogram(
        "ironbark_operation_duration_seconds",
        "Time from the complete request to the result, by operation.",
    );
    for (operation, name) in with_results() {
        let latency = statistics.latency(operation);
        // From 16 microseconds to 67 seconds.
        let limits = (4..=26).map(|power| (seconds(1 << power), latency.below_power(power)));
        family.distribution(
            &[("operation", name)],
            limits,
            seconds(latency.sum_micros),
            latency.count,
        );
    }
}

fn searches(page: &mut Page, statistics: &Statistics) {
    for (name, help, value) in [
        (
            "ironbark_entries_sent_total",
            "Entries returned by searches.",
            statistics.entries(),
        ),
        (
            "ironbark_references_sent_total",
            "References returned by searches.",
            statistics.references(),
        ),
        (
            "ironbark_messages_sent_total",
            "LDAP messages sent.",
            statistics.pdus_sent(),
        ),
        (
            "ironbark_sent_bytes_total",
            "Octets sent to LDAP clients.",
            statistics.octets_sent(),
        ),
        (
            "ironbark_unindexed_searches_total",
            "Searches that no index served, so that every entry was looked at.",
            statistics.unindexed_searches(),
        ),
    ] {
        page.counter(name, help).sample(&[], value);
    }
}

fn connections(page: &mut Page, source: &Source) {
    page.counter("ironbark_connections_accepted_total", "Connections accepted.")
        .sample(&[], source.pool.total());
    let [failed, delayed, refused] = source.directory.bind_failures().counts();
    let sources = source.pool.sources();
    for (name, help, value) in [
        (
            "ironbark_connections_refused_total",
            "Connections closed because their address had as many as it may (connection-limit).",
            sources.refused(),
        ),
        (
            "ironbark_proxies_refused_total",
            "Connections closed because of their PROXY protocol header, or because their source is not trusted.",
            sources.refused_proxies(),
        ),
        (
            "ironbark_bind_failures_total",
            "Binds over TCP that ended with invalidCredentials while bind-failure-limit was set.",
            failed,
        ),
        (
            "ironbark_binds_delayed_total",
            "Binds that had to wait because of earlier failures from their address.",
            delayed,
        ),
        (
            "ironbark_binds_refused_total",
            "Binds that were refused unseen because of earlier failures from their address.",
            refused,
        ),
    ] {
        page.counter(name, help).sample(&[], value);
    }
    page.gauge("ironbark_connections", "Connections that are open.")
        .sample(&[], source.pool.current());
    page.gauge("ironbark_operations_executing", "Operations under way.")
        .sample(&[], source.pool.under_way());
    page.gauge("ironbark_reactors", "Threads that serve connections.")
        .sample(&[], source.pool.reactors());
}

fn commits(page: &mut Page, statistics: &Statistics) {
    let commits = statistics.commits();
    let count = commits.iter().map(|(_, count)| count).sum();
    let limits = commits.iter().scan(0, |sum, (most, count)| {
        *sum += count;
        Some((most.to_string(), *sum))
    });
    page.histogram("ironbark_commit_writes", "Write operations that shared a commit.")
        .distribution(&[], limits, statistics.committed_writes(), count);
}

fn databases(page: &mut Page, source: &Source) {
    let configuration = source.directory.configuration();
    let stats: Vec<_> = configuration
        .contexts
        .iter()
        .filter_map(|context| Some((context.suffixes().first()?.pretty(), context.database()?.stat().ok()?)))
        .collect();
    let families: [(&'static str, &str, Figure<DatabaseStat>); 6] = [
        ("ironbark_database_entries", "Entries.", |stat| stat.entries),
        ("ironbark_database_size_bytes", "Size of the pages in use.", |stat| {
            stat.pages_used.saturating_mul(stat.page_size)
        }),
        (
            "ironbark_database_free_bytes",
            "Size of those of them that hold nothing and will be used again.",
            |stat| stat.pages_free.saturating_mul(stat.page_size),
        ),
        (
            "ironbark_database_max_bytes",
            "Size that the database may have (maxsize).",
            |stat| stat.pages_max.saturating_mul(stat.page_size),
        ),
        ("ironbark_database_readers", "Reader slots in use.", |stat| {
            stat.readers_used.into()
        }),
        ("ironbark_database_readers_max", "Reader slots (maxreaders).", |stat| {
            stat.readers_max.into()
        }),
    ];
    for (name, help, figure) in families {
        let mut family = page.gauge(name, help);
        for (suffix, stat) in &stats {
            family.sample(&[("suffix", suffix)], figure(stat));
        }
    }
}

/// Indexes that are being built.
fn index_builds(page: &mut Page, source: &Source) {
    let configuration = source.directory.configuration();
    let builds = source.directory.index_builds().unwrap_or_default();
    let suffix = |number| {
        let context = configuration.contexts.iter().find(|context| context.number == number);
        context
            .and_then(|context| context.suffixes().first())
            .map_or("", |suffix| suffix.pretty())
    };
    let families: [(&'static str, &str, Figure<IndexProgress>); 2] = [
        (
            "ironbark_index_build_done_entries",
            "Entries that are in an index that is being built.",
            |build| build.done,
        ),
        ("ironbark_index_build_entries", "Entries that will be in it.", |build| {
            build.total
        }),
    ];
    for (name, help, figure) in families {
        let mut family = page.gauge(name, help);
        for build in &builds {
            let labels = [("suffix", suffix(build.database)), ("index", &build.progress.index)];
            family.sample(&labels, figure(&build.progress));
        }
    }
}

fn process_figures(page: &mut Page, source: &Source) {
    let usage = process::usage();
    let micros = |micros: i64| seconds(u64::try_from(micros).unwrap_or_default());
    page.counter("process_cpu_seconds_total", "Processor time, user and system.")
        .sample(
            &[],
            seconds(u64::try_from(usage.processor.as_micros()).unwrap_or(u64::MAX)),
        );
    page.gauge(
        "process_resident_memory_bytes",
        "Memory, with the pages of databases that are mapped.",
    )
    .sample(&[], usage.resident_bytes);
    page.gauge("process_virtual_memory_bytes", "Address space, with all of maxsize.")
        .sample(&[], usage.virtual_bytes);
    page.gauge("process_open_fds", "Open files and sockets.")
        .sample(&[], usage.open_files);
    page.gauge("process_max_fds", "Most files and sockets that may be open.")
        .sample(&[], source.max_descriptors);
    page.gauge("process_threads", "Threads.").sample(&[], usage.threads);
    page.gauge(
        "process_start_time_seconds",
        "When the process started, in seconds since 1970.",
    )
    .sample(&[], micros(source.started.unix_micros()));
}

/// Operations that have a result.
fn with_results() -> impl Iterator<Item = (Operation, &'static str)> {
    NAMES
        .into_iter()
        .filter(|(operation, _)| operation.response_tag().is_some())
}

const NAMES: [(Operation, &str); 10] = [
    (Operation::Bind, "bind"),
    (Operation::Unbind, "unbind"),
    (Operation::Search, "search"),
    (Operation::Compare, "compare"),
    (Operation::Modify, "modify"),
    (Operation::ModifyDn, "modrdn"),
    (Operation::Add, "add"),
    (Operation::Delete, "delete"),
    (Operation::Abandon, "abandon"),
    (Operation::Extended, "extended"),
];
