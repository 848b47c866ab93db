//! Puts the meta page of a checkpoint into its data file, in steps of which each may be the last before a crash.
//!
//! The record stays until all is done, and the decision to take the file back does not depend on its meta pages. So a
//! process that is interrupted at any step leaves what the next one begins anew.

use std::{
    fmt,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

use super::{
    file::CheckpointFile,
    record::{FormerPages, Record},
    steps::{Step, reached},
};
use crate::{
    StoreError,
    check::file::{MetaPage, PageFile},
};

/// Takes a data file back to a checkpoint of it.
///
/// # Errors
/// It could not be written to, or is not what was written. The file is as it was before, if the disk allows.
pub(super) fn take_back(found: &CheckpointFile, data: &Path, record: &Record) -> Result<(), StoreError> {
    let wanted = record.meta.as_only();
    let file = OpenOptions::new().read(true).write(true).open(data);
    let file = file.map_err(|error| refused(data, error))?;
    let former = keep_former(found, data, record, &wanted)?;
    let written = write(&file, record, wanted.each_ref().map(MetaPage::bytes));
    let written = written.map_err(RereadError::from).and_then(|()| reread(data, &wanted));
    let Err(why) = written else { return Ok(()) };
    let restored = write(&file, record, former.pages.each_ref());
    Err(refused(
        data,
        match restored {
            Ok(()) => format!("{why}; the file is as it was"),
            Err(error) => format!("{why}; its meta pages are in checkpoint.mdb, and could not be put back: {error}"),
        },
    ))
}

/// Keeps the meta pages of the data file in `checkpoint.mdb`. Those that an interrupted attempt has kept are left
/// there: the data file may have some of the new ones by now.
fn keep_former(
    found: &CheckpointFile,
    data: &Path,
    record: &Record,
    wanted: &[MetaPage; 2],
) -> Result<FormerPages, StoreError> {
    let file = PageFile::open_as(data, &record.meta)?;
    let mut pages = [[0; MetaPage::BYTES]; 2];
    for (place, page) in (0..).zip(&mut pages) {
        file.read(place * record.meta.page_size(), page)?;
    }
    if let Some(kept) = found.former()?.filter(|kept| kept.number == record.number) {
        let mut each = pages.iter().zip(&kept.pages).zip(wanted);
        let is_of_this_file =
            each.all(|((page, kept), wanted)| page == kept || page == wanted.bytes() || MetaPage::of(page).is_none());
        if is_of_this_file {
            return Ok(kept);
        }
    }
    let former = FormerPages {
        number: record.number,
        pages,
    };
    found.keep_former(&former).map_err(|error| refused(data, error))?;
    reached(Step::KeptFormer);
    Ok(former)
}

/// Writes both meta pages, durably.
fn write(file: &File, record: &Record, pages: [&[u8; MetaPage::BYTES]; 2]) -> io::Result<()> {
    let steps = [Step::FirstPage, Step::SecondPage];
    for ((number, page), step) in (0..).zip(pages).zip(steps) {
        file.write_all_at(page, number * record.meta.page_size())?;
        reached(step);
    }
    file.sync_data()?;
    reached(Step::Flushed);
    Ok(())
}

/// Why a file does not have what was to be written.
#[derive(Debug, thiserror::Error)]
enum RereadError {
    #[error("the file does not have what was written")]
    Other,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Compares the file with what was written.
fn reread(data: &Path, wanted: &[MetaPage; 2]) -> Result<(), RereadError> {
    let found = PageFile::open(data).and_then(|file| file.map(|file| file.meta_pages()).transpose());
    match found {
        Ok(Some([Some(one), Some(two)])) if [&one, &two] == wanted.each_ref() => Ok(()),
        Ok(_) => Err(RereadError::Other),
        Err(error) => Err(error.into()),
    }
}

fn refused(data: &Path, why: impl fmt::Display) -> StoreError {
    StoreError::Format(format!(
        "{}: the machine ended before all was on the disk, and the file must be taken back to its last checkpoint \
         first: {why}",
        data.display()
    ))
}
