//! A sound file is not harmed by what lies beside it: each way in which a record can come to lie beside a file of which
//! it is not, and everything else that may be there.

use super::{
    super::{
        file::{ASIDE, UNDO},
        record::FileId,
    },
    *,
};
use crate::BulkBuilder;

const WAYS: [Way; 4] = [Way::Backup, Way::Compact, Way::Raw, Way::Bytes];

/// How a copy is put in the place of a data file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Put {
    /// `cp` over the file.
    Over,
    /// `rm`, then `cp`.
    Anew,
    /// `mv` over the file.
    Moved,
    /// `ironbark restore`, after `rm`.
    Restored,
    /// As a cluster's copy is put in place.
    Renewed,
}

pub(super) const PUTS: [Put; 5] = [Put::Over, Put::Anew, Put::Moved, Put::Restored, Put::Renewed];

pub(super) fn put(from: &Path, directory: &Path, way: Put) {
    let file = data(directory);
    match way {
        Put::Over => copy_over(from, &file),
        Put::Anew => {
            fs::remove_file(&file).unwrap();
            fs::copy(from, &file).unwrap();
        }
        Put::Moved => {
            let beside = directory.join("copied.mdb");
            fs::copy(from, &beside).unwrap();
            fs::rename(beside, file).unwrap();
        }
        Put::Restored | Put::Renewed => {
            let staging = Staging::new(directory).unwrap();
            fs::copy(from, staging.file()).unwrap();
            if way == Put::Restored {
                fs::remove_file(&file).unwrap();
                staging.publish(&file).unwrap();
            } else {
                drop(staging.replace(directory).unwrap());
            }
        }
    }
}

#[test]
fn a_copy_of_an_earlier_state_is_left_alone_however_it_is_made_and_put_in_place() {
    for way in WAYS {
        for how in PUTS {
            let directory = tempfile::tempdir().unwrap();
            let directory = directory.path();
            let database = begun(directory);
            fill(&database, 0..20);
            database.defer_flushes().unwrap();
            fill(&database, 20..30);
            // Of the same serving: it has the mark if it is a raw copy.
            let (backup, wanted) = (copy(&database, way), content(&database));
            fill(&database, 30..60);
            checkpoint(&database);
            let on_disk = fs::read(data(directory)).unwrap();
            fill(&database, 60..70);
            drop(database);
            lose_pages(directory, &on_disk, 3);
            forget_memory(directory);
            put(&data(backup.path()), directory, how);
            let before = fs::read(data(directory)).unwrap();
            let reader = open_with(directory, true).unwrap();
            assert_eq!(
                (reader.was_taken_back(), content(&reader)),
                (false, wanted),
                "{way:?} {how:?}"
            );
            drop(reader);
            assert!(fs::read(data(directory)).unwrap() == before, "{way:?} {how:?}");
            let database = open(directory);
            let by_staging = matches!(how, Put::Restored | Put::Renewed);
            assert_eq!(database.has_put_record_aside(), !by_staging, "{way:?} {how:?}");
            assert_eq!((database.was_taken_back(), content(&database)), (false, wanted));
            assert!(directory.join(ASIDE).exists() && !record_file(directory).exists());
        }
    }
}

#[test]
fn a_backup_that_has_the_checkpoint_and_more_is_left_alone_and_a_raw_copy_is_not() {
    for way in WAYS {
        for how in PUTS {
            let directory = tempfile::tempdir().unwrap();
            let directory = directory.path();
            let database = begun(directory);
            database.defer_flushes().unwrap();
            fill(&database, 0..40);
            checkpoint(&database);
            let at_checkpoint = content(&database);
            fill(&database, 40..45);
            let (backup, newest) = (copy(&database, way), content(&database));
            fill(&database, 45..50);
            drop(database);
            forget_memory(directory);
            put(&data(backup.path()), directory, how);
            // Such a copy cannot be told from the file after a crash. Staging removes the mark.
            let is_crashed = matches!(way, Way::Raw | Way::Bytes) && !matches!(how, Put::Restored | Put::Renewed);
            let wanted = if is_crashed { at_checkpoint } else { newest };
            assert_eq!(found(directory), (is_crashed, wanted), "{way:?} {how:?}");
        }
    }
}

#[test]
fn another_database_is_left_alone_even_with_the_inode_of_the_one_that_was_served() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    for is_former in [false, true] {
        let _ = fs::remove_file(data(directory));
        crashed(directory);
        let (other, wanted) = another(0..150);
        put(&data(other.path()), directory, Put::Anew);
        if is_former {
            of_former_version(directory);
        }
        // A file system that uses inodes again, and does not tell when they were made.
        let reused = FileId::of(&fs::metadata(data(directory)).unwrap());
        change_records(directory, |record| record.file = reused);
        assert_eq!(found(directory), (false, wanted), "{is_former}");
    }
}

#[test]
fn a_copy_in_place_of_a_file_whose_process_ended_alone_is_opened_as_it_is() {
    for how in PUTS {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let database = begun(directory);
        fill(&database, 0..20);
        let (backup, wanted) = (copy(&database, Way::Backup), content(&database));
        database.defer_flushes().unwrap();
        fill(&database, 20..40);
        drop(database);
        put(&data(backup.path()), directory, how);
        assert_eq!(found(directory), (false, wanted), "{how:?}");
        assert!(!record_file(directory).exists());
    }
}

#[test]
fn files_that_are_copied_together_after_a_crash_are_taken_back_on_another_machine() {
    let directory = tempfile::tempdir().unwrap();
    let wanted = crashed(directory.path());
    let other = tempfile::tempdir().unwrap();
    for name in ["data.mdb", "checkpoint.mdb"] {
        fs::copy(directory.path().join(name), other.path().join(name)).unwrap();
    }
    assert_eq!(found(other.path()), (true, wanted));
}

#[test]
fn a_record_is_kept_for_the_file_that_was_moved_away() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let wanted = crashed(directory);
    let away = directory.join("crashed.mdb");
    fs::rename(data(directory), &away).unwrap();
    let database = begun(directory);
    assert!(database.has_put_record_aside() && directory.join(ASIDE).exists());
    drop(database);
    fs::rename(away, data(directory)).unwrap();
    fs::rename(directory.join(ASIDE), record_file(directory)).unwrap();
    assert_eq!(found(directory), (true, wanted));
    assert!(directory.join(UNDO).exists());
}

/// Puts a record back beside a file that has gone on, and of which nothing is missing.
fn put_back(directory: &Path, record: &[u8]) {
    let wanted = content(&open_with(directory, true).unwrap());
    fs::write(record_file(directory), record).unwrap();
    forget_memory(directory);
    assert_eq!(found(directory), (false, wanted));
}

#[test]
fn a_record_that_is_put_back_beside_a_file_that_has_gone_on_does_nothing() {
    for closes in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let database = served(directory, 20);
        let record = fs::read(record_file(directory)).unwrap();
        if closes {
            database.flush_each_commit().unwrap();
        }
        drop(database);
        // The main table and `meta` of the checkpoint are still there.
        let database = open(directory);
        assert_eq!(mark(directory), None);
        drop(database);
        put_back(directory, &record);
        // Another serving, whose own record is lost by this.
        let database = open(directory);
        database.defer_flushes().unwrap();
        drop(database);
        fs::write(record_file(directory), &record).unwrap();
        forget_memory(directory);
        let before = bytes(directory);
        let error = refusal(directory);
        assert!(error.contains("put that one back"), "{error}");
        assert!(bytes(directory) == before);
    }
}

#[test]
fn a_record_that_is_put_back_beside_a_raw_copy_that_has_gone_on_does_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let database = served(directory, 20);
    let (raw, record) = (copy(&database, Way::Raw), fs::read(record_file(directory)).unwrap());
    drop(database);
    fs::remove_file(record_file(directory)).unwrap();
    put(&data(raw.path()), directory, Put::Over);
    assert!(mark(directory).is_some());
    drop(open_with(directory, true).unwrap());
    assert!(mark(directory).is_some());
    let database = open(directory);
    assert!(mark(directory).is_none() && !record_file(directory).exists());
    fill(&database, 20..21);
    drop(database);
    put_back(directory, &record);
}

#[test]
fn a_damaged_file_of_which_the_record_is_not_stays_as_it_is_and_is_named() {
    for how in [Put::Over, Put::Anew, Put::Moved] {
        for is_former in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let directory = directory.path();
            crashed(directory);
            if is_former {
                of_former_version(directory);
            }
            let (other, _) = another(0..40);
            // An interrupted `cp`.
            let file = OpenOptions::new().write(true).open(data(other.path())).unwrap();
            let length = file.metadata().unwrap().len();
            file.set_len(length / 2).unwrap();
            put(&data(other.path()), directory, how);
            let before = bytes(directory);
            for read_only in [true, false] {
                let error = open_with(directory, read_only).unwrap_err().to_string();
                assert!(error.contains("data.mdb") && error.contains("is not of it"), "{error}");
                assert!(bytes(directory) == before, "{how:?} {is_former}");
            }
        }
    }
}

#[test]
fn a_checkpoint_that_is_damaged_is_no_place_to_go_back_to() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    crashed(directory);
    let record = last_record(directory);
    let whole = fs::read(data(directory)).unwrap();
    let last = record.meta.meta().last_page as usize;
    let mut cut = whole.clone();
    cut.truncate(last * PAGE / 2);
    let free = record.meta.meta().free.page.unwrap() as usize;
    let mut spoiled = whole.clone();
    spoiled[free * PAGE + 8..][..100].fill(0x55);
    for damaged in [cut, spoiled] {
        fs::write(data(directory), &damaged).unwrap();
        let before = bytes(directory);
        let error = refusal(directory);
        assert!(
            error.contains("data.mdb") && error.contains("ironbark restore"),
            "{error}"
        );
        assert!(bytes(directory) == before);
    }
}

#[test]
fn a_bulk_build_is_not_taken_back_by_the_record_of_a_file_that_was_moved_away() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    crashed(directory);
    fs::rename(data(directory), directory.join("crashed.mdb")).unwrap();
    let mut builder = BulkBuilder::new(options(directory), schema(), 1 << 20).unwrap();
    let entry = common::entry(BASE, &[("objectClass", "domain"), ("dc", "example")]);
    builder.add(&entry).unwrap();
    builder.finish().unwrap();
    assert!(directory.join(ASIDE).exists() && !record_file(directory).exists());
    let database = open(directory);
    assert!(!database.was_taken_back() && !database.has_put_record_aside());
    assert_eq!(database.stat().unwrap().entries, 1);
}

#[test]
fn folders_and_locks_that_others_have_left_do_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let wanted = crashed(directory);
    let others = ["bulk-build.tmp", ".ironbark-1-0.tmp"].map(|name| directory.join(name));
    for folder in &others {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("data.mdb"), vec![0x55; 3 * PAGE]).unwrap();
        fs::copy(record_file(directory), folder.join("checkpoint.mdb")).unwrap();
    }
    // Of a machine with another word length, or anything else.
    fs::write(directory.join("lock.mdb"), vec![0x55; 8192]).unwrap();
    assert_eq!(found(directory), (true, wanted));
    drop(Staging::new(directory).unwrap());
    assert!(!others[1].exists());
    fs::remove_file(data(directory)).unwrap();
    drop(BulkBuilder::new(options(directory), schema(), 1 << 20).unwrap());
    assert!(!others[0].exists());
}

#[test]
fn two_bulk_builds_do_not_take_each_others_files() {
    let directory = tempfile::tempdir().unwrap();
    let first = BulkBuilder::new(options(directory.path()), schema(), 1 << 20).unwrap();
    let refused = BulkBuilder::new(options(directory.path()), schema(), 1 << 20);
    let error = refused.err().unwrap().to_string();
    assert!(error.contains("another process is building a database"), "{error}");
    first.finish().unwrap();
    assert!(BulkBuilder::new(options(directory.path()), schema(), 1 << 20).is_ok());
}

#[test]
fn a_file_that_replaces_the_served_one_is_not_written_to_at_the_end() {
    for how in [Put::Over, Put::Anew, Put::Moved] {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let database = begun(directory);
        fill(&database, 0..20);
        let (backup, wanted) = (copy(&database, Way::Raw), content(&database));
        database.defer_flushes().unwrap();
        fill(&database, 20..40);
        checkpoint(&database);
        let under_way = database.checkpoint().unwrap().unwrap();
        put(&data(backup.path()), directory, how);
        let error = under_way.complete().unwrap_err().to_string();
        assert!(error.contains("was replaced while it was served"), "{error}");
        assert!(database.checkpoint().is_err());
        database.flush_each_commit().unwrap();
        drop(database);
        let (left, whole) = [directory, backup.path()]
            .map(|folder| fs::read(data(folder)).unwrap())
            .into();
        assert!(left == whole, "{how:?}");
        assert_eq!(found(directory), (false, wanted));
    }
}

#[test]
fn a_process_that_is_refused_leaves_the_mark_of_the_one_that_serves() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let database = begun(directory);
    database.defer_flushes().unwrap();
    let (record, served) = (fs::read(record_file(directory)).unwrap(), mark(directory));
    assert!(served.is_some());
    database.flush_each_commit().unwrap();
    assert_eq!(mark(directory), None);
    fs::write(record_file(directory), record).unwrap();
    assert!(database.defer_flushes().is_err());
    assert_eq!(mark(directory), None);
}
