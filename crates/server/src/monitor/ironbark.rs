//! cn=Ironbark,cn=Monitor: entries that slapd does not have.

use ironbark_config::IndexKinds;
use ironbark_directory::{Configuration, FilterReport, FilterShape, IndexBuild, NamingContext, Service, Statistics};
use ironbark_model::Schema;
use ironbark_store::{IndexProgress, TermKind};

use super::{
    boolean,
    operations::KINDS,
    tree::{Node, Tree},
};
use crate::pool::Pool;

/// Filters that are shown at most.
const MOST_FILTERS: usize = 512;

pub(super) fn add(tree: &mut Tree<'_>, configuration: &Configuration, directory: &Service, pool: &Pool) {
    let statistics = directory.statistics();
    tree.container(
        "Ironbark",
        "This subsystem contains what OpenLDAP has no entries for.",
        |_| {},
    );
    latency(tree, statistics);
    results(tree, statistics);
    commits(tree, statistics);
    sources(tree, directory, pool);
    let report = statistics.filters();
    // A database that cannot be read is reported elsewhere.
    let builds = directory.index_builds().unwrap_or_default();
    indexes(tree, configuration, &report, &builds);
    filters(tree, statistics, &report);
}

fn container(tree: &mut Tree<'_>, name: &str, description: &str, fill: impl FnOnce(&mut Node<'_>)) {
    tree.add(&[name, "Ironbark"], "monitorContainer", |node| {
        node.set("description", description);
        fill(node);
    });
}

fn latency(tree: &mut Tree<'_>, statistics: &Statistics) {
    let description = "Microseconds from the complete request to the result, right to an eighth.";
    container(tree, "Latency", description, |_| {});
    for (operation, name) in KINDS.iter().filter(|(operation, _)| operation.response_tag().is_some()) {
        let latency = statistics.latency(*operation);
        tree.add(
            &[&format!("{name} Latency"), "Latency", "Ironbark"],
            "monitoredObject",
            |node| {
                node.count("monitorCounter", latency.count);
                for (attribute, per_mille) in [
                    ("ironbarkLatencyP50", 500),
                    ("ironbarkLatencyP95", 950),
                    ("ironbarkLatencyP99", 990),
                    ("ironbarkLatencyP999", 999),
                ] {
                    node.count(attribute, latency.quantile(per_mille));
                }
                node.count("ironbarkLatencyMax", latency.max_micros);
                node.count("ironbarkLatencySum", latency.sum_micros);
            },
        );
    }
}

fn results(tree: &mut Tree<'_>, statistics: &Statistics) {
    container(tree, "Results", "Results by operation and code.", |_| {});
    for (operation, name) in KINDS.iter().filter(|(operation, _)| operation.response_tag().is_some()) {
        tree.add(
            &[&format!("{name} Results"), "Results", "Ironbark"],
            "monitoredObject",
            |node| {
                for (code, count) in statistics.results(*operation) {
                    let text = match code {
                        Some(code) => format!("{} {} {count}", code.0, code.name().unwrap_or("unregistered")),
                        None => format!("- others {count}"),
                    };
                    node.set("ironbarkResult", &text);
                }
            },
        );
    }
}

fn commits(tree: &mut Tree<'_>, statistics: &Statistics) {
    let description = "Commits by the number of writes that shared them.";
    container(tree, "Commits", description, |node| {
        node.count("monitorCounter", statistics.committed_writes());
        for (most, commits) in statistics.commits().into_iter().filter(|(_, commits)| *commits != 0) {
            node.set("ironbarkGroupSize", &format!("{most} {commits}"));
        }
    });
}

fn sources(tree: &mut Tree<'_>, directory: &Service, pool: &Pool) {
    container(tree, "Sources", "What limits by source address have held back.", |_| {});
    let [failed, delayed, refused] = directory.bind_failures().counts();
    for (name, count) in [
        ("Refused Connections", pool.sources().refused()),
        ("Refused Proxies", pool.sources().refused_proxies()),
        ("Failed Binds", failed),
        ("Delayed Binds", delayed),
        ("Refused Binds", refused),
    ] {
        tree.add(&[name, "Sources", "Ironbark"], "monitoredObject", |node| {
            node.count("monitorCounter", count);
        });
    }
}

/// The indexes of each database, how many searches have used each of them, and the progress of those being built.
fn indexes(tree: &mut Tree<'_>, configuration: &Configuration, report: &FilterReport, builds: &[IndexBuild]) {
    container(tree, "Indexes", "Searches that used an index, since the start.", |_| {});
    for context in &configuration.contexts {
        let Some(database) = context.database() else { continue };
        let name = format!("Context {}", context.number);
        tree.add(&[&name, "Indexes", "Ironbark"], "monitoredObject", |node| {
            for suffix in context.suffixes() {
                node.set("namingContexts", suffix.pretty());
            }
            if let Ok(stat) = database.stat() {
                node.count("olmMDBEntries", stat.entries);
            }
            for index in &context.settings.mdb.indexes {
                for (kind, word, terms) in INDEX_KINDS {
                    if index.built().0 & kind.0 != 0 {
                        let uses = uses(&configuration.schema, context, report, &index.attribute, terms);
                        node.set("ironbarkIndex", &format!("{} {word} {uses}", index.attribute));
                    }
                }
            }
            for build in builds.iter().filter(|build| build.database == context.number) {
                let IndexProgress { index, done, total } = &build.progress;
                node.set("ironbarkIndexBuild", &format!("{index} {done} {total}"));
            }
        });
    }
}

/// The kinds of index, and the filter items that they serve.
const INDEX_KINDS: [(IndexKinds, &str, &[TermKind]); 4] = [
    (IndexKinds::PRESENCE, "pres", &[TermKind::Presence]),
    (IndexKinds::EQUALITY, "eq", &[TermKind::Equality, TermKind::Inequality]),
    (IndexKinds::APPROXIMATE, "approx", &[TermKind::Approximate]),
    (IndexKinds::SUBSTRINGS, "sub", &[TermKind::Substring]),
];

/// Searches for an attribute, or for another attribute that its index also serves.
fn uses(schema: &Schema, context: &NamingContext, report: &FilterReport, attribute: &str, kinds: &[TermKind]) -> u64 {
    let number = |name: &str| Some(schema.find_attribute_type(name.split(';').next()?.as_bytes())?.number);
    let (Some(indexed), Some(suffix)) = (number(attribute), context.suffixes().first()) else {
        return 0;
    };
    let serves = |asked: &str| number(asked).is_some_and(|asked| schema.is_subtype(asked, indexed));
    report
        .uses
        .iter()
        .filter(|((database, asked, kind), _)| **database == *suffix.pretty() && kinds.contains(kind) && serves(asked))
        .map(|(_, count)| count)
        .sum()
}

fn filters(tree: &mut Tree<'_>, statistics: &Statistics, report: &FilterReport) {
    let description = "Filters of searches without their values, and what they cost.";
    container(tree, "Filters", description, |_| {});
    tree.add(&["Unindexed", "Filters", "Ironbark"], "monitoredObject", |node| {
        node.set("description", "Searches that no index served");
        node.count("monitorCounter", statistics.unindexed_searches());
    });
    tree.add(&["Others", "Filters", "Ironbark"], "monitoredObject", |node| {
        node.set("description", "Searches with filters that are not remembered");
        cost(node, report.others);
    });
    for (number, shape) in report.shapes.iter().take(MOST_FILTERS).enumerate() {
        tree.add(
            &[&format!("Filter {number}"), "Filters", "Ironbark"],
            "monitoredObject",
            |node| {
                filter(node, shape);
            },
        );
    }
}

fn filter(node: &mut Node<'_>, shape: &FilterShape) {
    node.set("namingContexts", &shape.database);
    node.set("ironbarkFilter", &shape.filter);
    node.set("ironbarkIndexed", boolean(shape.indexed));
    for term in &shape.terms {
        let outcome = if term.indexed { "indexed" } else { "unindexed" };
        node.set(
            "ironbarkFilterTerm",
            &format!("{} {} {outcome}", term.attribute, term.kind.word()),
        );
    }
    cost(node, shape.cost);
}

fn cost(node: &mut Node<'_>, cost: ironbark_directory::FilterCost) {
    node.count("ironbarkSearches", cost.searches);
    node.count("ironbarkCandidates", cost.candidates);
    node.count("ironbarkEntries", cost.entries);
}
