//! The session of a tree: reads the newest one, and watches for the next.

use std::sync::Arc;

use ironbark_config::cluster::ClusterConfig;
use ironbark_directory::{CommonTree, InMemoryTree, Seat};
use ironbark_runtime::Clock;
use tokio::{
    sync::mpsc::unbounded_channel,
    time::{sleep, timeout},
};

use super::{
    log::{Log, Newest},
    put::{Putter, read},
};
use crate::{
    announce::Announcer,
    deliver::Stop,
    etcd::{
        Etcd, Failure, Token, Watch,
        json::{Number, Octets, WatchCreate},
    },
    keys::Keys,
    log::{ServerId, Shared},
    session::{AGAIN, SILENCE, TRIES, own_name},
    trim::Trimmer,
};

/// A session.
pub(crate) struct TreeSession {
    suffix: String,
    keys: Arc<Keys>,
    config: Arc<ClusterConfig>,
    newest: Arc<Newest>,
    seat: Seat,
    tree: Arc<dyn InMemoryTree>,
    token: Token,
}

impl TreeSession {
    /// A session for a tree.
    pub(crate) fn new(
        suffix: &str,
        config: Arc<ClusterConfig>,
        id: ServerId,
        seat: Seat,
        tree: Arc<dyn InMemoryTree>,
    ) -> Self {
        let place = tree.place().unwrap_or_default();
        Self {
            suffix: suffix.to_owned(),
            keys: Arc::new(Keys::of(&config.prefix, suffix)),
            newest: Arc::new(Newest::new(Arc::new(Shared::new(id, config.timeout, place)))),
            config,
            seat,
            tree,
            token: Token::default(),
        }
    }

    /// What is known of it.
    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.newest.shared)
    }

    /// Serves until it is dropped.
    pub(crate) async fn run(self) {
        let (orders, receiver) = unbounded_channel();
        self.tree.follow(Some(Arc::new(Log {
            newest: Arc::clone(&self.newest),
            orders,
        })));
        let leaves = Leave(Arc::clone(&self.tree));
        let putter = Putter {
            keys: Arc::clone(&self.keys),
            newest: Arc::clone(&self.newest),
            seat: self.seat.clone(),
            etcd: self.etcd().with_attempts_of(self.config.timeout / TRIES),
            clock: Clock::system(),
        };
        let trimmer = Trimmer {
            keys: Arc::clone(&self.keys),
            shared: self.shared(),
            config: Arc::clone(&self.config),
            suffix: self.suffix.clone(),
        };
        let announcer = Announcer {
            keys: Arc::clone(&self.keys),
            shared: self.shared(),
            name: own_name(),
            seat: self.seat.clone(),
        };
        tokio::join!(
            self.follow_for_ever(),
            putter.serve(receiver),
            trimmer.serve(self.etcd()),
            announcer.serve(self.etcd()),
        );
        drop(leaves);
    }

    fn etcd(&self) -> Etcd {
        Etcd::new(Arc::clone(&self.config)).sharing(&self.token)
    }

    async fn follow_for_ever(&self) {
        let (mut etcd, clock) = (self.etcd(), Clock::system());
        let (mut wait, mut said) = (AGAIN.0, String::new());
        loop {
            let begun = clock.monotonic();
            let Err(stop) = self.follow(&mut etcd).await;
            let text = match stop {
                Stop::Failure(failure) => format!("{}: {failure}", etcd.member()),
                Stop::Closed(closed, why) => {
                    self.newest.shared.close(closed);
                    why
                }
                Stop::TooOld(_, why) => why,
            };
            if text != said {
                tracing::warn!(target: "any", "cluster: {}: {text}", self.suffix);
                said = text;
            }
            if clock.monotonic().saturating_since(begun) > AGAIN.1 {
                wait = AGAIN.0;
            }
            sleep(wait).await;
            wait = (wait * 2).min(AGAIN.1);
        }
    }

    /// Reads the tree, and again whenever there may be another one.
    async fn follow(&self, etcd: &mut Etcd) -> Result<std::convert::Infallible, Stop> {
        let mut asked = self.etcd();
        loop {
            let revision = self.look(etcd).await?;
            let mut watch = etcd
                .watch(WatchCreate {
                    key: Octets::from(&self.keys.tail),
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
        let (tree, revision) = read(&self.keys, &self.newest, etcd).await?;
        let place = self.newest.shared.place();
        let is_known = matches!(&tree, CommonTree::At(at, _) if *at == place);
        let is_news = !is_known || self.newest.shared.closed().is_some();
        self.newest.set(tree);
        if is_news {
            self.seat.call();
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
