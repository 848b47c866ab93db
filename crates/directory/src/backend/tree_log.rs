//! The tree of a cluster (cn=config), as the tree in memory sees it. It is kept elsewhere (crate `cluster`).
//!
//! There is no log of changes: each change replaces the whole tree, and is taken only if it was made from the newest
//! one. Places are those of a log all the same: each tree has the number behind that of the one before.

use std::{fmt, sync::Arc};

use ironbark_store::ClusterLogPlace;

use super::commit_log::{Append, Closed};

/// What is known of the tree of a cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CommonTree {
    /// It cannot be read, or not be taken.
    Closed(Closed),
    /// There is none yet: this server may put its own.
    Absent,
    /// Its place, and its text.
    At(ClusterLogPlace, Arc<[u8]>),
}

/// Where all servers of a cluster have their tree.
pub trait TreeLog: Send + Sync + fmt::Debug {
    /// What is known without asking.
    fn known(&self) -> CommonTree;

    /// Asks a majority, and waits for the answer.
    fn ask(&self) -> CommonTree;

    /// Puts a tree behind `place`, the newest one; the default place: there is none. The second part of the result is
    /// its place if it was taken. After [`Append::Overtaken`], [`TreeLog::known`] has what came before.
    fn put(&self, place: ClusterLogPlace, text: Vec<u8>) -> (Append, ClusterLogPlace);

    /// The tree of this place is in force here.
    fn reached(&self, place: ClusterLogPlace);

    /// The tree of this place cannot be put into force here.
    fn failed(&self, place: ClusterLogPlace, why: &str);
}
