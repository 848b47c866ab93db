//! cn=config as a member of a cluster: what all servers have in common, and where this one is.
//!
//! A change is made from the newest tree, and counts once a majority of etcd has the part that is common to all; then
//! it is written to the files here and put into force, like one that came from another server.
//!
//! Invariants: what is in force here is some tree of the cluster, with what is this server's own. The place in the
//! folder is that of the files, or of earlier ones: it is written after them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ironbark_cluster::{place_text, read_place};
use ironbark_config::{
    Registry,
    olc::{Folder, Tree},
};
use ironbark_directory::{Append, Closed, CommonTree, OperationError, TreeLog};
use ironbark_model::ResultCode;
use ironbark_store::ClusterLogPlace;

/// The longest time until a tree that could not be taken is tried again, in calls of the session.
const MOST_CALLS: u32 = 32;

/// The side of cn=config that knows of a cluster.
pub(crate) struct ConfigCluster {
    folder: Option<Folder>,
    registry: Registry,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    log: Option<Arc<dyn TreeLog>>,
    /// Where the tree in force is.
    place: Option<ClusterLogPlace>,
    /// What all servers had there. `None`: it was not read since the start.
    common: Option<Arc<Tree>>,
    failed: Option<FailedTree>,
    /// What a majority has said since the batch began.
    asked: Option<Result<ClusterLogPlace, Closed>>,
    /// Whether another server came before the change that was just refused.
    was_overtaken: bool,
}

/// A tree that could not be put into force here.
#[derive(Clone, Copy)]
struct FailedTree {
    place: ClusterLogPlace,
    /// Calls until the next attempt, and until the one after that.
    next: u32,
    wait: u32,
}

/// What was put into the cluster, and is to be put into force here.
pub(crate) struct Published {
    place: ClusterLogPlace,
    common: Tree,
}

impl Published {
    /// Its place.
    pub(crate) fn place(&self) -> ClusterLogPlace {
        self.place
    }
}

/// What the cluster has for this server.
pub(crate) enum News {
    /// Nothing.
    None,
    /// There is no tree yet: this server may put its own.
    Begin,
    /// This one, with what is this server's own.
    Take(Box<(Tree, Published)>),
}

impl ConfigCluster {
    /// Of a server with this folder.
    pub(crate) fn new(folder: Option<Folder>, registry: Registry) -> Self {
        // A place that cannot be read is like one that was lost: the tree of the cluster is taken.
        let place = folder.as_ref().and_then(|folder| folder.place().ok().flatten());
        let state = State {
            place: place.and_then(|text| read_place(text.as_bytes())),
            ..State::default()
        };
        Self {
            folder,
            registry,
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change of it is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self) -> Option<Arc<dyn TreeLog>> {
        self.state().log.clone()
    }

    /// From now on this is where the cluster has its tree.
    pub(crate) fn follow(&self, log: Option<Arc<dyn TreeLog>>) {
        let mut state = self.state();
        state.log = log;
        state.common = None;
        state.failed = None;
    }

    /// Where the tree is.
    pub(crate) fn place(&self) -> Option<ClusterLogPlace> {
        self.state().place
    }

    /// The answer of the cluster is to be about what waits now.
    pub(crate) fn begin_batch(&self) {
        self.state().asked = None;
    }

    /// Makes sure that the tree in force is the newest one, or was since the batch began. A client without rights may
    /// ask for it, so many requests share one answer, which takes seconds if the cluster gives none.
    pub(crate) fn confirm(&self) -> Result<(), OperationError> {
        let log = self.log().ok_or(Closed::NotJoined)?;
        let known = self.state().asked;
        let asked = known.unwrap_or_else(|| match log.ask() {
            CommonTree::Closed(closed) => Err(closed),
            CommonTree::Absent => Err(Closed::NotJoined),
            CommonTree::At(place, _) => Ok(place),
        });
        let mut state = self.state();
        state.asked = Some(asked);
        let newest = asked?;
        let has = |place: ClusterLogPlace| place.position.sequence >= newest.position.sequence;
        if state.common.is_some() && state.place.is_some_and(has) {
            return Ok(());
        }
        state.was_overtaken = state.failed.is_none_or(|failed| failed.place != newest);
        Err(Closed::CannotFollow.into())
    }

    /// Whether the change that was just refused was overtaken, and can be made from the newest tree.
    pub(crate) fn must_repeat(&self) -> bool {
        std::mem::take(&mut self.state().was_overtaken)
    }

    /// What the cluster has for this server, whose tree is `own`. A tree that could not be taken is tried only now and
    /// then.
    pub(crate) fn news(&self, own: &Tree) -> News {
        let Some(log) = self.log() else { return News::None };
        let (place, text) = match log.known() {
            CommonTree::Closed(_) => return News::None,
            CommonTree::Absent if self.place().is_none() => return News::Begin,
            // It was lost: a new one begins only by an administrator's word.
            CommonTree::Absent => return News::None,
            CommonTree::At(place, text) => (place, text),
        };
        let joins = {
            let mut state = self.state();
            if state.place == Some(place) && state.common.is_some() {
                drop(state);
                log.reached(place);
                return News::None;
            }
            if let Some(failed) = state.failed.as_mut().filter(|failed| failed.place == place)
                && failed.next > 0
            {
                failed.next -= 1;
                return News::None;
            }
            state.place.is_none()
        };
        match Tree::of_ldif(&text, "cn=config of the cluster", &self.registry) {
            Ok(common) => News::Take(Box::new((common.with_own_of(own, joins), Published { place, common }))),
            Err(error) => {
                self.failed(place, &error.to_string());
                News::None
            }
        }
    }

    /// Says that a tree cannot be put into force here.
    pub(crate) fn failed(&self, place: ClusterLogPlace, why: &str) {
        let log = {
            let mut state = self.state();
            let before = state.failed.filter(|failed| failed.place == place);
            let wait = before.map_or(1, |failed| (failed.wait * 2).min(MOST_CALLS));
            state.failed = Some(FailedTree {
                place,
                next: wait,
                wait,
            });
            state.log.clone()
        };
        if let Some(log) = log {
            log.failed(place, why);
        }
    }

    /// What all servers are to have of a tree, if it is something else than what they have. Without knowing that, a
    /// change was about this server alone: others are confirmed first.
    fn changed(&self, tree: &Tree) -> Option<Tree> {
        let before = self.state().common.clone()?;
        let common = tree.common(Some(&before));
        (!common.means_the_same_as(&before)).then_some(common)
    }

    /// Whether a tree changes anything for other servers.
    pub(crate) fn is_news_for_others(&self, tree: &Tree) -> bool {
        self.changed(tree).is_some()
    }

    /// Puts what is common of a tree where all servers find it, unless it is there. `None`: nothing was put, and
    /// nothing need be.
    ///
    /// # Errors
    /// As of [`Append::result`].
    pub(crate) fn publish(&self, tree: &Tree) -> Result<Option<Published>, OperationError> {
        let Some(common) = self.changed(tree) else {
            return Ok(None);
        };
        let (log, place) = {
            let state = self.state();
            (state.log.clone(), state.place)
        };
        let (log, place) = log.zip(place).ok_or(Closed::NotJoined)?;
        let (end, place) = log.put(place, common.to_ldif());
        if end == Append::Overtaken {
            // What a majority said before is old.
            let mut state = self.state();
            state.was_overtaken = true;
            state.asked = None;
        }
        end.result()?;
        Ok(Some(Published { place, common }))
    }

    /// Puts the tree of this server there as the first one.
    ///
    /// # Errors
    /// As of [`Append::result`].
    pub(crate) fn begin(&self, tree: &Tree) -> Result<Published, OperationError> {
        let log = self.log().ok_or(Closed::NotJoined)?;
        let common = tree.common(None);
        let (end, place) = log.put(ClusterLogPlace::default(), common.to_ldif());
        end.result()?;
        tracing::info!(target: "any", "cluster: cn=config: that of the cluster begins with this server's");
        Ok(Published { place, common })
    }

    /// The files have it, and it is in force.
    pub(crate) fn took(&self, published: Published) {
        let Published { place, common } = published;
        if let Some(folder) = &self.folder
            && let Err(error) = folder.put_place(Some(&place_text(&place)))
        {
            // The next start takes the tree of the cluster once more.
            tracing::error!(target: "any", "config: {error}");
        }
        let log = {
            let mut state = self.state();
            state.place = Some(place);
            state.common = Some(Arc::new(common));
            state.failed = None;
            state.log.clone()
        };
        if let Some(log) = log {
            log.reached(place);
        }
    }

    /// The server is in no cluster.
    pub(crate) fn leave(&self) {
        let mut state = self.state();
        if state.place.take().is_none() {
            return;
        }
        state.common = None;
        if let Some(folder) = &self.folder
            && let Err(error) = folder.put_place(None)
        {
            tracing::error!(target: "any", "config: {error}");
        }
    }

    /// Refuses a cluster where changes are not kept: the next start would serve under settings of long ago.
    pub(crate) fn check(&self) -> Result<(), OperationError> {
        if self.folder.is_some() {
            return Ok(());
        }
        Err(OperationError::new(
            ResultCode::UNWILLING_TO_PERFORM,
            "cluster: cn=config of a cluster needs a configuration directory",
        ))
    }
}

#[cfg(test)]
mod tests {
    use ironbark_config::{MemoryFiles, olc::render};
    use ironbark_overlays::registry;
    use ironbark_store::change::Position;

    use super::*;

    fn tree(limit: u32) -> Tree {
        let text = format!("sizelimit {limit}\ndatabase config\n");
        render(&ironbark_config::load("slapd.conf", &MemoryFiles::file("slapd.conf", text), &registry()).unwrap())
    }

    fn place(sequence: u64) -> ClusterLogPlace {
        let position = Position {
            generation: 1,
            sequence,
        };
        ClusterLogPlace {
            position,
            chain: [1; 16],
        }
    }

    /// It gives one answer to what is put, and has a tree at one place: what comes between two requests cannot be
    /// arranged with a real etcd.
    #[derive(Debug)]
    struct Answers(Append, u64);

    /// The place of a cluster that has no tree.
    const NONE: u64 = 0;

    impl TreeLog for Answers {
        fn known(&self) -> CommonTree {
            if self.1 == NONE {
                return CommonTree::Absent;
            }
            CommonTree::At(place(self.1), tree(7).common(None).to_ldif().into())
        }
        fn ask(&self) -> CommonTree {
            self.known()
        }
        fn put(&self, before: ClusterLogPlace, _: Vec<u8>) -> (Append, ClusterLogPlace) {
            (self.0, place(before.position.sequence + 1))
        }
        fn reached(&self, _: ClusterLogPlace) {}
        fn failed(&self, _: ClusterLogPlace, _: &str) {}
    }

    /// A server that has the tree of change 1.
    fn member(answers: Answers) -> ConfigCluster {
        let cluster = ConfigCluster::new(None, registry());
        cluster.follow(Some(Arc::new(answers)));
        cluster.took(Published {
            place: place(1),
            common: tree(7).common(None),
        });
        cluster
    }

    /// The result code of a change, and whether it is made anew.
    fn published(end: Append) -> (u32, bool) {
        let cluster = member(Answers(end, 1));
        let code = cluster
            .publish(&tree(8))
            .map_or_else(|error| error.result_code.0, |_| 0);
        (code, cluster.must_repeat())
    }

    #[test]
    fn a_change_is_made_anew_only_if_it_was_certainly_not_made() {
        assert_eq!(published(Append::Committed), (0, false));
        assert_eq!(published(Append::Overtaken), (51, true));
        assert_eq!(published(Append::Away), (51, false));
        assert_eq!(published(Append::Unknown), (52, false));
        // What is the same for all is not put.
        let same = member(Answers(Append::Overtaken, 1)).publish(&tree(7));
        assert!(same.is_ok_and(|published| published.is_none()));
    }

    #[test]
    fn only_a_server_that_was_in_no_cluster_begins_one() {
        assert!(matches!(
            member(Answers(Append::Committed, NONE)).news(&tree(7)),
            News::None
        ));
        let new = ConfigCluster::new(None, registry());
        new.follow(Some(Arc::new(Answers(Append::Committed, NONE))));
        assert!(matches!(new.news(&tree(7)), News::Begin));
    }

    #[test]
    fn a_change_waits_for_the_newest_tree_unless_that_cannot_be_taken() {
        assert!(member(Answers(Append::Committed, 1)).confirm().is_ok());
        let behind = member(Answers(Append::Committed, 2));
        assert!(behind.confirm().is_err_and(|error| error.result_code.0 == 52) && behind.must_repeat());
        assert!(matches!(behind.news(&tree(7)), News::Take(_)));
        behind.failed(place(2), "it cannot");
        assert!(behind.confirm().is_err() && !behind.must_repeat());
        // It is tried again, each time after more calls.
        let tried = (0..12).map(|_| {
            let is_tried = matches!(behind.news(&tree(7)), News::Take(_));
            if is_tried {
                behind.failed(place(2), "it cannot");
            }
            is_tried
        });
        let tried: Vec<_> = tried.collect();
        let wanted = [
            false, true, false, false, true, false, false, false, false, true, false, false,
        ];
        assert_eq!(tried, wanted);
    }
}
