//! Indexes of a database in use: built and deleted in steps, across crashes, and never with a wrong answer.

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
    ops::ControlFlow,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
};

use common::*;
use ironbark_store::{Database, DitScope, Effect, IndexDefinition, IndexStep, ValueChange};

const ALL: &str = "dc=example,dc=com";

fn name(n: usize) -> String {
    format!("uid=u{n},ou=people,dc=example,dc=com")
}

fn fill(store: &Store, count: usize) {
    store.people();
    let effects: Vec<_> = (0..count)
        .map(|n| {
            let (uid, description) = (format!("u{n}"), format!("about {}", n % 7));
            add(
                &name(n),
                &[
                    ("objectClass", "person"),
                    ("uid", &uid),
                    ("cn", &uid),
                    ("cn;lang-de", "deutsch"),
                    ("sn", ["Smith", "Jones"][n % 2]),
                    ("description", &description),
                ],
            )
        })
        .collect();
    store.apply(&effects).unwrap();
}

fn more(definitions: &[IndexDefinition]) -> Vec<IndexDefinition> {
    let mut all = indexes();
    all.retain(|index| !definitions.iter().any(|other| other.attribute == index.attribute));
    all.extend_from_slice(definitions);
    all
}

fn finish(database: &Database) {
    while database.index_step(50).unwrap().is_some() {}
    assert!(!database.has_index_work());
}

fn is_indexed(store: &Store, filter: &str) -> bool {
    store.explain(ALL, DitScope::Subtree, filter).starts_with("way: index")
}

#[test]
fn a_new_index_is_used_when_it_is_complete() {
    let store = store();
    fill(&store, 400);
    finish(&store.database);
    store
        .database
        .define_indexes(&more(&[index("description", "eq,sub")]))
        .unwrap();
    assert_eq!(store.database.inactive_indexes(), ["description eq", "description sub"]);
    let mut done = 0;
    while let Some(step) = store.database.index_step(50).unwrap() {
        let IndexStep::Built { progress, is_complete } = step else {
            panic!("{step:?}");
        };
        // Both are built in one walk.
        assert_eq!(progress.len(), 2);
        assert_eq!(progress[0].total, 403);
        assert!(progress[0].done >= done);
        done = progress[0].done;
        assert_eq!(is_indexed(&store, "(description=about 3)"), is_complete);
        assert_eq!(store.database.index_progress().unwrap().is_empty(), is_complete);
    }
    assert_eq!(done, 403);
    let found = store.search(ALL, DitScope::Subtree, "(description=about 3)");
    assert_eq!(found.len(), 57);
    assert!(is_indexed(&store, "(description=*out 3*)"));
}

#[test]
fn an_index_serves_until_the_one_in_its_place_is_built() {
    let store = store();
    fill(&store, 300);
    let other = index("cn", "pres,eq,sub,approx,nosubtypes");
    store.database.define_indexes(&more(&[other])).unwrap();
    let mut steps = Vec::new();
    loop {
        assert!(is_indexed(&store, "(cn=u17)"), "{steps:?}");
        assert_eq!(store.search(ALL, DitScope::Subtree, "(cn=u17)").len(), 1);
        match store.database.index_step(40).unwrap() {
            Some(step) => steps.push(step),
            None => break,
        }
    }
    let deleted = |step: &&IndexStep| matches!(step, IndexStep::Deleted { is_complete: true, .. });
    assert_eq!(
        steps.iter().filter(deleted).count(),
        4,
        "what was replaced is deleted at the end: {steps:?}"
    );
    assert!(matches!(steps[0], IndexStep::Built { is_complete: false, .. }));
    assert_eq!(store.search(ALL, DitScope::Subtree, "(cn=deutsch)").len(), 300);
}

#[test]
fn a_dropped_index_is_not_used_and_goes_in_steps() {
    let store = store();
    fill(&store, 3000);
    let mut fewer = indexes();
    fewer.retain(|index| &*index.attribute != "uid");
    store.database.define_indexes(&fewer).unwrap();
    assert!(!is_indexed(&store, "(uid=u17)"));
    let mut steps = 0;
    let deleted = |step: Option<IndexStep>| match step {
        Some(IndexStep::Deleted { index, is_complete }) => {
            assert_eq!(index, "uid eq");
            is_complete
        }
        other => panic!("{other:?}"),
    };
    while !deleted(store.database.index_step(10).unwrap()) {
        steps += 1;
        if steps == 5 {
            // The index is wanted again: the rest of the old one is of no use.
            store.database.define_indexes(&indexes()).unwrap();
            assert!(!is_indexed(&store, "(uid=u17)"));
        }
    }
    assert!(steps > 20, "{steps} steps");
    finish(&store.database);
    assert!(is_indexed(&store, "(uid=u17)"));
    for n in [0, 17, 2999] {
        assert_eq!(store.search(ALL, DitScope::Subtree, &format!("(uid=u{n})")), [name(n)]);
    }
    assert_sound(&store.database);
}

#[test]
fn a_definition_that_cannot_be_had_changes_nothing() {
    let store = store();
    fill(&store, 10);
    finish(&store.database);
    let error = store
        .database
        .define_indexes(&more(&[index("nonsense", "eq")]))
        .unwrap_err();
    assert!(
        error.to_string().contains("index attribute \"nonsense\" undefined"),
        "{error}"
    );
    assert!(store.database.inactive_indexes().is_empty());
    assert!(!store.database.has_index_work());
}

/// Compares answers with scans until the end.
fn read(database: &Database, ended: &AtomicBool) {
    let filters = [
        "(description=about 3)",
        "(description=*bout 5)",
        "(cn=u7)",
        "(cn=deutsch)",
        "(!(cn=*))",
        "(&(sn=smith)(description=*))",
        "(uid=u*)",
    ];
    for filter in filters.iter().cycle() {
        let snapshot = database.snapshot().unwrap();
        let view = snapshot.view();
        let found = search(view, ALL, DitScope::Subtree, filter);
        assert_eq!(found, scan(view, ALL, DitScope::Subtree, filter), "{filter}");
        if ended.load(Ordering::Relaxed) {
            return;
        }
    }
}

/// Changes, adds and deletes entries until the end.
fn write(database: &Database, ended: &AtomicBool) {
    for n in 0.. {
        let (at, fresh) = (name(n % 300), name(1000 + n));
        let mut write = database.write().unwrap();
        let change = ValueChange::Replace {
            attribute: "description".into(),
            values: values(&[&format!("about {}", n % 11)]),
        };
        write.apply_effect(&modify(&at, vec![change])).unwrap();
        let uid = format!("u{}", 1000 + n);
        let class = ("objectClass", "person");
        let lines = [class, ("uid", uid.as_str()), ("description", "about 3"), ("cn", "u7")];
        write.apply_effect(&add(&fresh, &lines)).unwrap();
        if n % 3 == 0 {
            let delete = Effect::Delete { dn: fresh.into() };
            write.apply_effect(&delete).unwrap();
        }
        write.commit().unwrap();
        if ended.load(Ordering::Relaxed) {
            return;
        }
    }
}

#[test]
fn a_build_that_is_told_to_stop_does_no_further_step_and_goes_on_later() {
    let store = store();
    fill(&store, 300);
    let mut steps = 0;
    let mut end = |_| {
        steps += 1;
        ControlFlow::Break(())
    };
    assert!(!store.database.reindex(&["cn"], &mut end).unwrap());
    assert_eq!(steps, 1);
    let built = store.database.index_progress().unwrap();
    assert!(built.iter().all(|index| index.done == 0), "{built:?}");
    assert!(store.database.has_index_work() && !store.database.inactive_indexes().is_empty());
    finish(&store.database);
    assert!(store.database.inactive_indexes().is_empty());
    assert!(is_indexed(&store, "(cn=u17)"));
}

/// Writers, readers, and an administrator who keeps changing the indexes.
#[test]
fn answers_are_right_whatever_happens_to_indexes() {
    let store = store();
    fill(&store, 300);
    let (database, ended) = (&store.database, &AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| read(database, ended));
        scope.spawn(|| read(database, ended));
        scope.spawn(|| write(database, ended));
        for round in 0..24 {
            let definitions = match round % 4 {
                0 => more(&[index("description", "pres,eq")]),
                1 => more(&[index("description", "eq,sub"), index("uid", "eq,sub")]),
                2 => more(&[index("cn", "eq,nolang"), index("sn", "pres")]),
                _ => indexes(),
            };
            database.define_indexes(&definitions).unwrap();
            // Sometimes to the end, sometimes only in part.
            let most = if round % 3 == 0 { usize::MAX } else { 9 };
            let mut steps = 0;
            while steps < most && database.index_step(37).unwrap().is_some() {
                steps += 1;
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
    finish(database);
    for filter in ["(description=about 3)", "(cn=deutsch)", "(uid=u1001)"] {
        let snapshot = database.snapshot().unwrap();
        let found = search(snapshot.view(), ALL, DitScope::Subtree, filter);
        assert_eq!(found, scan(snapshot.view(), ALL, DitScope::Subtree, filter));
    }
    assert_sound(database);
}

/// A snapshot may be older than the catalog that it uses. It must not use an index that was completed in between.
#[test]
fn a_snapshot_from_before_an_index_was_complete_does_not_use_it() {
    let store = store();
    fill(&store, 100);
    let (database, ended) = (&store.database, &AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    let snapshot = database.snapshot().unwrap();
                    let found = search(snapshot.view(), ALL, DitScope::Subtree, "(description=about 3)");
                    assert_eq!(found.len(), 14);
                }
            });
        }
        for _ in 0..400 {
            database.define_indexes(&more(&[index("description", "eq")])).unwrap();
            while database.index_step(200).unwrap().is_some() {}
            database.define_indexes(&indexes()).unwrap();
            while database.index_step(200).unwrap().is_some() {}
        }
        ended.store(true, Ordering::Relaxed);
    });
}

const DIRECTORY: &str = "IRONBARK_STORE_INDEXING_DIRECTORY";

/// Not a test of its own: the builder that the test below starts and kills. It prints its progress after each step.
#[test]
fn killed_builder() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let mut options = options(directory.as_ref());
    options.indexes.push(index("description", "eq,sub"));
    let database = Database::open(options, schema()).unwrap();
    while let Some(step) = database.index_step(5).unwrap() {
        if let IndexStep::Built { progress, .. } = step {
            println!("\nbuilt {}", progress[0].done);
        }
    }
    println!("\nbuilt all");
}

#[test]
fn a_build_goes_on_after_kill_where_it_was() {
    let store = store();
    fill(&store, 1500);
    let Store { database, directory } = store;
    drop(database);
    let mut built = 0;
    for wanted in [200, 500, 900] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["indexing::killed_builder", "--exact", "--nocapture", "--test-threads=1"])
            .env(DIRECTORY, directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let mut numbers = lines.filter_map(|line| line.strip_prefix("built ").map(str::to_owned));
        let first: u64 = numbers.next().expect("a step").parse().unwrap();
        assert!(first > built, "{first} after {built}: it goes on where it was");
        built = first;
        while built < wanted {
            built = numbers.next().expect("the builder is alive").parse().unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Lines that were not read yet count too.
        if let Some(last) = numbers.last() {
            assert_ne!(last, "all", "it was killed in the middle");
            built = last.parse().unwrap();
        }
    }
    let mut options = options(directory.path());
    options.indexes.push(index("description", "eq,sub"));
    let database = Database::open(options, schema()).unwrap();
    let progress = database.index_progress().unwrap();
    assert!(
        progress.iter().all(|one| one.done >= built && one.done < one.total),
        "{progress:?}"
    );
    let store = Store { database, directory };
    assert!(!is_indexed(&store, "(description=about 3)"));
    finish(&store.database);
    assert!(is_indexed(&store, "(description=about 3)"));
    for filter in ["(description=about 3)", "(description=*out 6)"] {
        let snapshot = store.database.snapshot().unwrap();
        let found = search(snapshot.view(), ALL, DitScope::Subtree, filter);
        assert_eq!(found, scan(snapshot.view(), ALL, DitScope::Subtree, filter));
        assert!(found.len() > 200);
    }
    assert_sound(&store.database);
}
