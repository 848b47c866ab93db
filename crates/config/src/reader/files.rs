//! Sources of configuration text: the disk, or memory in tests.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
};

/// Gives the text of a configuration file by the name used for it.
pub trait FileSource {
    /// The bytes of a file, at most `limit + 1` of them: one more than the limit shows that it is larger.
    fn read(&self, path: &str, limit: usize) -> io::Result<Vec<u8>>;

    /// A name that is the same for every name of one file, to recognise a file that includes itself.
    fn identity(&self, path: &str) -> String {
        path.to_owned()
    }
}

/// Regular files; relative names start at the working directory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl FileSource for Disk {
    fn read(&self, path: &str, limit: usize) -> io::Result<Vec<u8>> {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "regular file expected"));
        }
        let mut bytes = Vec::new();
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn identity(&self, path: &str) -> String {
        std::fs::canonicalize(path).map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
    }
}

/// Texts by name.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles(pub BTreeMap<String, Vec<u8>>);

impl MemoryFiles {
    /// One file.
    pub fn file(name: &str, text: impl Into<Vec<u8>>) -> Self {
        Self::default().and(name, text)
    }

    /// One more file.
    #[must_use]
    pub fn and(mut self, name: &str, text: impl Into<Vec<u8>>) -> Self {
        self.0.insert(name.to_owned(), text.into());
        self
    }
}

impl FileSource for MemoryFiles {
    fn read(&self, path: &str, _limit: usize) -> io::Result<Vec<u8>> {
        self.0.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}
