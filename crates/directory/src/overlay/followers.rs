//! After a commit: who follows a database hears of it.

use ironbark_store::ChangeRecord;

use crate::request::requested_change::RequestedChange;

/// Hears of each write when it is committed.
pub trait CommitHooks: Send + Sync {
    /// Sees the committed record, in commit order, on the writer thread: must not block for long and cannot refuse.
    fn after_commit(&self, record: &ChangeRecord, context: &AfterCommit<'_>);

    /// After the last write that it follows: flush what is buffered. The server ends, or the configuration no longer
    /// has it.
    fn close(&self) {}
}

/// What accompanies a committed record.
#[derive(Clone, Copy, Debug)]
pub struct AfterCommit<'a> {
    /// First suffix of the database, pretty form.
    pub suffix: &'a str,
    /// Pretty authorization DN of the client; empty for anonymous.
    pub author: &'a str,
    /// The client's address as the log prints it (`IP=...`), and its connection number.
    pub peer_name: &'a str,
    /// Connection number.
    pub connection: u64,
    /// The identity that authenticated, pretty form: another one than `author` under proxied authorization.
    pub authenticated: &'a str,
    /// Seconds since 1970.
    pub unix_seconds: i64,
    /// The operation as it was asked for, in the order of execution.
    pub asked: &'a [RequestedChange],
}
