//! Commits that fail because the file may not grow: numbers that they gave stand for other things later, whichever
//! handle gives them again. Snapshots from before, and readers at that moment, see what was committed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tests"
)]

mod common;

use std::{
    ops::ControlFlow,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
};

use common::*;
use ironbark_store::{Database, Effect, Location, View};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const DIRECTORY: &str = "IRONBARK_STORE_FAILED_COMMIT_DIRECTORY";
const ROUNDS: usize = 20;

/// Not a test of its own: its process has a limit of the size of files.
#[test]
fn writer_of_a_file_that_cannot_grow() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let first = Database::open(options(directory.as_ref()), schema()).unwrap();
    let second = first.under(schema(), vec![dn("dc=example,dc=com")]).unwrap();
    let mut write = first.write().unwrap();
    for effect in base_tree() {
        write.apply_effect(&effect).unwrap();
    }
    write.commit().unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let end = End(&ended);
        let readers = [&first, &second].map(|database| scope.spawn(|| read(database, &ended)));
        for round in 0..ROUNDS {
            let before = [&first, &second].map(|database| database.snapshot().unwrap());
            let (fails, succeeds) = if round % 2 == 0 {
                (&first, &second)
            } else {
                (&second, &first)
            };
            commit_that_fails(fails, round);
            let mut write = succeeds.write().unwrap();
            for effect in people(round, "yes") {
                write.apply_effect(&effect).unwrap();
            }
            write.commit().unwrap();
            for snapshot in before {
                assert_eq!(seen(snapshot.view()), round);
            }
            for database in [&first, &second] {
                assert_eq!(seen(database.snapshot().unwrap().view()), round + 1);
            }
        }
        drop(end);
        for reader in readers {
            reader.join().unwrap();
        }
    });
    assert_sound(&first);
}

/// People with an attribute option that is new, and with a set of values that recurs: both get the next numbers.
fn people(round: usize, word: &str) -> Vec<Effect> {
    let person = |n: usize| {
        let name = format!("cn=p{round}-{n},ou=people,dc=example,dc=com");
        let option = format!("cn;lang-{word}{round}");
        let own = format!("{word} {round}");
        let common = format!("{word} {round} {}", "in common ".repeat(30));
        add(
            &name,
            &[
                ("objectClass", "person"),
                ("cn", &format!("p{round}-{n}")),
                (&option, &own),
                ("sn", "s"),
                ("description", &common),
            ],
        )
    };
    (0..8).map(person).collect()
}

fn commit_that_fails(database: &Database, round: usize) {
    let mut write = database.write().unwrap();
    for effect in people(round, "no") {
        write.apply_effect(&effect).unwrap();
    }
    let text = "x".repeat(1 << 20);
    let large = [
        ("objectClass", "person"),
        ("cn", "large"),
        ("sn", "s"),
        ("description", &*text),
    ];
    write.apply_effect(&add("cn=large,dc=example,dc=com", &large)).unwrap();
    let limit = getrlimit(Resource::Fsize);
    let length = std::fs::metadata(database.options().directory.join("data.mdb"))
        .unwrap()
        .len();
    let current = Some(length);
    setrlimit(Resource::Fsize, Rlimit { current, ..limit }).unwrap();
    let failed = write.commit();
    setrlimit(Resource::Fsize, limit).unwrap();
    assert!(failed.is_err());
}

/// Ends the readers, also when the test fails.
struct End<'e>(&'e AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads all the time, and sees nothing but whole rounds, in order.
fn read(database: &Database, ended: &AtomicBool) {
    let mut last = 0;
    while !ended.load(Ordering::Relaxed) {
        let now = seen(database.snapshot().unwrap().view());
        assert!(now >= last);
        last = now;
    }
}

/// The number of rounds that are there, each as it was committed.
fn seen(view: View<'_>) -> usize {
    let is_there = |round: &usize| {
        let name = dn(&format!("cn=p{round}-0,ou=people,dc=example,dc=com"));
        matches!(view.locate(&name).unwrap(), Location::Entry(_))
    };
    let rounds = (0..ROUNDS).take_while(is_there).count();
    for round in 0..rounds {
        for n in 0..8 {
            let id = locate(view, &format!("cn=p{round}-{n},ou=people,dc=example,dc=com"));
            let record = view.record(id).unwrap().unwrap();
            let values = |name: &str| {
                let name = view.schema().attribute_description(name.as_bytes()).unwrap();
                let mut found = Vec::new();
                let values = record.values(&name).unwrap_or_else(|| panic!("no {name:?}"));
                values
                    .for_each(&mut |value| {
                        found.push(String::from_utf8(value.to_vec()).unwrap());
                        ControlFlow::Continue(())
                    })
                    .unwrap();
                found
            };
            assert_eq!(values(&format!("cn;lang-yes{round}")), [format!("yes {round}")]);
            let common = format!("yes {round} {}", "in common ".repeat(30));
            assert_eq!(values("description"), [common]);
        }
    }
    assert_eq!(view.entry_count().unwrap(), 3 + 8 * rounds as u64);
    rounds
}

#[test]
fn what_a_failed_commit_has_numbered_is_numbered_anew_beside_other_handles_and_snapshots() {
    let directory = tempfile::tempdir().unwrap();
    // The signal of the limit would end the process.
    let status = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args([
            "writer_of_a_file_that_cannot_grow",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(DIRECTORY, directory.path())
        .status()
        .unwrap();
    assert!(status.success());
    let database = Database::open(options(directory.path()), schema()).unwrap();
    assert_eq!(seen(database.snapshot().unwrap().view()), ROUNDS);
    assert_sound(&database);
}
