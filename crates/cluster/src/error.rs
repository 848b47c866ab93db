//! Why a command about a cluster failed, or a copy of its database.

use std::io;

use ironbark_directory::OpenError;
use ironbark_store::StoreError;

use crate::etcd::Failure;

/// Why a question to a cluster's etcd, or a change there, failed. The text is for the operator.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ClusterError {
    /// A log may be replaced only on request.
    #[error("there is a log in etcd; --replace-log deletes it")]
    HasLog,
    /// A configuration may be replaced only on request.
    #[error("there is a configuration in etcd; --replace-log replaces it")]
    HasTree,
    /// A server may follow the log. `heard_s`: seconds since it was heard. `wait_s`: seconds after which it counts as
    /// stopped.
    #[error("{name} runs, or did {heard_s} s ago; stop all servers, and wait for {wait_s} s")]
    IsFollowed {
        /// The server.
        name: String,
        /// Seconds.
        heard_s: i64,
        /// Seconds.
        wait_s: i64,
    },
    /// A server has appended to the log since it was read.
    #[error("the log has changed meanwhile")]
    LogChanged,
    /// A server has put a configuration since it was read.
    #[error("the configuration in etcd has changed meanwhile")]
    TreeChanged,
    /// The value of this key cannot be read.
    #[error("{0} is malformed")]
    Malformed(String),
    /// No member of etcd answers: what the last one says.
    #[error("{0}")]
    NoAnswer(String),
    /// The operating system refuses a runtime or randomness.
    #[error("{0}")]
    System(String),
}

impl From<Failure> for ClusterError {
    fn from(failure: Failure) -> Self {
        Self::NoAnswer(failure.why)
    }
}

impl From<io::Error> for ClusterError {
    fn from(error: io::Error) -> Self {
        Self::System(error.to_string())
    }
}

/// Why a database has not got another file ([`crate::Host::renew`]).
#[derive(Debug, thiserror::Error)]
pub enum RenewalError {
    /// The configuration has it no more.
    #[error("the database is no longer served")]
    NotServed,
    /// It could not be closed in time.
    #[error("the former database is still in use by an operation that began earlier")]
    InUse,
    /// The file could not be replaced.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Why a copy was not sent, or not received.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    #[error("no secret")]
    NoSecret,
    #[error("it is no longer wanted")]
    NotWanted,
    #[error("the thread has ended")]
    ThreadEnded,
    #[error("the copy is of another log, or older than the database")]
    OtherLog,
    #[error("no address of this server reaches etcd")]
    NoAddress,
    #[error("{host} port {port}: {error}")]
    Listen { host: String, port: u16, error: io::Error },
    #[error("{path}: {error}")]
    File { path: String, error: io::Error },
    #[error("{0}")]
    Random(getrandom::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Renewal(#[from] RenewalError),
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    #[error(transparent)]
    Certificate(#[from] rcgen::Error),
    #[error(transparent)]
    Name(#[from] rustls::pki_types::InvalidDnsNameError),
}
