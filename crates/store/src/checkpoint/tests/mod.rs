//! Data files beside which something lies that is not of them.

#![allow(clippy::cast_possible_truncation, reason = "tests")]

mod damaged;
mod interrupted;
mod mixtures;
mod neighbours;
mod separated;
mod sequences;
mod unreadable;

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    boot::Boot,
    file::{CheckpointFile, Noted},
    mark::{self, ServingMark},
    record::Record,
};
use crate::{
    Database, DatabaseOptions, Effect, Staging, StoreError, ValueChange,
    common::{self, add, assert_sound, modify, options, schema, values},
    hash,
};

const PAGE: usize = 4096;
const BASE: &str = "dc=example,dc=com";

/// A hash of every row that entries consist of.
type Content = u64;

fn open_with(directory: &Path, read_only: bool) -> Result<Arc<Database>, StoreError> {
    let options = DatabaseOptions {
        read_only,
        ..options(directory)
    };
    Database::open(options, schema()).map(Arc::new)
}

fn open(directory: &Path) -> Arc<Database> {
    open_with(directory, false).unwrap()
}

/// Opens a database as it was found, and looks at all of it.
fn found(directory: &Path) -> (bool, Content) {
    let database = open(directory);
    assert_sound(&database);
    (database.was_taken_back(), content(&database))
}

fn content(database: &Database) -> Content {
    let snapshot = database.snapshot().unwrap();
    let tables = &database.ground.tables;
    let mut bytes = Vec::new();
    let of_entries = [tables.entries, tables.names, tables.values, tables.sets, tables.index];
    for table in of_entries {
        for row in table.iter(&snapshot.txn).unwrap() {
            let (key, value) = row.unwrap();
            for part in [key, value] {
                bytes.extend_from_slice(&part.len().to_ne_bytes());
                bytes.extend_from_slice(part);
            }
        }
    }
    hash::value_hash(&bytes)
}

fn begun(directory: &Path) -> Arc<Database> {
    let database = open(directory);
    commit(&database, &[add(BASE, &[("objectClass", "domain"), ("dc", "example")])]);
    database
}

fn commit(database: &Database, effects: &[Effect]) {
    let mut write = database.write().unwrap();
    for effect in effects {
        write.apply_effect(effect).unwrap();
    }
    write.commit().unwrap();
}

/// Commits one entry for each number. Some are deleted by further commits, and others changed without becoming longer.
fn fill(database: &Database, numbers: std::ops::Range<u64>) {
    for n in numbers {
        let (cn, long) = (format!("p{n}"), "x".repeat(if n % 7 == 0 { 6000 } else { 40 }));
        let lines = [
            ("objectClass", "person"),
            ("cn", &*cn),
            ("sn", "s"),
            ("description", &*long),
        ];
        let name = format!("cn={cn},{BASE}");
        commit(database, &[add(&name, &lines)]);
        if n % 3 == 0 {
            commit(database, &[Effect::Delete { dn: name.into() }]);
        } else if n % 3 == 1 {
            let change = ValueChange::Replace {
                attribute: "sn".into(),
                values: values(&["t"]),
            };
            commit(database, &[modify(&name, vec![change])]);
        }
    }
}

fn checkpoint(database: &Database) {
    database.checkpoint().unwrap().unwrap().complete().unwrap();
}

/// A database that is served with checkpoints, and has one.
fn served(directory: &Path, count: u64) -> Arc<Database> {
    let database = begun(directory);
    database.defer_flushes().unwrap();
    fill(&database, 0..count);
    checkpoint(&database);
    database
}

/// Another database, which is closed.
fn another(numbers: std::ops::Range<u64>) -> (tempfile::TempDir, Content) {
    let folder = tempfile::tempdir().unwrap();
    let database = begun(folder.path());
    fill(&database, numbers);
    let content = content(&database);
    drop(database);
    (folder, content)
}

fn data(directory: &Path) -> PathBuf {
    directory.join("data.mdb")
}

fn record_file(directory: &Path) -> PathBuf {
    directory.join("checkpoint.mdb")
}

/// `cp` into a file that is there keeps its inode and the time when it was made.
fn copy_over(from: &Path, to: &Path) {
    let inode = fs::metadata(to).map(|found| found.ino()).ok();
    let mut target = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(to)
        .unwrap();
    io::copy(&mut File::open(from).unwrap(), &mut target).unwrap();
    let now = fs::metadata(to).unwrap().ino();
    assert_eq!(inode.unwrap_or(now), now);
}

/// What a copy is made by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// `ironbark backup`.
    Backup,
    /// The same with `--compact`.
    Compact,
    /// LMDB's own, which knows nothing of marks.
    Raw,
    /// `cp` of a file that nobody writes to.
    Bytes,
}

fn copy(database: &Database, way: Way) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    match way {
        Way::Backup | Way::Compact => {
            let staging = Staging::new(folder.path()).unwrap();
            database.copy_to(staging.path(), way == Way::Compact).unwrap();
            staging.publish(&data(folder.path())).unwrap();
        }
        Way::Raw => database.copy_to(folder.path(), false).unwrap(),
        Way::Bytes => {
            fs::copy(data(&database.options().directory), data(folder.path())).unwrap();
        }
    }
    folder
}

/// The records as they are, with their places.
fn records(directory: &Path) -> Vec<(usize, Record)> {
    let bytes = fs::read(record_file(directory)).unwrap();
    let places = [0, PAGE].into_iter();
    let whole = places.filter_map(|place| Some((place, Record::decode(bytes.get(place..)?)?)));
    whole.collect()
}

/// Writes every record anew after a change.
fn change_records(directory: &Path, change: impl Fn(&mut Record)) {
    let mut bytes = fs::read(record_file(directory)).unwrap();
    for (place, mut record) in records(directory) {
        change(&mut record);
        let changed = record.encode();
        bytes[place..place + super::record::BYTES].fill(0);
        bytes[place..place + changed.len()].copy_from_slice(&changed);
    }
    fs::write(record_file(directory), bytes).unwrap();
}

/// Another start of the machine.
fn forget_memory(directory: &Path) {
    change_records(directory, |record| record.boot = Boot::UNKNOWN);
    forget_mark(directory);
}

/// The same for a data file without a record.
fn forget_mark(directory: &Path) {
    if let Some(mark) = mark(directory) {
        let boot = Boot::UNKNOWN;
        ServingMark { boot, ..mark }.put(&data(directory)).unwrap();
    }
}

fn mark(directory: &Path) -> Option<ServingMark> {
    ServingMark::at(&data(directory)).unwrap()
}

/// As the version before this one has written it: it put no mark into the data file.
fn of_former_version(directory: &Path) {
    let mut bytes = fs::read(record_file(directory)).unwrap();
    for (place, _) in records(directory) {
        let record = &mut bytes[place..place + super::record::BYTES];
        record[7] = b'1';
        let sum = hash::value_hash(&record[..200]);
        record[200..208].copy_from_slice(&sum.to_ne_bytes());
        record[208..].fill(0);
    }
    fs::write(record_file(directory), bytes).unwrap();
    mark::clear(&data(directory)).unwrap();
}

fn last_record(directory: &Path) -> Record {
    let file = CheckpointFile::open(directory).unwrap().unwrap();
    match file.read().unwrap() {
        Noted::Last(record) => *record,
        other => panic!("{other:?}"),
    }
}

/// Leaves some pages as they were at the last checkpoint, and others as they were last, as a crash does.
fn lose_pages(directory: &Path, on_disk: &[u8], seed: u64) {
    let in_memory = fs::read(data(directory)).unwrap();
    let mut state = seed | 1;
    let mut left = Vec::new();
    for (number, page) in in_memory.chunks(PAGE).enumerate() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let old = on_disk.chunks(PAGE).nth(number);
        left.extend_from_slice(if state >> 63 == 1 {
            page
        } else {
            old.unwrap_or(&[0; PAGE])
        });
    }
    // The same inode.
    let mut file = OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(data(directory))
        .unwrap();
    io::Write::write_all(&mut file, &left).unwrap();
}

fn refusal(directory: &Path) -> String {
    match open_with(directory, false) {
        Ok(_) => panic!("it was opened"),
        Err(error) => error.to_string(),
    }
}

/// Data file and record, to be compared.
fn bytes(directory: &Path) -> (Vec<u8>, Vec<u8>) {
    (
        fs::read(data(directory)).unwrap(),
        fs::read(record_file(directory)).unwrap(),
    )
}

/// A database that was served with checkpoints when its machine crashed. Returns the content of the last checkpoint.
fn crashed(directory: &Path) -> Content {
    let database = begun(directory);
    fill(&database, 0..20);
    database.defer_flushes().unwrap();
    fill(&database, 20..60);
    checkpoint(&database);
    let (on_disk, wanted) = (fs::read(data(directory)).unwrap(), content(&database));
    fill(&database, 60..80);
    drop(database);
    lose_pages(directory, &on_disk, 7);
    forget_memory(directory);
    wanted
}
