//! Why a review cannot be made.

use std::{io, path::PathBuf};

/// A failure of the review itself. Faults of the configuration are findings.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// A file name is not UTF-8.
    #[error("{}: the name is not UTF-8", .0.display())]
    Name(PathBuf),
    /// A log cannot be read.
    #[error("{}: {source}", path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}
