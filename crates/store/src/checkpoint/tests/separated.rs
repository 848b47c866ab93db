//! A data file whose machine ended while it was served needs its record. Without that nothing tells which of its pages
//! are missing, so it is refused and stays as it is.

use super::{
    super::file::{ASIDE, UNDO},
    neighbours::{PUTS, Put, put},
    *,
};

/// What can become of a record.
fn spoiled(whole: &[u8]) -> Vec<Option<Vec<u8>>> {
    let last = whole[8..].first_chunk().map(|number| u64::from_ne_bytes(*number));
    assert_eq!(last, Some(2));
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.to_vec();
        change(&mut bytes);
        Some(bytes)
    };
    let both = |at: usize, flip: u8| with(&|bytes| [0, PAGE].into_iter().for_each(|place| bytes[place + at] ^= flip));
    let mut all = vec![
        None,
        Some(Vec::new()),
        with(&|bytes| bytes.fill(0)),
        with(&|bytes| bytes.fill(0x55)),
        with(&|bytes| bytes.truncate(100)),
        // The former version.
        both(7, b'1' ^ b'2'),
    ];
    all.extend([3, 8, 20, 40, 60, 150, 210, 230, 270, 279].map(|at| both(at, 4)));
    all
}

/// A crash after two checkpoints. The last record is at the beginning of the file.
fn crashed_twice_noted(directory: &Path) -> Content {
    let database = served(directory, 20);
    fill(&database, 20..40);
    checkpoint(&database);
    let (on_disk, wanted) = (fs::read(data(directory)).unwrap(), content(&database));
    fill(&database, 40..60);
    drop(database);
    lose_pages(directory, &on_disk, 5);
    forget_memory(directory);
    wanted
}

fn assert_refused(directory: &Path) {
    let before = fs::read(data(directory)).unwrap();
    for read_only in [true, false] {
        let error = open_with(directory, read_only).unwrap_err().to_string();
        assert!(
            error.contains("data.mdb") && error.contains("checkpoint.mdb"),
            "{error}"
        );
        assert!(error.contains("ironbark restore"), "{error}");
        assert!(fs::read(data(directory)).unwrap() == before);
    }
}

#[test]
fn a_record_that_is_damaged_or_lost_after_a_crash_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let wanted = crashed_twice_noted(directory);
    let (file, whole) = bytes(directory);
    for record in spoiled(&whole) {
        match &record {
            Some(record) => fs::write(record_file(directory), record).unwrap(),
            None => fs::remove_file(record_file(directory)).unwrap(),
        }
        assert_refused(directory);
        assert!(fs::read(record_file(directory)).ok() == record);
    }
    fs::write(record_file(directory), whole).unwrap();
    assert!(fs::read(data(directory)).unwrap() == file);
    assert_eq!(found(directory), (true, wanted));
}

#[test]
fn a_record_that_is_damaged_or_lost_while_the_machine_runs_is_not_needed() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let database = served(directory, 20);
    checkpoint(&database);
    let wanted = content(&database);
    drop(database);
    let (file, whole) = bytes(directory);
    for record in spoiled(&whole) {
        fs::write(data(directory), &file).unwrap();
        match &record {
            Some(record) => fs::write(record_file(directory), record).unwrap(),
            None => fs::remove_file(record_file(directory)).unwrap(),
        }
        assert_eq!(found(directory), (false, wanted));
        assert!(mark(directory).is_none() && !record_file(directory).exists());
    }
}

#[test]
fn one_record_that_is_damaged_leaves_the_one_before() {
    for place in [0, PAGE] {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let database = begun(directory);
        database.defer_flushes().unwrap();
        let mut at_checkpoint = Vec::new();
        for n in 0..6 {
            fill(&database, n * 10..n * 10 + 10);
            checkpoint(&database);
            at_checkpoint.push(content(&database));
        }
        let on_disk = fs::read(data(directory)).unwrap();
        fill(&database, 60..90);
        drop(database);
        lose_pages(directory, &on_disk, 11);
        forget_memory(directory);
        let mut record = fs::read(record_file(directory)).unwrap();
        record[place + 60] ^= 1;
        fs::write(record_file(directory), record).unwrap();
        // The sixth record is at the beginning.
        let wanted = at_checkpoint[if place == 0 { 4 } else { 5 }];
        assert_eq!(found(directory), (true, wanted));
    }
}

#[test]
fn a_record_from_before_the_last_two_does_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let database = served(directory, 20);
    let old = fs::read(record_file(directory)).unwrap();
    // Nothing is written, so that every page of the first checkpoint is still there.
    checkpoint(&database);
    checkpoint(&database);
    let wanted = content(&database);
    drop(database);
    forget_memory(directory);
    let whole = fs::read(record_file(directory)).unwrap();
    fs::write(record_file(directory), old).unwrap();
    forget_memory(directory);
    assert_refused(directory);
    fs::write(record_file(directory), whole).unwrap();
    assert_eq!(found(directory), (true, wanted));
}

/// What lies in the folder into which a file is copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Empty,
    /// A database that has never been served.
    Older,
    /// One that is ahead of the copy, and has itself crashed.
    Newer,
}

#[test]
fn a_raw_copy_of_a_crashed_file_is_opened_at_its_checkpoint_or_not_at_all() {
    let crashed_folder = tempfile::tempdir().unwrap();
    let from = crashed_folder.path();
    let wanted = crashed_twice_noted(from);
    let record = fs::read(record_file(from)).unwrap();
    for place in [Place::Empty, Place::Older, Place::Newer] {
        for name in [None, Some("checkpoint.mdb"), Some(UNDO), Some(ASIDE)] {
            for how in PUTS
                .into_iter()
                .filter(|how| !matches!(how, Put::Restored | Put::Renewed))
            {
                let folder = tempfile::tempdir().unwrap();
                let folder = folder.path();
                match place {
                    Place::Empty => fs::write(data(folder), []).unwrap(),
                    Place::Older => drop(begun(folder)),
                    Place::Newer => {
                        fs::copy(data(from), data(folder)).unwrap();
                        fs::copy(record_file(from), record_file(folder)).unwrap();
                        let database = open(folder);
                        database.defer_flushes().unwrap();
                        fill(&database, 100..150);
                        checkpoint(&database);
                        drop(database);
                        forget_memory(folder);
                        fs::remove_file(folder.join(UNDO)).unwrap();
                    }
                }
                put(&data(from), folder, how);
                if let Some(name) = name {
                    fs::write(folder.join(name), &record).unwrap();
                }
                if name != Some("checkpoint.mdb") {
                    assert_refused(folder);
                    // As the error says.
                    fs::write(record_file(folder), &record).unwrap();
                }
                assert_eq!(found(folder), (true, wanted), "{place:?} {name:?} {how:?}");
                assert_eq!(found(folder), (false, wanted));
            }
        }
    }
}

#[test]
fn a_raw_copy_that_is_known_to_be_whole_is_restored() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let database = begun(directory);
    database.defer_flushes().unwrap();
    fill(&database, 0..20);
    let (raw, wanted) = (copy(&database, Way::Raw), content(&database));
    drop(database);
    forget_mark(raw.path());
    assert_refused(raw.path());
    let other = tempfile::tempdir().unwrap();
    let staging = Staging::new(other.path()).unwrap();
    fs::copy(data(raw.path()), staging.file()).unwrap();
    staging
        .verify(&options(other.path()), &schema(), &mut |_, _| {})
        .unwrap();
    staging.publish(&data(other.path())).unwrap();
    assert_eq!(found(other.path()), (false, wanted));
}
