//! Why a configuration or a log cannot be looked at.

use std::{io, path::PathBuf};

/// What keeps a review from being made; what is wrong with a configuration is a finding.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// Configuration files have names in UTF-8.
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
