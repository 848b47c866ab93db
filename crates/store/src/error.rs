//! What can go wrong in the store, by who is at fault.

/// A failure of storage. None is the client's fault; each maps to `other` or `unwillingToPerform`.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// LMDB or the operating system failed.
    #[error("storage: {0}")]
    Lmdb(#[from] heed::Error),
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
    /// The file is not ours, newer than we are, or damaged.
    #[error("{0}")]
    Format(String),
    /// A change record does not fit the entries it is applied to.
    #[error("change record does not apply: {0}")]
    Inapplicable(String),
}
