//! The examples of the pages are tests: README.md and docs/*.md are read, and their code blocks run.
//!
//! The table has a row for each section with code blocks: the page, the heading, and the test that gets the blocks. A
//! section without a row fails, and so does a row without a section. The test takes all blocks of its section by a
//! pattern (`let [first, second] = section.blocks()`), so a block that nobody runs fails too.
//!
//! A test may replace what cannot be on the machine of a test (`/etc/ldap`, a port, a password that is typed) by
//! [`Block::with`](page::Block::with). Blocks that need another machine, root or an hour go to [`elsewhere`], with the
//! reason; their command lines are checked all the same.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "clippy knows test functions, but not what they call"
)]

mod accounts;
mod benchmarks;
mod changes;
mod cluster;
mod container;
mod elsewhere;
mod explain;
mod load;
mod migration;
mod observability;
mod packages;
mod page;
mod paper;
mod readme;
mod replication;
mod replication_care;
mod sandbox;
mod sock;
mod virtual_values;
mod whole;

use std::collections::BTreeSet;

use self::page::Section;

/// A test for each row, and the table of all of them.
macro_rules! pages {
    ($($page:literal in $module:ident { $($heading:literal => $test:ident,)* })*) => {
        /// Pages, and headings of their sections with code blocks.
        const TABLE: &[(&str, &str)] = &[$($(($page, $heading),)*)*];

        /// The tests, one for each row.
        mod examples {
            $(mod $module {
                use super::super::{$module, page::Section};
                $(#[test]
                fn $test() {
                    $module::$test(&Section::read($page, $heading));
                })*
            })*
        }
    };
}

pages! {
    "README.md" in readme {
        "Install" => install,
        "Two commands" => two_commands,
        "A minute's tour" => tour,
    }
    "docs/accounts.md" in accounts {
        "Numbers: overlay dna" => numbers,
        "Groups: overlay automember" => groups,
    }
    "docs/benchmarks.md" in benchmarks {
        "Benchmarks" => all,
        "Replication" => replication,
        "Soak" => soak,
        "What it takes" => cluster,
        "YCSB" => ycsb,
    }
    "docs/changes.md" in changes {
        "The log of changes" => a_log,
        "Showing it" => showing,
        "Feeding another system" => feeding,
        "Persistent searches" => persistent_searches,
    }
    "docs/cluster.md" in cluster {
        "Clusters" => a_database,
        "Begin" => copies_by_hand,
        "One configuration" => one_configuration,
        "What you see" => status,
        "How it is tested" => faults,
    }
    "docs/container.md" in container {
        "Containers" => run,
        "Replication" => replication,
        "Clusters" => clusters,
    }
    "docs/explain.md" in explain {
        "A review of a configuration: slaptest --explain" => review,
        "Indexes that a log shows to be needed" => indexes,
    }
    "docs/load.md" in load {
        "ironbark load" => first_run,
        "Workloads" => workloads,
    }
    "docs/migration.md" in migration {
        "May I?" => check,
        "By hand" => by_hand,
        "From 389 Directory Server" => from_389,
        "From OpenDJ" => from_opendj,
    }
    "docs/observability.md" in observability {
        "cn=Monitor" => monitor,
        "Which index would pay" => advise,
        "Metrics" => metrics,
        "Logs" => logs,
    }
    "docs/packages.md" in packages {
        "A new directory" => new_directory,
        "From slapd to Ironbark" => takeover,
        "The way back" => way_back,
        "The service" => service,
        "The tarball, and arm64" => tarball,
    }
    "docs/paper.md" in paper {
        "2. The design" => no_commands,
        "4. What it costs" => no_commands_either,
    }
    "docs/replication.md" in replication {
        "A provider" => provider,
        "Two servers, whole" => two_servers,
        "A consumer" => consumer,
        "Delta synchronization" => delta,
        "cn=config" => configuration,
        "Moving from 389 Directory Server" => from_389,
        "Following Active Directory" => active_directory,
    }
    "docs/replication.md" in replication_care {
        "Conflicts" => conflicts,
        "Comparing servers" => compare,
        "Status" => status,
        "Servers that are no more" => forget,
    }
    "docs/sock.md" in sock {
        "A program of your own as a database, or before one" => settings,
        "The protocol" => protocol,
        "An example" => example,
        "The overlay" => overlay,
    }
    "docs/virtual.md" in virtual_values {
        "Class of Service" => class_of_service,
        "Roles" => roles,
        "Collective attributes" => collective,
        "Dynamic groups" => dynamic_groups,
        "Where a value is from" => origin,
    }
}

#[test]
fn every_section_with_examples_has_a_row_and_every_row_has_a_section() {
    let rows: BTreeSet<(String, String)> = TABLE
        .iter()
        .map(|(page, heading)| ((*page).to_owned(), (*heading).to_owned()))
        .collect();
    let there: BTreeSet<(String, String)> = page::all()
        .iter()
        .flat_map(|name| Section::all_of(name))
        .map(|section| (section.page.clone(), section.heading.clone()))
        .collect();
    let without_row: Vec<_> = there.difference(&rows).collect();
    assert!(without_row.is_empty(), "code blocks that no test runs: {without_row:?}");
    let without_section: Vec<_> = rows.difference(&there).collect();
    assert!(
        without_section.is_empty(),
        "rows without code blocks: {without_section:?}"
    );
    assert_eq!(rows.len(), TABLE.len(), "a row is there twice");
}
