//! The session of a tree: reads the newest one, and watches for the next.

use std::{path::Path, sync::Arc};

use ironbark_config::cluster::ClusterConfig;
use ironbark_directory::{CommonTree, InMemoryTree, Seat};
use ironbark_runtime::Clock;
use tokio::{sync::mpsc::unbounded_channel, time::timeout};

use super::{
    log::{Log, Newest},
    put::{Putter, read},
};
use crate::{
    announce::Announcer,
    deliver::Stop,
    etcd::{
        Etcd, Failure, Watch,
        json::{Number, Octets, WatchCreate},
    },
    log::ServerId,
    membership::{Failures, Membership},
    session::SILENCE,
    trim::Trimmer,
};

/// A session.
pub(crate) struct TreeSession {
    member: Arc<Membership>,
    newest: Arc<Newest>,
    tree: Arc<dyn InMemoryTree>,
}

impl TreeSession {
    /// A session for a tree.
    pub(crate) fn new(
        suffix: &str,
        config: Arc<ClusterConfig>,
        id: ServerId,
        seat: Seat,
        folder: Option<&Path>,
        tree: Arc<dyn InMemoryTree>,
    ) -> Self {
        let place = tree.place().unwrap_or_default();
        let belongs = !place.is_empty();
        let member = Membership::new(suffix, config, id, place, belongs, seat, folder);
        Self {
            newest: Arc::new(Newest::new(Arc::clone(&member.shared))),
            member: Arc::new(member),
            tree,
        }
    }

    /// The tree as a part of the cluster.
    pub(crate) fn member(&self) -> Arc<Membership> {
        Arc::clone(&self.member)
    }

    /// Serves until it is dropped.
    pub(crate) async fn run(self) {
        let (orders, receiver) = unbounded_channel();
        self.tree.follow(Some(Arc::new(Log {
            newest: Arc::clone(&self.newest),
            orders,
        })));
        let leaves = Leave(Arc::clone(&self.tree));
        let member = || Arc::clone(&self.member);
        let putter = Putter {
            member: member(),
            newest: Arc::clone(&self.newest),
            etcd: self.member.impatient_etcd(),
            clock: Clock::system(),
        };
        tokio::join!(
            self.follow_for_ever(),
            putter.serve(receiver),
            Trimmer { member: member() }.serve(),
            Announcer { member: member() }.serve(),
        );
        drop(leaves);
    }

    async fn follow_for_ever(&self) {
        let (mut etcd, mut failures) = (self.member.etcd(), Failures::of(&self.member));
        loop {
            failures.begin();
            let Err(stop) = self.follow(&mut etcd).await;
            let text = match stop {
                Stop::Failure(failure) => format!("{}: {failure}", etcd.member()),
                Stop::Closed(closed, why) => {
                    self.newest.shared.close(closed);
                    why
                }
                Stop::TooOld(_, why) => why,
            };
            failures.wait(text).await;
        }
    }

    /// Reads the tree, and again whenever there may be another one.
    async fn follow(&self, etcd: &mut Etcd) -> Result<std::convert::Infallible, Stop> {
        let mut asked = self.member.etcd();
        loop {
            let revision = self.look(etcd).await?;
            let mut watch = etcd
                .watch(WatchCreate {
                    key: Octets::from(&self.member.keys.tail),
                    range_end: Octets::default(),
                    start_revision: Number(revision + 1),
                    progress_notify: true,
                })
                .await?;
            while self.hear(&mut watch, &mut asked).await? {}
        }
    }

    /// Takes what a watch says next, or looks itself if it says nothing. `false`: it should have said something, so its
    /// connection may be cut without a word.
    async fn hear(&self, watch: &mut Watch, asked: &mut Etcd) -> Result<bool, Stop> {
        let Ok(watched) = timeout(SILENCE, watch.next()).await else {
            let before = self.newest.place();
            self.look(asked).await?;
            return Ok(self.newest.place() == before);
        };
        let watched = watched?;
        if watched.canceled {
            let why = format!("the watch has ended: {}", watched.cancel_reason);
            return Err(Failure { was_sent: true, why }.into());
        }
        if !watched.events.is_empty() {
            self.look(asked).await?;
        }
        Ok(true)
    }

    /// Reads the newest tree, and has it put into force. Returns the revision of etcd at which it was read.
    async fn look(&self, etcd: &mut Etcd) -> Result<i64, Stop> {
        let (tree, revision) = read(&self.member.keys, &self.newest, etcd).await?;
        let place = self.newest.shared.place();
        let is_known = matches!(&tree, CommonTree::At(at, _) if *at == place);
        let is_news = !is_known || self.newest.shared.closed().is_some();
        self.newest.set(tree);
        if is_news {
            self.member.seat.call();
        }
        Ok(revision)
    }
}

/// Takes the tree out of the cluster when the session ends, however it does.
struct Leave(Arc<dyn InMemoryTree>);

impl Drop for Leave {
    fn drop(&mut self) {
        self.0.follow(None);
    }
}
