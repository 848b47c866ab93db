//! What a thread that carries out operations keeps from one to the next: memory, caches, the last snapshot.

pub(crate) mod dn_cache;

use std::{rc::Rc, sync::Arc};

use ironbark_model::{Budget, Dn};
use ironbark_store::{AnswerCache, HeldSnapshot, StoreError};
use rustc_hash::FxHashMap;

use crate::{
    Configuration, Directory, NamingContext,
    access::{DecisionCache, SubjectDecisions},
    request::context::RequestContext,
    statistics::Shard,
};

pub(crate) use self::dn_cache::DnCache;

/// Steps of one turn of a connection on its reactor: one or two milliseconds. What cannot be done within them goes to
/// other threads.
pub(crate) const TURN_STEPS: u64 = 20_000;

/// Reused memory and caches of one reactor.
pub(crate) struct Scratch {
    pub(crate) directory: Arc<Directory>,
    /// The reactor's counters.
    pub(crate) shard: Arc<Shard>,
    /// When the last operation of the batch ended: the next one begins then.
    pub(crate) ended_micros: Option<u64>,
    /// When the messages of the batch arrived; until that is asked for, `None`.
    pub(crate) arrived_micros: Option<u64>,
    /// Working memory of normalization.
    pub(crate) normalized: Vec<u8>,
    dn: String,
    pub(crate) base: LastBase,
    caches: FxHashMap<u64, Caches>,
    standings: DecisionCache,
    /// What is left of the step that is being taken.
    pub(crate) budget: Rc<Budget>,
    /// Steps that are left of the turn.
    pub(crate) turn_left: u64,
    /// The last snapshot, for whoever comes next while nothing is committed. [`Worker::rest`] drops it: none outlives a
    /// wait.
    snapshot: Option<HeldSnapshot>,
}

/// What a reactor remembers of one database.
#[derive(Default)]
struct Caches {
    names: DnCache,
    answers: AnswerCache,
}

/// Parts of [`Scratch`].
pub(crate) struct Parts<'s> {
    pub(crate) names: &'s mut DnCache,
    pub(crate) answers: &'s mut AnswerCache,
    /// Buffer for a DN.
    pub(crate) dn: &'s mut String,
    /// Working memory of normalization.
    pub(crate) work: &'s mut Vec<u8>,
}

/// The name of the base object of the search that is being prepared, or was prepared last.
#[derive(Default)]
pub(crate) struct LastBase {
    pub(crate) dn: Dn,
    /// As it came.
    pub(crate) text: Vec<u8>,
    /// Whether `dn` is what `text` means under the configuration that is held.
    pub(crate) is_read: bool,
}

impl Scratch {
    /// Without anything in it.
    pub(crate) fn new(directory: Arc<Directory>, shard: Arc<Shard>) -> Self {
        Self {
            directory,
            shard,
            ended_micros: None,
            arrived_micros: None,
            normalized: Vec::new(),
            dn: String::new(),
            base: LastBase::default(),
            caches: FxHashMap::default(),
            standings: DecisionCache::default(),
            budget: Rc::new(Budget::new(0)),
            turn_left: TURN_STEPS,
            snapshot: None,
        }
    }

    /// Lets go of the snapshot: whoever waits, or may, keeps none.
    pub(crate) fn rest(&mut self) {
        self.snapshot = None;
    }

    pub(crate) fn directory(&self) -> &Arc<Directory> {
        &self.directory
    }

    /// Forgets what is remembered of databases, and of names: the configuration is another one.
    pub(crate) fn forget(&mut self) {
        self.base.is_read = false;
        self.caches.clear();
    }

    /// The reactor's counters.
    pub(crate) fn shard(&self) -> &Shard {
        &self.shard
    }

    /// Forgets a snapshot that is no longer the last.
    pub(crate) fn refresh_snapshot(&mut self) {
        self.snapshot = self.snapshot.take().filter(HeldSnapshot::is_current);
    }

    /// The batch's snapshot of the database of `context`, or a new one; `None`: it has no database. To be handed back
    /// with [`Scratch::keep_snapshot`].
    pub(crate) fn take_snapshot(&mut self, context: &NamingContext) -> Result<Option<HeldSnapshot>, StoreError> {
        let Some(database) = context.database() else {
            return Ok(None);
        };
        if let Some(snapshot) = self.snapshot.take().filter(|snapshot| snapshot.is_of(database)) {
            return Ok(Some(snapshot));
        }
        let snapshot = database.hold()?;
        let cache = self.caches.entry(context.cache).or_default();
        cache.names.refresh(snapshot.view())?;
        Ok(Some(snapshot))
    }

    /// Lets the next request of the batch use the snapshot.
    pub(crate) fn keep_snapshot(&mut self, snapshot: HeldSnapshot) {
        self.snapshot = Some(snapshot);
    }

    /// What is remembered of the subject of a request on a database; `None` if it may do everything there.
    pub(crate) fn standing(
        &mut self,
        configuration: &Arc<Configuration>,
        context: &NamingContext,
        origin: &RequestContext,
    ) -> Option<Rc<SubjectDecisions>> {
        self.standings.of(configuration, context, origin)
    }

    /// What is remembered of a database, and working memory, borrowed apart.
    pub(crate) fn parts(&mut self, context: &NamingContext) -> Parts<'_> {
        let Caches { names, answers } = self.caches.entry(context.cache).or_default();
        Parts {
            names,
            answers,
            dn: &mut self.dn,
            work: &mut self.normalized,
        }
    }
}
