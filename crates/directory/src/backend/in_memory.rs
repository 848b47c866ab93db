//! Naming contexts whose entries are in memory: cn=config and cn=Monitor.
//!
//! The directory finds names, applies access rules and obeys controls, as for stored entries; the tree carries out the
//! change.

use std::sync::Arc;

use ironbark_config::{Operations, Restrict};
use ironbark_model::{Entry, ResultCode};
use ironbark_runtime::Randomness;

use super::{configuration::Configuration, tree_change::TreeChange};
use crate::{OpenError, OperationError, stamp::Stamp};

/// A naming context whose entries are in memory.
pub trait InMemoryTree: Send + Sync {
    /// The whole tree under a configuration, parents first, the topmost entry being the suffix; made complete by
    /// [`complete_entries`]. Asked for at each operation: what does not change is to be kept.
    fn entries(&self, configuration: &Configuration) -> Arc<[Entry]>;

    /// An entry as it is at the moment when it is sent, after `sent` others of the same search; `None`: as it was.
    /// slapd counts what a search has sent already when it shows the counters.
    fn refreshed(&self, configuration: &Configuration, entry: &Entry, sent: u32) -> Option<Entry> {
        let _ = (configuration, entry, sent);
        None
    }

    /// The kinds of write that it carries out. Others are refused before anything is looked up.
    fn writes(&self) -> Operations {
        Operations::default()
    }

    /// Carries out a change of which names, access and controls have been checked. Runs on the thread `config`, one
    /// after the other; it may put another configuration into force by the
    /// [`Governor`].
    ///
    /// # Errors
    /// The change is refused, or fails; nothing has been changed then.
    fn change(&self, change: &TreeChange, by: &ChangeAuthor<'_>) -> Result<(), OperationError> {
        let _ = (change, by);
        Err(unsupported())
    }
}

/// What a change of a tree may do to the server.
pub trait Governor: Send + Sync {
    /// Makes everything that another configuration needs and that can fail. Nothing of it is in force yet.
    ///
    /// # Errors
    /// What cannot be had, by name; a schema that lacks what entries use.
    fn prepare(
        &self,
        configuration: ironbark_config::Configuration,
    ) -> Result<Box<dyn PreparedConfiguration + '_>, OpenError>;

    /// Lets the database with this number refuse these operations, and no others, until the server ends or a
    /// configuration says something else about them than the one in force. A database that refuses all writes is
    /// read-only.
    ///
    /// # Errors
    /// The server ends.
    fn restrict(&self, number: i32, refused: Restrict) -> Result<(), OpenError>;
}

/// A configuration that is ready to be put into force. Dropped, it leaves what is in force as it is. No database is
/// written to while there is one, and no other can be prepared: it is to be held no longer than it takes to write the
/// configuration to disk.
pub trait PreparedConfiguration {
    /// Puts it into force, and then closes what it has no use for.
    fn commit(self: Box<Self>);
}

/// Who makes a change, when and where.
#[derive(Clone)]
pub struct ChangeAuthor<'a> {
    /// The server.
    pub governor: &'a dyn Governor,
    /// Randomness.
    pub randomness: &'a Randomness,
    /// The configuration under which the change was checked.
    pub configuration: &'a Arc<Configuration>,
    /// As `creatorsName` and `modifiersName` have it.
    pub dn: &'a str,
    /// CSN and time of the change.
    pub stamp: Stamp,
}

impl ChangeAuthor<'_> {
    /// A new `entryUUID`.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn entry_uuid(&self) -> Result<String, OperationError> {
        let uuid = self.randomness.uuid_v4().map_err(|error| {
            tracing::error!(target: "any", "making an entryUUID: {error}");
            OperationError::new(ResultCode::OTHER, "internal error")
        })?;
        Ok(uuid.to_string())
    }
}

impl std::fmt::Debug for ChangeAuthor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeAuthor")
            .field("dn", &self.dn)
            .field("stamp", &self.stamp)
            .finish_non_exhaustive()
    }
}

/// What slapd answers to a kind of write that a backend does not have.
pub(crate) fn unsupported() -> OperationError {
    OperationError::new(
        ResultCode::UNWILLING_TO_PERFORM,
        "operation not supported within namingContext",
    )
}
