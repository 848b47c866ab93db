//! Commits that are not flushed: what a crash of the machine leaves is the last checkpoint, whole.

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
    fs::{self, File},
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use common::*;
use ironbark_store::{Database, DatabaseOptions, DitScope, check};
use ironbark_testkit::outage::{crash_of_machine, forget_memory};
use proptest::prelude::*;

const PAGE: usize = 4096;
const BASE: &str = "dc=example,dc=com";

fn flushed(directory: &Path) -> DatabaseOptions {
    DatabaseOptions {
        no_sync: false,
        ..options(directory)
    }
}

fn open(directory: &Path) -> Arc<Database> {
    Arc::new(Database::open(flushed(directory), schema()).unwrap())
}

fn begun(directory: &Path) -> Arc<Database> {
    let database = open(directory);
    let mut write = database.write().unwrap();
    let top = [("objectClass", "domain"), ("dc", "example")];
    write.apply_effect(&add(BASE, &top)).unwrap();
    write.commit().unwrap();
    database
}

/// Commits one entry for each number, some of which are deleted in further commits.
fn fill(database: &Database, numbers: std::ops::Range<u32>) {
    for n in numbers {
        let (cn, long) = (format!("p{n}"), "x".repeat(if n % 7 == 0 { 6000 } else { 40 }));
        let lines = [
            ("objectClass", "person"),
            ("cn", &*cn),
            ("sn", "s"),
            ("description", &*long),
        ];
        let mut write = database.write().unwrap();
        write.apply_effect(&add(&format!("cn={cn},{BASE}"), &lines)).unwrap();
        write.commit().unwrap();
        if n % 3 == 0 {
            let mut write = database.write().unwrap();
            let dn = format!("cn={cn},{BASE}").into();
            write.apply_effect(&ironbark_store::Effect::Delete { dn }).unwrap();
            write.commit().unwrap();
        }
    }
}

fn content(database: &Database) -> Vec<String> {
    let snapshot = database.snapshot().unwrap();
    search(snapshot.view(), BASE, DitScope::Subtree, "(objectClass=*)")
}

fn checkpoint(database: &Database) {
    database.checkpoint().unwrap().unwrap().complete().unwrap();
}

/// A database as it was found, opened.
fn found(directory: &Path) -> (bool, Vec<String>) {
    let database = open(directory);
    assert_sound(&database);
    (database.was_taken_back(), content(&database))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]
    #[test]
    fn whatever_pages_a_crash_takes_the_last_checkpoint_is_there(
        before in 1_u32..60, since in 1_u32..60, rounds in 1_u32..4, seed in any::<u64>(), cut in any::<bool>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data.mdb");
        let database = begun(directory.path());
        database.defer_flushes().unwrap();
        let mut first = 0;
        for _ in 0..rounds {
            fill(&database, first..first + before);
            first += before;
            checkpoint(&database);
        }
        let (on_disk, wanted) = (fs::read(&data).unwrap(), content(&database));
        // These are not on the disk, or some of their pages.
        fill(&database, first..first + since);
        // One that was begun does not count.
        let begun = database.checkpoint().unwrap();
        fill(&database, first + since..first + since + 5);
        drop(begun);
        let in_memory = fs::read(&data).unwrap();
        drop(database);
        let mut state = seed | 1;
        let mut left = Vec::new();
        for (number, page) in in_memory.chunks(PAGE).enumerate() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let old = on_disk.chunks(PAGE).nth(number);
            let is_new = state >> 63 == 1;
            left.extend_from_slice(if is_new { page } else { old.unwrap_or(&[0; PAGE]) });
        }
        if cut {
            left.truncate(on_disk.len());
        }
        fs::write(&data, left).unwrap();
        forget_memory(directory.path()).unwrap().unwrap();
        prop_assert_eq!(found(directory.path()), (true, wanted.clone()));
        // It goes on, and is whole without help from then on.
        let database = open(directory.path());
        fill(&database, 10_000..10_020);
        drop(database);
        prop_assert!(!directory.path().join("checkpoint.mdb").exists());
        prop_assert!(check::file(&data).unwrap().is_empty());
        let (was_taken_back, content) = found(directory.path());
        prop_assert!(!was_taken_back && content.len() > wanted.len());
    }
}

#[test]
fn when_the_process_ends_alone_nothing_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let database = begun(directory.path());
    database.defer_flushes().unwrap();
    fill(&database, 0..20);
    let wanted = content(&database);
    drop(database);
    assert!(directory.path().join("checkpoint.mdb").exists());
    assert_eq!(found(directory.path()), (false, wanted));
    // Who opens it to write might use its pages again.
    assert!(!directory.path().join("checkpoint.mdb").exists());
}

#[test]
fn a_database_that_was_closed_is_not_taken_back() {
    let directory = tempfile::tempdir().unwrap();
    let database = begun(directory.path());
    database.defer_flushes().unwrap();
    fill(&database, 0..20);
    let wanted = content(&database);
    database.flush_each_commit().unwrap();
    drop(database);
    assert!(!crash_of_machine(directory.path()).unwrap());
    assert_eq!(found(directory.path()), (false, wanted));
}

#[test]
fn readers_take_a_file_back_too_and_leave_one_in_use_alone() {
    let directory = tempfile::tempdir().unwrap();
    let database = begun(directory.path());
    fill(&database, 0..20);
    database.defer_flushes().unwrap();
    let wanted = content(&database);
    fill(&database, 20..40);
    let options = DatabaseOptions {
        read_only: true,
        ..flushed(directory.path())
    };
    // As another process sees it: this one has it locked.
    assert!(check::file_in_use(&options).is_err_and(|error| error.to_string().contains("already in use")));
    assert!(directory.path().join("checkpoint.mdb").exists());
    drop(database);
    assert!(crash_of_machine(directory.path()).unwrap());
    let database = Database::open(options, schema()).unwrap();
    assert!(database.was_taken_back());
    assert_eq!(content(&database), wanted);
}

const DIRECTORY: &str = "IRONBARK_STORE_READER_DIRECTORY";

/// Not a test of its own: the reader that the test below starts. It reads until its input ends.
#[test]
fn another_reader() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let options = DatabaseOptions {
        read_only: true,
        ..flushed(directory.as_ref())
    };
    let database = Database::open(options, schema()).unwrap();
    let _snapshot = database.snapshot().unwrap();
    println!("\nreads");
    std::io::stdin().lines().for_each(drop);
}

/// Starts the reader, and waits until it reads. Its output is to be kept until it has ended.
fn another_process(directory: &Path) -> (Child, impl Iterator<Item = String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "checkpoint::another_reader",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(DIRECTORY, directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    assert!(lines.any(|line| line == "reads"));
    (child, lines)
}

#[test]
fn a_file_is_not_taken_back_under_another_process() {
    let directory = tempfile::tempdir().unwrap();
    let database = begun(directory.path());
    database.defer_flushes().unwrap();
    fill(&database, 0..20);
    drop(database);
    let (mut child, _lines) = another_process(directory.path());
    forget_memory(directory.path()).unwrap().unwrap();
    let error = Database::open(flushed(directory.path()), schema())
        .unwrap_err()
        .to_string();
    assert!(error.contains("another process reads the database"), "{error}");
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(found(directory.path()).0);
}

#[test]
fn a_copy_of_the_files_is_taken_back_only_if_it_must_be() {
    let directory = tempfile::tempdir().unwrap();
    let database = begun(directory.path());
    fill(&database, 0..20);
    database.defer_flushes().unwrap();
    let at_checkpoint = content(&database);
    fill(&database, 20..40);
    let all = content(&database);
    drop(database);
    let copy = || {
        let copied = tempfile::tempdir().unwrap();
        for name in ["data.mdb", "checkpoint.mdb"] {
            fs::copy(directory.path().join(name), copied.path().join(name)).unwrap();
        }
        copied
    };
    let whole = copy();
    assert_eq!(found(whole.path()), (false, all));
    let torn = copy();
    assert!(crash_of_machine(torn.path()).unwrap());
    // A damaged meta page is no meta page for a check: one of them is left.
    assert_eq!(found(torn.path()), (true, at_checkpoint));
    let other = copy();
    assert!(crash_of_machine(other.path()).unwrap());
    let length = fs::metadata(other.path().join("data.mdb")).unwrap().len();
    fs::write(other.path().join("data.mdb"), vec![0x55; length as usize]).unwrap();
    let error = Database::open(flushed(other.path()), schema()).unwrap_err().to_string();
    assert!(
        error.contains("data.mdb") && error.contains("ironbark restore"),
        "{error}"
    );
}

#[test]
fn a_file_that_was_not_finished_or_has_no_database_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let database = begun(directory.path());
    let wanted = content(&database);
    drop(database);
    let record = directory.path().join("checkpoint.mdb");
    File::create(&record).unwrap();
    assert_eq!(found(directory.path()), (false, wanted));
    fs::write(&record, b"IBCHKPT1 and then nothing").unwrap();
    fs::remove_file(directory.path().join("data.mdb")).unwrap();
    drop(open(directory.path()));
    assert!(!record.exists());
}

/// `cp` into a file that is there keeps its inode and the time when it was made.
fn copy_over(from: &Path, to: &Path) {
    use std::os::unix::fs::MetadataExt;
    let inode = fs::metadata(to).unwrap().ino();
    let mut target = fs::OpenOptions::new().write(true).truncate(true).open(to).unwrap();
    std::io::copy(&mut File::open(from).unwrap(), &mut target).unwrap();
    target.sync_all().unwrap();
    assert_eq!(fs::metadata(to).unwrap().ino(), inode);
}

#[test]
fn a_backup_that_is_copied_over_the_file_after_a_crash_is_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data.mdb");
    let database = begun(directory.path());
    fill(&database, 0..20);
    let backup = tempfile::tempdir().unwrap();
    database.copy_to(backup.path(), false).unwrap();
    let wanted = content(&database);
    database.defer_flushes().unwrap();
    fill(&database, 20..60);
    checkpoint(&database);
    fill(&database, 60..70);
    drop(database);
    assert!(crash_of_machine(directory.path()).unwrap());
    copy_over(&backup.path().join("data.mdb"), &data);
    assert_eq!(found(directory.path()), (false, wanted.clone()));
    assert_eq!(found(directory.path()), (false, wanted));
}

/// LMDB would take the number of the last commit from `lock.mdb`, which the process with the former file keeps.
#[test]
fn a_file_is_not_opened_under_the_lock_file_of_a_former_one() {
    let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(begun(directory.path()));
    let database = begun(other.path());
    fill(&database, 0..20);
    let wanted = content(&database);
    drop(database);
    let (mut child, _lines) = another_process(directory.path());
    fs::rename(other.path().join("data.mdb"), directory.path().join("data.mdb")).unwrap();
    let before = fs::read(directory.path().join("data.mdb")).unwrap();
    for read_only in [true, false] {
        let options = DatabaseOptions {
            read_only,
            ..flushed(directory.path())
        };
        let error = Database::open(options.clone(), schema()).unwrap_err().to_string();
        assert!(error.contains("still has a former file of this name open"), "{error}");
        assert!(check::file_in_use(&options).is_err());
    }
    assert!(fs::read(directory.path().join("data.mdb")).unwrap() == before);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(found(directory.path()), (false, wanted));
}
