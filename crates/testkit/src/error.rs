//! Failures of the surroundings of a test.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// The surroundings of a test failed. The message contains all that a reader needs.
#[derive(Debug, thiserror::Error)]
pub enum TestkitError {
    /// A program that the tests need is not installed.
    #[error("{0} is missing; `make deps` installs what the tests need")]
    MissingProgram(PathBuf),
    /// Our own binary could not be built.
    #[error("the binary could not be built:\n{0}")]
    Build(String),
    /// A file or process operation failed.
    #[error("{what}: {source}")]
    Io {
        /// The attempted operation.
        what: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// The server ended before it listened.
    #[error("the server ended with {status} before it listened; its log:\n{log}")]
    EndedEarly {
        /// How it ended.
        status: ExitStatus,
        /// Its log.
        log: String,
    },
    /// slapd gives another answer than the recorded one.
    #[error("{}: slapd answers otherwise now (`make record`):\n{difference}", file.display())]
    OtherAnswer {
        /// The recording.
        file: PathBuf,
        /// What has changed.
        difference: String,
    },
    /// A condition did not come true in time.
    #[error("{what} did not come true within {seconds} s; the server's log:\n{log}")]
    Deadline {
        /// The condition.
        what: String,
        /// How long the test waited.
        seconds: u64,
        /// The server's log.
        log: String,
    },
    /// A program ended with another status than the test needs.
    #[error("{command} ended with {status}\nstdout:\n{stdout}\nstderr:\n{stderr}")]
    Status {
        /// The command line.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// Its standard output.
        stdout: String,
        /// Its standard error.
        stderr: String,
    },
}

impl TestkitError {
    /// Adds the attempted operation to the error `source`.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
