//! Naming contexts whose entries are in memory: cn=config and cn=Monitor.
//!
//! The directory finds names, applies access rules and obeys controls, as for stored entries. The tree carries out the
//! change.

use std::sync::Arc;

use ironbark_config::{Operations, Restrict};
use ironbark_model::{Entry, Schema};
use ironbark_runtime::Randomness;
use ironbark_store::ClusterLogPlace;

use super::{configuration::Configuration, tree_change::TreeChange, tree_log::TreeLog, tree_replica::TreeReplica};
use crate::{
    OpenError, OperationError,
    refusal::{Failure, WriteRefusal},
    stamp::Stamp,
};

/// A naming context whose entries are in memory.
pub trait InMemoryTree: Send + Sync {
    /// The whole tree under a configuration. Superiors come first; the first entry is the suffix. The entries are
    /// complete, see [`complete_entries`]. Each operation calls this, so the tree should keep what does not change.
    fn entries(&self, configuration: &Configuration) -> Arc<[Entry]>;

    /// An entry as it is when it is sent, after `sent` others of the same search; `None`: unchanged. slapd's counters
    /// include the entries that the same search has already sent.
    fn refreshed(&self, configuration: &Configuration, entry: &Entry, sent: u32) -> Option<Entry> {
        let _ = (configuration, entry, sent);
        None
    }

    /// The kinds of write that the tree carries out. Others are refused before any look-up.
    fn writes(&self) -> Operations {
        Operations::default()
    }

    /// Carries out a change. Names, access and controls have been checked, except that the name of an add may be
    /// taken: the tree refuses that (`entryAlreadyExists`), or gives the entry its place before the other one. Changes
    /// run on the thread `config`, one after the other. A change may put another configuration into force through the
    /// [`Governor`].
    ///
    /// # Errors
    /// The change is refused, or fails. Nothing has been changed then.
    fn change(&self, change: &TreeChange, by: &ChangeAuthor<'_>) -> Result<(), OperationError> {
        let _ = (change, by);
        Err(WriteRefusal::UnsupportedInContext.into())
    }

    /// Puts into force what a provider has sent, all of it at once. Otherwise as [`InMemoryTree::change`].
    ///
    /// # Errors
    /// It is refused, or fails. Nothing has been changed then.
    fn replicate(&self, replica: &TreeReplica<'_>, by: &ChangeAuthor<'_>) -> Result<(), OperationError> {
        let _ = (replica, by);
        Err(WriteRefusal::UnsupportedInContext.into())
    }

    /// From now on the tree is that of a cluster; `None`: nobody reads there now.
    fn follow(&self, log: Option<Arc<dyn TreeLog>>) {
        let _ = log;
    }

    /// Where the tree is in its cluster. `None`: it has never been in one.
    fn place(&self) -> Option<ClusterLogPlace> {
        None
    }

    /// Whether each server of a cluster has an attribute of its own. Changes of it need not be confirmed.
    fn is_own(&self, attribute: &str) -> bool {
        let _ = attribute;
        false
    }

    /// From now on [`InMemoryTree::confirm`] is about changes that are waiting now: they share its answer.
    fn begin_batch(&self) {}

    /// Makes sure, before a change, that the tree is the newest of its cluster, as a majority has it.
    ///
    /// # Errors
    /// `busy`, `unavailable`: it is not known, or another one is: see [`InMemoryTree::must_repeat`].
    fn confirm(&self, configuration: &Configuration) -> Result<(), OperationError> {
        let _ = configuration;
        Ok(())
    }

    /// Whether the change that was just refused has had no effect anywhere, and would be made from an old tree:
    /// another server came before it. Then catch up, and make it anew. A change that may have been made is never made
    /// anew.
    fn must_repeat(&self) -> bool {
        false
    }

    /// Puts the newest tree of the cluster that is known into force. `false`: it is in force.
    ///
    /// # Errors
    /// It is refused here. Nothing has been changed then.
    fn catch_up(&self, by: &ChangeAuthor<'_>) -> Result<bool, OperationError> {
        let _ = by;
        Ok(false)
    }
}

/// The server, as a change of a tree may act on it.
pub trait Governor: Send + Sync {
    /// Makes everything that another configuration needs and that can fail. Nothing of it is in force yet.
    ///
    /// # Errors
    /// Something cannot be opened (the error names it), or the schema lacks definitions that entries use.
    fn prepare(
        &self,
        configuration: ironbark_config::LoadedConfiguration,
    ) -> Result<Box<dyn PreparedConfiguration + '_>, OpenError>;

    /// Makes the database with this number refuse these operations, and no others. This lasts until the server ends, or
    /// until a new configuration has other restrictions than the one in force. A database that refuses all writes is
    /// read-only.
    ///
    /// # Errors
    /// The server is ending.
    fn restrict(&self, number: i32, refused: Restrict) -> Result<(), OpenError>;
}

/// A configuration that is ready to be put into force. If it is dropped, nothing changes. While it exists, no database
/// is written to, and no other configuration can be prepared. So hold it only while the configuration is written to
/// disk.
pub trait PreparedConfiguration {
    /// Puts it into force, and then closes what it no longer uses.
    fn commit(self: Box<Self>);
}

/// The author of a change, with its time and context.
#[derive(Clone)]
pub struct ChangeAuthor<'a> {
    /// The server.
    pub governor: &'a dyn Governor,
    /// Randomness.
    pub randomness: &'a Randomness,
    /// The configuration under which the change was checked.
    pub configuration: &'a Arc<Configuration>,
    /// Name for `creatorsName` and `modifiersName`.
    pub dn: &'a str,
    /// CSN and time of the change.
    pub stamp: Stamp,
    /// To be called with the new entries and their schema before a change that outlives the process is made: followers
    /// note what is to come, as the process may end before they hear that it was made.
    pub announce: &'a dyn Fn(&Schema, &[Entry]),
}

impl ChangeAuthor<'_> {
    /// A new `entryUUID`.
    ///
    /// # Errors
    /// The system gives no random octets.
    pub fn entry_uuid(&self) -> Result<String, OperationError> {
        let uuid = self.randomness.uuid_v4().map_err(|error| {
            tracing::error!(target: "any", "making an entryUUID: {error}");
            Failure::Internal
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
