//! kill -9 in the middle of writes: acknowledged changes are there, indexes and entries agree, no recovery step is
//! needed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tests"
)]

use crate::common;

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use common::*;
use ironbark_store::{Database, DatabaseOptions, DitScope, Effect, ValueChange};

const DIRECTORY: &str = "IRONBARK_STORE_CRASH_DIRECTORY";
const GROUP: &str = "cn=all,ou=groups,dc=example,dc=com";

fn durable(directory: &std::path::Path) -> DatabaseOptions {
    DatabaseOptions {
        no_sync: false,
        ..options(directory)
    }
}

/// Not a test of its own: the writer that the test below starts and kills. It prints each number after its commit.
#[test]
fn crash_writer() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let database = Database::open(durable(directory.as_ref()), schema()).unwrap();
    let first = database.snapshot().unwrap().view().entry_count().unwrap();
    for n in first.. {
        let (name, cn) = (format!("cn=p{n},ou=people,dc=example,dc=com"), format!("p{n}"));
        let mut write = database.write().unwrap();
        write
            .apply_effect(&add(&name, &[("objectClass", "person"), ("cn", &cn), ("sn", "killed")]))
            .unwrap();
        let member = ValueChange::Add {
            attribute: "member".into(),
            values: vec![name.into_bytes()],
        };
        write.apply_effect(&modify(GROUP, vec![member])).unwrap();
        write.commit().unwrap();
        // Unbuffered enough: one line, one write.
        println!("\ncommitted {n}");
    }
}

#[test]
fn acknowledged_writes_survive_kill() {
    let directory = tempfile::tempdir().unwrap();
    {
        let database = Database::open(durable(directory.path()), schema()).unwrap();
        let mut write = database.write().unwrap();
        for effect in base_tree() {
            write.apply_effect(&effect).unwrap();
        }
        write
            .apply_effect(&Effect::Add {
                dn: GROUP.into(),
                attributes: attributes(&[("objectClass", "groupOfNames"), ("cn", "all")]),
            })
            .unwrap();
        write.commit().unwrap();
    }
    let mut acknowledged = 3;
    for round in 1..=4u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["crash::crash_writer", "--exact", "--nocapture", "--test-threads=1"])
            .env(DIRECTORY, directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let wanted = acknowledged + 20 * round;
        while acknowledged < wanted {
            let line = lines.next().expect("the writer is alive");
            if let Some(number) = line.strip_prefix("committed ") {
                acknowledged = number.parse().unwrap();
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Lines that were not read yet count too.
        for line in lines {
            if let Some(number) = line.strip_prefix("committed ") {
                acknowledged = number.parse().unwrap();
            }
        }
        let database = Database::open(durable(directory.path()), schema()).unwrap();
        assert_sound(&database);
        let snapshot = database.snapshot().unwrap();
        let view = snapshot.view();
        let count = view.entry_count().unwrap();
        assert!(count > acknowledged, "{count} entries, {acknowledged} acknowledged");
        assert!(count <= acknowledged + 2, "no more than one write was under way");
        for filter in ["(sn=killed)", "(cn=*p*)", "(objectClass=*)"] {
            let found = search(view, "dc=example,dc=com", DitScope::Subtree, filter);
            assert_eq!(found, scan(view, "dc=example,dc=com", DitScope::Subtree, filter));
        }
        for n in 4..=acknowledged {
            let filter = format!("(member=cn=p{n},ou=people,dc=example,dc=com)");
            assert_eq!(
                search(view, "dc=example,dc=com", DitScope::Subtree, &filter),
                [GROUP],
                "{n}"
            );
        }
    }
}
