//! What can go wrong in the store, by who is at fault.

/// A failure of storage. None is the client's fault; each maps to `other` or `unwillingToPerform`.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// LMDB or the operating system failed.
    #[error("storage: {0}")]
    Lmdb(#[source] heed::Error),
    /// A file operation failed.
    #[error("{path}: {source}")]
    File {
        /// Which file.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The map (`maxsize`) or the disk is full; the database remains usable for reads.
    #[error("database is full: {0}")]
    Full(String),
    /// Another process has opened the file for writing.
    #[error("{}: {}", .0.display(), ironbark_runtime::process::in_use(.0))]
    InUse(std::path::PathBuf),
    /// The file is not ours, newer than we are, or damaged.
    #[error("{0}")]
    Format(String),
    /// A change record does not fit the entries it is applied to.
    #[error("change record does not apply: {0}")]
    Inapplicable(String),
}

impl From<heed::Error> for StoreError {
    fn from(error: heed::Error) -> Self {
        match &error {
            heed::Error::Mdb(heed::MdbError::MapFull) => Self::Full("maxsize is reached".into()),
            heed::Error::Io(source) if is_out_of_space(source) => Self::Full(source.to_string()),
            _ => Self::Lmdb(error),
        }
    }
}

impl StoreError {
    /// A file operation's failure; a full disk is [`StoreError::Full`].
    pub(crate) fn file(path: &std::path::Path, source: std::io::Error) -> Self {
        if is_out_of_space(&source) {
            return Self::Full(format!("{}: {source}", path.display()));
        }
        Self::File {
            path: path.to_owned(),
            source,
        }
    }
    /// LMDB reports a write that did not fit on the disk as a failure of the device. The room left in the database's
    /// directory tells the two apart.
    pub(crate) fn with_room_checked(self, directory: &std::path::Path) -> Self {
        let Self::Lmdb(heed::Error::Io(source)) = &self else {
            return self;
        };
        let is_short = source.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error());
        match rustix::fs::statvfs(directory) {
            Ok(room) if is_short && room.f_bavail.saturating_mul(room.f_frsize) < ROOM => {
                Self::Full("no space left on device".into())
            }
            _ => self,
        }
    }
    /// Bytes in a table are not what was written there.
    pub fn damaged(what: &str) -> Self {
        Self::Format(format!("database is damaged: {what}"))
    }
}

/// A disk with fewer free bytes counts as full: a transaction writes more than this at once.
const ROOM: u64 = 1 << 20;

fn is_out_of_space(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_map_and_a_full_disk_are_told_apart_from_failures() {
        let full: StoreError = heed::Error::Mdb(heed::MdbError::MapFull).into();
        assert!(matches!(full, StoreError::Full(_)));
        let disk: StoreError = heed::Error::Io(std::io::Error::from_raw_os_error(28)).into();
        assert!(matches!(disk, StoreError::Full(_)));
        let other: StoreError = heed::Error::Io(std::io::Error::from_raw_os_error(5)).into();
        assert!(matches!(other, StoreError::Lmdb(_)));
    }
}
