//! A file is taken back in several writes, and the machine may end after each.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    rc::Rc,
};

use super::{
    super::{
        file::{ASIDE, UNDO},
        record::{FORMER_BYTES, FormerPages},
        steps::{Step, hook},
    },
    *,
};
use crate::check::file::MetaPage;

pub(super) const STEPS: [Step; 6] = [
    Step::KeptFormer,
    Step::FirstPage,
    Step::SecondPage,
    Step::Flushed,
    Step::Unmarked,
    Step::Renamed,
];

/// Opens a database, and crashes after a step. Returns whether that was reached.
pub(super) fn open_until(directory: &Path, last: Step) -> bool {
    let opened = || {
        let stop = move |step| {
            if step == last {
                resume_unwind(Box::new(()));
            }
        };
        hook::with(stop, || drop(open(directory)));
    };
    catch_unwind(AssertUnwindSafe(opened)).is_err()
}

/// The meta pages of a file.
fn metas(file: &[u8]) -> [&[u8]; 2] {
    [0, PAGE].map(|place| &file[place..place + MetaPage::BYTES])
}

fn put_metas(directory: &Path, pages: [&[u8]; 2]) {
    let mut file = fs::read(data(directory)).unwrap();
    for (place, page) in [0, PAGE].into_iter().zip(pages) {
        file[place..place + page.len()].copy_from_slice(page);
    }
    fs::write(data(directory), file).unwrap();
}

/// Lets meta pages be as they were before, if they were not flushed at this step. The bits say which.
pub(super) fn lose_metas(directory: &Path, before: &[u8], step: Step, lost: u8) {
    if matches!(step, Step::KeptFormer | Step::FirstPage | Step::SecondPage) {
        let after = fs::read(data(directory)).unwrap();
        let (old, new) = (metas(before), metas(&after));
        let left = [0, 1].map(|page| if lost >> page & 1 == 1 { old[page] } else { new[page] });
        put_metas(directory, left);
    }
}

fn former_pages(directory: &Path, name: &str) -> FormerPages {
    let bytes = fs::read(directory.join(name)).unwrap();
    FormerPages::decode(&bytes[2 * PAGE..][..FORMER_BYTES]).unwrap()
}

#[test]
fn an_interrupted_taking_back_is_done_again_and_keeps_the_first_meta_pages() {
    for last in STEPS {
        // Which of the meta pages had not come to the disk.
        for lost in 0..4 {
            let directory = tempfile::tempdir().unwrap();
            let directory = directory.path();
            let wanted = crashed(directory);
            let before = fs::read(data(directory)).unwrap();
            assert!(open_until(directory, last), "{last:?}");
            lose_metas(directory, &before, last, lost);
            let (was_taken_back, content) = found(directory);
            // Without the mark it is taken for another file, which is sound.
            let is_done = matches!(last, Step::Unmarked | Step::Renamed);
            assert_eq!((was_taken_back, content), (!is_done, wanted), "{last:?} {lost}");
            let kept = if last == Step::Unmarked { ASIDE } else { UNDO };
            assert_eq!(former_pages(directory, kept).pages, metas(&before), "{last:?} {lost}");
            assert!(!record_file(directory).exists());
        }
    }
}

#[test]
fn a_taking_back_can_be_undone_as_long_as_nobody_writes() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let database = begun(directory);
    database.defer_flushes().unwrap();
    fill(&database, 0..20);
    let at_checkpoint = content(&database);
    checkpoint(&database);
    fill(&database, 20..40);
    let newest = content(&database);
    drop(database);
    // Nothing was lost: the machine was started anew in order.
    forget_memory(directory);
    let database = open_with(directory, true).unwrap();
    assert_eq!((database.was_taken_back(), content(&database)), (true, at_checkpoint));
    drop(database);
    let kept = former_pages(directory, UNDO);
    put_metas(directory, kept.pages.each_ref().map(|page| &page[..]));
    assert_eq!(found(directory), (false, newest));
}

#[test]
fn a_backup_that_is_put_in_place_of_a_file_half_taken_back_is_left_alone() {
    for last in [Step::KeptFormer, Step::FirstPage, Step::SecondPage, Step::Flushed] {
        let directory = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let database = begun(other.path());
        fill(&database, 100..130);
        let wanted = content(&database);
        let backup = copy(&database, Way::Bytes);
        crashed(directory.path());
        assert!(open_until(directory.path(), last));
        copy_over(&data(backup.path()), &data(directory.path()));
        assert_eq!(found(directory.path()), (false, wanted));
    }
}

#[test]
fn a_file_that_does_not_have_what_was_written_is_put_back_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let wanted = crashed(directory);
    let before = bytes(directory);
    let path = data(directory);
    // A disk that changes what it is given, once.
    let is_first = Rc::new(std::cell::Cell::new(true));
    let spoil = move |step| {
        if step == Step::Flushed && is_first.replace(false) {
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            std::os::unix::fs::FileExt::write_all_at(&file, &[0xaa; 8], 60).unwrap();
        }
    };
    let error = hook::with(spoil, || refusal(directory));
    assert!(
        error.contains("data.mdb") && error.contains("the file is as it was"),
        "{error}"
    );
    let (file, record) = bytes(directory);
    assert!(file == before.0);
    // The record has the former pages in addition.
    assert_eq!(record[..2 * PAGE], before.1[..2 * PAGE]);
    assert_eq!(found(directory), (true, wanted));
}
