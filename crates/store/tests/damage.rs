//! Files that are not what was written: they are refused with a word, and nothing of them ends the process.

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
    fs::{self, OpenOptions},
    os::unix::{fs::FileExt, process::ExitStatusExt},
    path::Path,
    process::Command,
};

use common::*;
use ironbark_store::{
    Database,
    fault::{self, Maps},
};

/// Entries enough for trees of several levels, some with long values.
fn filled(directory: &Path, entries: u32) {
    let database = Database::open(options(directory), schema()).unwrap();
    let mut write = database.write().unwrap();
    let base = "dc=example,dc=com";
    write
        .apply_effect(&add(base, &[("objectClass", "domain"), ("dc", "example")]))
        .unwrap();
    for n in 0..entries {
        let (cn, long) = (format!("person {n}"), "x".repeat(if n % 50 == 0 { 9000 } else { 40 }));
        let lines = [("objectClass", "person"), ("cn", &*cn), ("sn", "s"), ("description", &*long)];
        write.apply_effect(&add(&format!("cn={cn},{base}"), &lines)).unwrap();
    }
    write.commit().unwrap();
    // Pages of before become free.
    for n in (0..entries).step_by(3) {
        let mut write = database.write().unwrap();
        let effect = ironbark_store::Effect::Delete {
            dn: format!("cn=person {n},{base}").into(),
            entry_uuid: "".into(),
        };
        write.apply_effect(&effect).unwrap();
        write.commit().unwrap();
    }
    database.sync().unwrap();
}

#[test]
fn a_file_that_was_cut_off_is_refused_and_the_message_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path(), 300);
    let file = directory.path().join("data.mdb");
    let whole = fs::metadata(&file).unwrap().len();
    for length in [whole - 4096, whole - 1, whole / 2, 3 * 4096, 8192, 5000, 4096] {
        let cut = tempfile::tempdir().unwrap();
        fs::copy(&file, cut.path().join("data.mdb")).unwrap();
        let copy = OpenOptions::new().write(true).open(cut.path().join("data.mdb")).unwrap();
        copy.set_len(length).unwrap();
        for read_only in [true, false] {
            let mut options = options(cut.path());
            options.read_only = read_only;
            let error = Database::open(options, schema()).unwrap_err().to_string();
            assert!(error.contains("data.mdb: the file is cut off"), "{length}: {error}");
            assert!(error.contains("ironbark restore"), "{error}");
        }
    }
}

#[test]
fn a_file_that_ends_in_free_pages_which_were_never_written_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path(), 300);
    let file = directory.path().join("data.mdb");
    // As LMDB itself may leave it: the last page counts one that is free and beyond the end.
    let open = OpenOptions::new().read(true).write(true).open(&file).unwrap();
    let whole = open.metadata().unwrap().len();
    let number = |place| {
        let mut bytes = [0; 8];
        open.read_exact_at(&mut bytes, place).unwrap();
        u64::from_ne_bytes(bytes)
    };
    let (first, second) = (number(144), number(4096 + 144));
    let meta = if first > second { 0 } else { 4096 };
    open.write_all_at(&(whole / 4096).to_ne_bytes(), meta + 136).unwrap();
    let refused = Database::open(options(directory.path()), schema()).unwrap_err();
    assert!(refused.to_string().contains("cut off"), "{refused}");
    // The newest list of free pages gets it.
    let root = number(meta + 80);
    let mut page = vec![0; 4096];
    open.read_exact_at(&mut page, root * 4096).unwrap();
    assert_eq!(page[10] & 2, 2, "one leaf is enough for so few lists");
    let node = usize::from(u16::from_ne_bytes([page[16], page[17]]));
    let list = node + 8 + 8;
    let count = u64::from_ne_bytes(page[list..list + 8].try_into().unwrap());
    assert!(count > 0);
    page[list + 8..list + 16].copy_from_slice(&(whole / 4096).to_ne_bytes());
    open.write_all_at(&page, root * 4096).unwrap();
    Database::open(options(directory.path()), schema()).unwrap();
}

const DIRECTORY: &str = "IRONBARK_STORE_FAULT_DIRECTORY";

/// Not a test of its own: the reader whose file the test below cuts off.
#[test]
fn reader_of_a_file_that_shrinks() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    fault::watch(Maps::open(), |text| eprintln!("told: {text}")).unwrap();
    let directory = Path::new(&directory);
    let database = Database::open(options(directory), schema()).unwrap();
    let file = OpenOptions::new().write(true).open(directory.join("data.mdb")).unwrap();
    file.set_len(8192).unwrap();
    let snapshot = database.snapshot().unwrap();
    for record in snapshot.view().entries(0).unwrap() {
        assert!(record.is_ok());
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_named_before_the_process_ends() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path(), 300);
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["reader_of_a_file_that_shrinks", "--exact", "--nocapture"])
        .env(DIRECTORY, directory.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.signal(), Some(7), "{told}");
    let file = directory.path().join("data.mdb");
    assert!(told.contains(&format!("told: {}: the file is cut off", file.display())), "{told}");
}
