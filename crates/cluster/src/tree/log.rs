//! What is known of the newest tree: shared by the thread that changes the tree, and the session, which reads it.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{SyncSender, sync_channel},
    },
};

use ironbark_directory::{Append, Closed, CommonTree, TreeLog};
use ironbark_store::ClusterLogPlace;
use tokio::sync::mpsc::UnboundedSender;

use crate::log::{GRACE, Shared};

/// What the session is asked for.
pub(super) enum Order {
    /// To read the newest tree.
    Ask { reply: SyncSender<CommonTree> },
    /// To put another one.
    Put(PutOrder),
}

/// What is to be put, and behind which place.
pub(super) struct PutOrder {
    pub(super) place: ClusterLogPlace,
    pub(super) text: Vec<u8>,
    pub(super) reply: SyncSender<(Append, ClusterLogPlace)>,
}

/// The newest tree that was read.
pub(super) struct Newest {
    pub(super) shared: Arc<Shared>,
    tree: Mutex<CommonTree>,
}

impl fmt::Debug for Newest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Newest")
    }
}

impl Newest {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            tree: Mutex::new(CommonTree::Closed(Closed::NotJoined)),
        }
    }

    /// What was read last, unless there is a reason not to take it.
    pub(super) fn get(&self) -> CommonTree {
        match self.shared.closed() {
            Some(closed) => CommonTree::Closed(closed),
            None => self.read_last(),
        }
    }

    /// What was read last.
    pub(super) fn read_last(&self) -> CommonTree {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The place of what was read last.
    pub(super) fn place(&self) -> Option<ClusterLogPlace> {
        match &*self.tree.lock().unwrap_or_else(PoisonError::into_inner) {
            CommonTree::At(place, _) => Some(*place),
            CommonTree::Absent | CommonTree::Closed(_) => None,
        }
    }

    /// Another one was read.
    pub(super) fn set(&self, tree: CommonTree) {
        let place = match &tree {
            CommonTree::At(place, _) => *place,
            CommonTree::Absent | CommonTree::Closed(_) => ClusterLogPlace::default(),
        };
        *self.tree.lock().unwrap_or_else(PoisonError::into_inner) = tree;
        self.shared.joined(&place);
    }
}

/// The tree of the cluster, as the tree in memory sees it.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) newest: Arc<Newest>,
    pub(super) orders: UnboundedSender<Order>,
}

impl TreeLog for Log {
    fn known(&self) -> CommonTree {
        self.newest.get()
    }

    fn ask(&self) -> CommonTree {
        let (reply, answer) = sync_channel(1);
        let late = CommonTree::Closed(Closed::Late);
        if self.orders.send(Order::Ask { reply }).is_err() {
            return late;
        }
        answer
            .recv_timeout(self.newest.shared.patience() + GRACE)
            .unwrap_or(late)
    }

    fn put(&self, place: ClusterLogPlace, text: Vec<u8>) -> (Append, ClusterLogPlace) {
        let (reply, answer) = sync_channel(1);
        if self.orders.send(Order::Put(PutOrder { place, text, reply })).is_err() {
            return (Append::Away, place);
        }
        // The session has had the order: without its word nobody knows.
        answer
            .recv_timeout(self.newest.shared.patience() + GRACE)
            .unwrap_or((Append::Unknown, place))
    }

    fn reached(&self, place: ClusterLogPlace) {
        self.newest.shared.reached(place);
    }

    fn failed(&self, place: ClusterLogPlace, why: &str) {
        self.newest.shared.set_stuck();
        tracing::error!(
            target: "any",
            "cluster: cn=config: change {} cannot be put into force: {why}",
            place.position.sequence
        );
    }
}
