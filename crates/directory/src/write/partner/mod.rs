//! The partners of a commit: who has a part in each commit of a database beside LMDB.

pub(super) mod all;
mod cluster_log;
mod files;
mod readers;

#[cfg(test)]
pub(super) use self::cluster_log::tests::answering;

use std::sync::Arc;

use ironbark_store::{ClusterLogPlace, Database, WriteTransaction};

use crate::{
    OperationError,
    backend::{
        commit_log::Received,
        queue::{Outcome, Queued},
    },
};

/// Who has a part in each commit of a database beside LMDB: the files of an ldif database, the log of a cluster, the
/// readers that follow the database. A database has any number of partners ([`all::Partners`]).
///
/// The writer of the database calls all methods, on its thread, except the callback in [`Flush::Checkpoints`]. For each
/// group of writes, in this order:
///
/// 1. [`open`](Self::open).
/// 2. [`missing`](Self::missing), and [`applied`](Self::applied) if something is missing: LMDB gets the changes that a
///    partner has and LMDB lacks. Then [`ready`](Self::ready). Both again while a partner is not ready.
/// 3. The group is executed in LMDB's open transaction, which no reader sees. Executing draws CSNs.
/// 4. [`keep`](Self::keep), by one partner after the other. A group that has changed nothing, but has refusals or reads
///    that must not be old, gets [`confirm`](Self::confirm) instead.
/// 5. LMDB commits. If it fails, or a partner refuses in step 4, the partners that have the changes take them back
///    ([`take_back`](Self::take_back)), the last one first, after the transaction was dropped.
/// 6. [`committed`](Self::committed), before any write of the group is answered.
/// 7. [`close`](Self::close), also if the group has failed.
///
/// A group comes back to step 2 if a partner was overtaken, and to step 3 with fewer writes after a refusal that undoes
/// effects: nothing was kept of it. Changes of other servers (step 2, also without a group) are committed without step
/// 4, since the partner has them; then all partners get [`committed`](Self::committed).
///
/// So LMDB never has a change that a partner refused. A partner may have a change that LMDB lacks only if it cannot
/// take it back, as a log that others read. Such a partner is asked last, gives the clients the reason in
/// [`take_back`](Self::take_back), and brings the change again as missing.
pub(super) trait CommitPartner: Send {
    /// What groups must be like for this partner.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// How commits of LMDB reach the disk, if the partner decides that.
    fn flush(&self) -> Flush {
        Flush::AsConfigured
    }

    /// A group begins. No CSN of it has been drawn.
    fn open(&mut self, _group: &[Queued]) {}

    /// The next changes that the partner has and the database lacks, in the order of their numbers.
    ///
    /// # Errors
    /// The storage failed, or the open group cannot be executed: it is refused.
    fn missing(&mut self, _database: &Database) -> Result<Option<Missing>, OperationError> {
        Ok(None)
    }

    /// The missing changes are committed, or cannot be.
    ///
    /// # Errors
    /// They cannot be: the reason for clients.
    fn applied(&mut self, _missing: &Missing, outcome: Result<(), OperationError>) -> Result<(), OperationError> {
        outcome
    }

    /// Whether the group may be executed on what the database has. It may wait for that.
    ///
    /// # Errors
    /// The group is refused.
    fn ready(&mut self, _group: &[Queued]) -> Result<Ready, OperationError> {
        Ok(Ready::Now)
    }

    /// Takes the changes of an executed group: from now on they outlive what LMDB loses.
    ///
    /// # Errors
    /// The partner does not have them.
    fn keep(&mut self, _transaction: &mut WriteTransaction<'_>, _outcomes: &[Outcome]) -> Result<(), NotKept> {
        Ok(())
    }

    /// Makes sure that no newer change was there when the group was executed: it may have made a refusal wrong.
    ///
    /// # Errors
    /// There may be one.
    fn confirm(&mut self) -> Result<(), NotKept> {
        Ok(())
    }

    /// LMDB does not have the changes that this partner has kept. The partner takes them back. If it cannot, it returns
    /// the error for clients, who must not believe that nothing was changed.
    fn take_back(&mut self, _database: &Database, _outcomes: &[Outcome]) -> Option<OperationError> {
        None
    }

    /// LMDB has committed changes up to this number.
    fn committed(&mut self, _last: u64) {}

    /// The group has ended, and its outcomes are final.
    fn close(&mut self) {}
}

/// What groups must be like for partners.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Needs {
    /// The maximum number of writes in a group.
    pub(super) group_limit: usize,
    /// Whether the transaction gathers the changes in a batch ([`WriteTransaction::gather`]).
    pub(super) batch: bool,
    /// Whether other servers change the same data: a refusal stands only if [`CommitPartner::confirm`] or
    /// [`CommitPartner::keep`] succeeds.
    pub(super) is_shared: bool,
}

impl Default for Needs {
    fn default() -> Self {
        Self {
            group_limit: GROUP_LIMIT,
            batch: false,
            is_shared: false,
        }
    }
}

/// Maximum number of operations in one commit, so that the first does not wait too long.
const GROUP_LIMIT: usize = 1_024;

/// How commits of LMDB reach the disk.
pub(super) enum Flush {
    /// As the settings of the database say.
    AsConfigured,
    /// By checkpoints: the partner has the changes on the disk before, and brings again what a crash takes. The thread
    /// of the checkpoints calls this with the number of the last change that is on the disk.
    Checkpoints(Arc<dyn Fn(u64) + Send + Sync>),
    /// Not at all: LMDB is a working copy that is made anew at each start.
    Never,
}

/// Changes that a partner has and the database lacks.
pub(super) struct Missing {
    /// The place of the database.
    pub(super) place: ClusterLogPlace,
    /// The batches behind it, without gaps.
    pub(super) batches: Vec<Arc<Received>>,
    /// The place behind them.
    pub(super) behind: ClusterLogPlace,
    /// Octets of memory that they take, about.
    pub(super) octets: usize,
    /// Whether the partner has more.
    pub(super) has_more: bool,
}

/// Whether a group may be executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ready {
    /// It may.
    Now,
    /// The database lacks something, or may: ask for what is missing, and again.
    Behind,
    /// All of it was a wait until the database has all there is, and it has.
    Concluded,
}

/// Why a partner does not have the changes of a group.
#[derive(Debug)]
pub(super) enum NotKept {
    /// It has others at their place: the group must be executed again behind those.
    Overtaken,
    /// The group is refused.
    Refused(OperationError),
}
