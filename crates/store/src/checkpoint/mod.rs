//! Commits that are not flushed, and a file that is whole after a crash of the machine nevertheless.
//!
//! LMDB never writes to a page that a reader may see. So a state of the file that was flushed once stays whole on the
//! disk as long as a reader holds it, whatever of the later pages gets there. Its meta page does not stay: LMDB has
//! two, and writes them in turns. It is kept in `checkpoint.mdb` ([`record`]). The next process that opens a file that
//! was not closed takes it back to that state, if the machine was started anew meanwhile ([`settle`]), and if the file
//! still is the one that was served ([`identity`], [`mark`]).
//!
//! For databases whose changes are elsewhere too, as those of a cluster: what a crash takes is brought again from
//! there.

mod boot;
mod file;
mod identity;
mod mark;
mod record;
mod settle;
mod steps;
mod take_back;
#[cfg(test)]
mod tests;

use std::{
    fs::File,
    io,
    os::fd::AsRawFd,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use heed::{EnvFlags, FlagSetMode, RoTxn, WithoutTls};

use crate::{
    StoreError,
    check::file::{MetaPage, PageFile},
    options::DatabaseOptions,
    tables::Environment,
};
use boot::Boot;
use file::CheckpointFile;
use identity::Content;
use mark::{Serving, ServingMark};
use record::{FileId, Record};

pub(crate) use file::put_aside;
pub(crate) use mark::clear as clear_mark;
pub(crate) use settle::{Settled, settle};

/// How often a commit is looked for while other processes commit.
const ATTEMPTS: usize = 100;
/// Octets of the file that are written back at once. Other flushes on the same disk, those of etcd perhaps, wait for
/// that much and not for a whole checkpoint.
const STEP: u64 = 64 << 10;
/// At most about so many parts, however long the file is: most of a longer one's have little to write.
const STEPS: u64 = 2_048;

/// A commit that stays in the file.
struct Held {
    meta: MetaPage,
    _reader: RoTxn<'static, WithoutTls>,
}

/// The last checkpoint of a database whose commits are not flushed.
struct Last {
    file: CheckpointFile,
    record: Record,
    /// Its pages are not written to.
    held: Held,
    /// Nor are those of the checkpoint before: its record counts again if a crash destroys the last one.
    before: Option<Held>,
}

/// The checkpoints of an environment.
pub(crate) struct Checkpoints {
    env: Environment,
    directory: PathBuf,
    mode: u32,
    /// Whether commits are not flushed without checkpoints either.
    no_sync: bool,
    settled: Settled,
    /// `None`: each commit is flushed.
    last: Mutex<Option<Last>>,
    has_lost_pages: AtomicBool,
}

/// A checkpoint that has begun: the commit at which it was begun is held.
#[must_use = "it counts when it is complete"]
pub struct Checkpoint {
    held: Held,
    checkpoints: Arc<Checkpoints>,
}

impl std::fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checkpoint")
            .field("transaction", &self.held.meta.transaction())
            .finish_non_exhaustive()
    }
}

impl Checkpoints {
    /// Of an environment whose commits are flushed so far.
    pub(crate) fn of(env: &Environment, options: &DatabaseOptions, settled: Settled) -> Self {
        Self {
            env: env.clone(),
            directory: options.directory.clone(),
            mode: options.mode,
            no_sync: options.no_sync,
            settled,
            last: Mutex::default(),
            has_lost_pages: AtomicBool::new(false),
        }
    }

    /// What was done before the environment was opened.
    pub(crate) fn settled(&self) -> Settled {
        self.settled
    }

    /// Whether a flush has failed, so that pages which the kernel had may be missing.
    pub(crate) fn has_lost_pages(&self) -> bool {
        self.has_lost_pages.load(Ordering::Relaxed)
    }

    /// The first one. From now on commits are not flushed.
    pub(crate) fn begin(&self) -> Result<(), StoreError> {
        let mut last = self.last();
        if last.is_some() {
            return Ok(());
        }
        let (held, serving) = (self.hold_last()?, Serving::new()?);
        // Before the mark is written: another process that serves the file needs its own.
        let file = CheckpointFile::create(&self.directory, self.mode)?;
        let record = self.first_record(&file, &held, serving);
        let begun = record.and_then(|record| self.set_flushed(false).map(|()| record));
        match begun {
            Ok(record) => {
                *last = Some(Last {
                    file,
                    record,
                    held,
                    before: None,
                });
                Ok(())
            }
            Err(error) => {
                // A file that has a mark and no record would be refused at the next start of the machine.
                let _ = self.clear_mark_of(serving);
                let _ = file.remove();
                Err(error)
            }
        }
    }

    fn first_record(&self, file: &CheckpointFile, held: &Held, serving: Serving) -> Result<Record, StoreError> {
        let path = self.data();
        self.env.force_sync()?;
        let data = std::fs::metadata(&path).map_err(|error| StoreError::file(&path, error))?;
        let content = Content::of(&PageFile::open_as(&path, &held.meta)?, held.meta.meta())?;
        let record = Record {
            number: 0,
            boot: Boot::current(),
            file: FileId::of(&data),
            meta: held.meta.clone(),
            serving,
            content: content.ok_or_else(|| self.damaged())?,
        };
        // A file has a mark on the disk only while it has a record.
        file.write(&record)?;
        self.put_mark(&record)?;
        self.env.force_sync()?;
        Ok(record)
    }

    /// Writes into the data file that the checkpoint of a record was begun.
    fn put_mark(&self, record: &Record) -> Result<(), StoreError> {
        let mark = ServingMark {
            serving: record.serving,
            boot: Boot::current(),
            checkpoint: record.number,
        };
        mark.put(&self.data())
    }

    /// The next one. `None`: each commit is flushed.
    pub(crate) fn next(self: &Arc<Self>) -> Result<Option<Checkpoint>, StoreError> {
        if self.last().is_none() {
            return Ok(None);
        }
        let (held, checkpoints) = (self.hold_last()?, Arc::clone(self));
        Ok(Some(Checkpoint { held, checkpoints }))
    }

    /// Flushes all commits, and each one from now on.
    pub(crate) fn end(&self) -> Result<(), StoreError> {
        let mut last = self.last();
        let Some(current) = last.as_mut() else {
            return Ok(());
        };
        self.set_flushed(true)?;
        if let Err(error) = self.env.force_sync() {
            self.distrust(current);
            return Err(error.into());
        }
        // The kernel no longer has what an earlier flush has lost, and says nothing of it again.
        if self.has_lost_pages() {
            return Ok(());
        }
        if let Err(error) = self.clear_mark_of(current.record.serving) {
            self.distrust(current);
            return Err(error);
        }
        let Some(ended) = last.take() else { return Ok(()) };
        ended.file.remove()
    }

    /// Removes the mark of a serving from the data file. If another file has taken its place, that is not written to.
    fn clear_mark_of(&self, serving: Serving) -> Result<(), StoreError> {
        let path = self.data();
        if path.exists() && self.has_mark_of(serving)? {
            mark::clear(&path)?;
        }
        Ok(())
    }

    /// Whether the file is still the one that is served.
    fn has_mark_of(&self, serving: Serving) -> Result<bool, StoreError> {
        let mark = ServingMark::at(&self.data())?;
        Ok(mark.is_some_and(|mark| mark.serving == serving))
    }

    fn set_flushed(&self, is_flushed: bool) -> Result<(), StoreError> {
        if self.no_sync {
            return Ok(());
        }
        let mode = if is_flushed {
            FlagSetMode::Disable
        } else {
            FlagSetMode::Enable
        };
        // SAFETY: no other thread sets flags: the caller is the one that commits.
        #[allow(unsafe_code, reason = "there is no safe form")]
        Ok(unsafe { self.env.set_flags(EnvFlags::NO_SYNC, mode) }?)
    }

    fn last(&self) -> MutexGuard<'_, Option<Last>> {
        // Each change of it is whole.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data.mdb")
    }

    /// Holds the last commit.
    fn hold_last(&self) -> Result<Held, StoreError> {
        let path = self.data();
        for _ in 0..ATTEMPTS {
            let reader = self.env.clone().static_read_txn()?;
            let pages = PageFile::open(&path)?.map(|file| file.meta_pages()).transpose()?;
            let mut pages = pages.into_iter().flatten().flatten();
            if let Some(meta) = pages.find(|page| page.transaction() == reader.id() as u64) {
                return Ok(Held { meta, _reader: reader });
            }
        }
        Err(StoreError::Format(format!("{}: commits come too fast", path.display())))
    }

    /// Begins the checkpoint after the last one, in the data file. Its number is on the disk before its record is, so
    /// an older record cannot be taken for the last one.
    fn announce(&self) -> Result<(), StoreError> {
        let last = self.last();
        let Some(current) = last.as_ref() else { return Ok(()) };
        if !self.has_mark_of(current.record.serving)? {
            return Err(self.damaged());
        }
        self.put_mark(&Record {
            number: current.record.number + 1,
            ..current.record.clone()
        })
    }

    /// What the file holds of a commit that is held. The file must still have the mark of the last record: if another
    /// one has taken its place, no record may say that this is whole.
    fn content(&self, held: &Held, last: &Record) -> Result<Content, StoreError> {
        let content = Content::of(&PageFile::open_as(&self.data(), &held.meta)?, held.meta.meta())?;
        let is_served = self.has_mark_of(last.serving)?;
        content.filter(|_| is_served).ok_or_else(|| self.damaged())
    }

    fn damaged(&self) -> StoreError {
        StoreError::Format(format!(
            "{}: the file is damaged, or was replaced while it was served",
            self.data().display()
        ))
    }

    /// Writes back what is to be written of the file, part by part.
    fn write_back(&self, length: u64) -> Result<(), StoreError> {
        let path = self.data();
        let failed = |error| StoreError::file(&path, error);
        let file = File::open(&path).map_err(failed)?;
        let step = (length / STEPS).max(STEP).next_multiple_of(STEP);
        let mut parts = (0..length).step_by(usize::try_from(step).unwrap_or(usize::MAX));
        parts.try_for_each(|from| write_part(&file, from, step).map_err(failed))
    }

    /// A flush has failed: the kernel may have dropped pages, and says nothing of it again. What is on the disk for
    /// sure is the last checkpoint.
    fn distrust(&self, last: &mut Last) {
        self.has_lost_pages.store(true, Ordering::Relaxed);
        last.record.number += 1;
        last.record.boot = Boot::UNKNOWN;
        // If this fails too, nothing better can be done.
        let _ = last.file.write(&last.record);
    }
}

impl Checkpoint {
    /// Flushes what was committed before it began, and notes it. This takes as long as the disk does, and may be done
    /// by another thread than the one that commits.
    ///
    /// # Errors
    /// The disk fails. Nothing more can be committed, and the next one who opens the file takes it back to the
    /// checkpoint before.
    pub fn complete(self) -> Result<(), StoreError> {
        let Self { held, checkpoints } = self;
        checkpoints.announce()?;
        let flushed = checkpoints.write_back(held.meta.length());
        let flushed = flushed.and_then(|()| Ok(checkpoints.env.force_sync()?));
        let mut last = checkpoints.last();
        let Some(current) = last.as_mut() else {
            // All was flushed at their end, but for what this flush has lost.
            checkpoints.has_lost_pages.fetch_or(flushed.is_err(), Ordering::Relaxed);
            return flushed;
        };
        if flushed.is_err() {
            checkpoints.distrust(current);
            return flushed;
        }
        let next = Record {
            number: current.record.number + 1,
            meta: held.meta.clone(),
            content: checkpoints.content(&held, &current.record)?,
            ..current.record.clone()
        };
        if let Err(error) = current.file.write(&next) {
            checkpoints.distrust(current);
            return Err(error);
        }
        current.record = next;
        // The pages of the one before the last may be written to from now on.
        current.before = Some(std::mem::replace(&mut current.held, held));
        Ok(())
    }
}

/// Writes back a part of a file, and waits for it.
fn write_part(file: &File, from: u64, octets: u64) -> io::Result<()> {
    let (Ok(from), Ok(octets)) = (i64::try_from(from), i64::try_from(octets)) else {
        return Ok(());
    };
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the descriptor is open, and the call has no pointers.
    #[allow(unsafe_code, reason = "there is no safe form")]
    let result = unsafe { libc::sync_file_range(file.as_raw_fd(), from, octets, flags) };
    if result == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        // Some file systems have no such call: all is written by the flush.
        Some(libc::ESPIPE | libc::ENOSYS | libc::EINVAL) => Ok(()),
        _ => Err(error),
    }
}
