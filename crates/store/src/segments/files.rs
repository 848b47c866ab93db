//! The file system below a log. Tests pass in one that loses what was not flushed.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use super::SEGMENT;
use crate::StoreError;

/// The folder of a log.
pub trait LogFiles: Send + Sync + fmt::Debug {
    /// The numbers of all segments, rising.
    fn numbers(&self) -> io::Result<Vec<u32>>;

    /// Makes an empty file.
    ///
    /// # Errors
    /// It is there already, or cannot be made.
    fn create(&self, number: u32) -> io::Result<Box<dyn LogFile>>;

    /// Opens a file, for reading and for writing.
    fn open(&self, number: u32) -> io::Result<Box<dyn LogFile>>;

    /// Removes a file. A reader that has it open can go on.
    fn remove(&self, number: u32) -> io::Result<()>;

    /// Puts on the disk which files there are.
    fn flush_names(&self) -> io::Result<()>;

    /// Usual length of a segment in octets.
    fn segment_length(&self) -> u32 {
        SEGMENT
    }

    /// The path of a file, for messages.
    fn path(&self, number: u32) -> PathBuf;

    /// An error of a file as one of the store.
    fn failed(&self, number: u32, error: io::Error) -> StoreError {
        StoreError::file(&self.path(number), error)
    }
}

/// An open file of a log.
pub trait LogFile: Send + Sync + fmt::Debug {
    /// Octets that it has.
    fn length(&self) -> io::Result<u64>;

    /// Reads octets, less than `into` has only at the end of the file. Returns their number.
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize>;

    /// Writes octets, perhaps only the first ones. Returns their number.
    fn write_at(&self, octets: &[u8], at: u64) -> io::Result<usize>;

    /// Puts the content on the disk.
    fn flush(&self) -> io::Result<()>;
}

impl dyn LogFile + '_ {
    /// Writes all octets.
    ///
    /// # Errors
    /// With the number of octets that were written before: the file may have more of them.
    pub(super) fn write_all_at(&self, octets: &[u8], at: u64) -> Result<(), (usize, io::Error)> {
        let mut written = 0;
        while let Some(rest) = octets.get(written..).filter(|rest| !rest.is_empty()) {
            match self.write_at(rest, at + written as u64) {
                Ok(0) => return Err((written, ErrorKind::WriteZero.into())),
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err((written, error)),
            }
        }
        Ok(())
    }
}

/// A folder of the operating system. Nobody else may write into it.
#[derive(Debug)]
pub struct LogFolder {
    path: PathBuf,
    mode: u32,
    /// Is locked, and flushed when files come or go.
    folder: File,
}

impl LogFolder {
    /// Opens a folder, and makes it if it is missing: for its owner alone. Files get `mode`.
    ///
    /// # Errors
    /// [`StoreError::InUse`]: another process has it. [`StoreError::File`]: it cannot be made or opened.
    pub fn open(path: &Path, mode: u32) -> Result<Self, StoreError> {
        let failed = |error| StoreError::file(path, error);
        if !path.exists() {
            fs::DirBuilder::new().mode(0o700).create(path).map_err(failed)?;
            let above = path.parent().filter(|above| !above.as_os_str().is_empty());
            let above = above.unwrap_or_else(|| Path::new("."));
            File::open(above).and_then(|above| above.sync_all()).map_err(failed)?;
        }
        let folder = File::open(path).map_err(failed)?;
        match folder.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(StoreError::InUse(path.to_owned())),
            Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
        }
        Ok(Self {
            path: path.to_owned(),
            mode,
            folder,
        })
    }
}

impl Drop for LogFolder {
    fn drop(&mut self) {
        // A child that is being forked has the folder open too: closing is not enough.
        let _ = self.folder.unlock();
    }
}

impl LogFiles for LogFolder {
    fn numbers(&self) -> io::Result<Vec<u32>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            numbers.extend(number_of(&entry?.path()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn create(&self, number: u32) -> io::Result<Box<dyn LogFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(self.mode);
        Ok(Box::new(options.open(self.path(number))?))
    }

    fn open(&self, number: u32) -> io::Result<Box<dyn LogFile>> {
        let file = OpenOptions::new().read(true).write(true).open(self.path(number))?;
        Ok(Box::new(file))
    }

    fn remove(&self, number: u32) -> io::Result<()> {
        fs::remove_file(self.path(number))
    }

    fn flush_names(&self) -> io::Result<()> {
        self.folder.sync_all()
    }

    fn path(&self, number: u32) -> PathBuf {
        self.path.join(format!("{number:08}.log"))
    }
}

/// The number of a segment by its file name. `None`: it is none.
fn number_of(path: &Path) -> Option<u32> {
    let digits = path.file_name()?.to_str()?.strip_suffix(".log")?;
    let is_number = digits.len() >= 8 && digits.bytes().all(|digit| digit.is_ascii_digit());
    let number: u32 = digits.parse().ok().filter(|_| is_number)?;
    (number > 0 && format!("{number:08}") == digits).then_some(number)
}

impl LogFile for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        let mut read = 0;
        while let Some(rest) = into.get_mut(read..).filter(|rest| !rest.is_empty()) {
            match FileExt::read_at(self, rest, at + read as u64) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    fn write_at(&self, octets: &[u8], at: u64) -> io::Result<usize> {
        FileExt::write_at(self, octets, at)
    }

    fn flush(&self) -> io::Result<()> {
        self.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_a_log_gives_are_segments() {
        let number = |name: &str| number_of(Path::new("/x").join(name).as_path());
        assert_eq!(number("00000017.log"), Some(17));
        assert_eq!(number("4294967295.log"), Some(u32::MAX));
        for other in [
            "00000000.log",
            "17.log",
            "0000000017.log",
            "4294967296.log",
            "00000017.log.lz4",
            "+0000017.log",
            "notes.log",
        ] {
            assert_eq!(number(other), None, "{other}");
        }
    }
}
