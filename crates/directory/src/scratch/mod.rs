//! State that a thread keeps from one operation to the next: memory, caches, the last snapshot.

mod caches;
pub(crate) mod dn_cache;
pub(crate) mod shared_entries;

use std::{rc::Rc, sync::Arc};

use ironbark_model::Budget;
use ironbark_store::{AnswerCache, HeldSnapshot, StoreError, View};

use crate::{
    Configuration, Directory, NamingContext,
    access::{DecisionCache, SubjectDecisions},
    overlay::{facts::Facts, overlays_of},
    request::{context::RequestContext, last_base::LastBase},
    statistics::Shard,
};

use self::{
    caches::{AllCaches, Caches},
    shared_entries::SharedEntries,
};

pub(crate) use self::dn_cache::DnCache;

/// Steps of one turn of a connection on its reactor: one or two milliseconds. Longer work goes to other threads.
pub(crate) const TURN_STEPS: u64 = 20_000;

/// Reused memory and caches of one reactor.
pub(crate) struct Scratch {
    pub(crate) directory: Arc<Directory>,
    /// The reactor's counters.
    pub(crate) shard: Arc<Shard>,
    /// When the last operation of the batch ended: the next one begins then.
    pub(crate) ended_micros: Option<u64>,
    /// When the messages of the batch arrived; `None` until it is needed.
    pub(crate) arrived_micros: Option<u64>,
    /// Working memory of normalization.
    pub(crate) normalized: Vec<u8>,
    dn: String,
    pub(crate) base: LastBase,
    caches: AllCaches,
    standings: DecisionCache,
    /// Entries that several consumers are sent.
    pub(crate) shared: SharedEntries,
    /// The rest of the present step's budget.
    pub(crate) budget: Rc<Budget>,
    /// Remaining steps of the turn.
    pub(crate) turn_left: u64,
    /// The last snapshot, for the next request while nothing is committed. [`Worker::rest`] drops it: no snapshot
    /// outlives a wait.
    snapshot: Option<HeldSnapshot>,
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

impl Scratch {
    /// An empty state.
    pub(crate) fn new(directory: Arc<Directory>, shard: Arc<Shard>) -> Self {
        Self {
            directory,
            shard,
            ended_micros: None,
            arrived_micros: None,
            normalized: Vec::new(),
            dn: String::new(),
            base: LastBase::default(),
            caches: AllCaches::default(),
            standings: DecisionCache::default(),
            shared: SharedEntries::default(),
            budget: Rc::new(Budget::new(0)),
            turn_left: TURN_STEPS,
            snapshot: None,
        }
    }

    /// Drops the snapshot: a thread that waits, or may wait, keeps none.
    pub(crate) fn rest(&mut self) {
        self.snapshot = None;
        self.standings.others().clear();
    }

    pub(crate) fn directory(&self) -> &Arc<Directory> {
        &self.directory
    }

    /// Clears the caches of databases, names and decisions: the configuration has changed. They would also keep closed
    /// databases open.
    pub(crate) fn forget(&mut self) {
        self.base.forget();
        self.caches.clear();
        self.standings = DecisionCache::default();
        self.shared = SharedEntries::default();
    }

    /// The reactor's counters.
    pub(crate) fn shard(&self) -> &Shard {
        &self.shard
    }

    /// Drops snapshots that are no longer the latest.
    pub(crate) fn refresh_snapshot(&mut self) {
        self.snapshot = self.snapshot.take().filter(HeldSnapshot::is_current);
        self.standings.others().refresh();
    }

    /// The batch's snapshot of the database of `context`, or a new one; `None`: the context has no database. Return it
    /// with [`Scratch::keep_snapshot`].
    pub(crate) fn take_snapshot(&mut self, context: &NamingContext) -> Result<Option<HeldSnapshot>, StoreError> {
        let Some(database) = context.database() else {
            return Ok(None);
        };
        if let Some(snapshot) = self.snapshot.take().filter(|snapshot| snapshot.is_of(database)) {
            return Ok(Some(snapshot));
        }
        let snapshot = database.hold()?;
        let cache = self.caches.of(context.cache);
        cache.names.refresh(snapshot.view())?;
        Ok(Some(snapshot))
    }

    /// Lets the next request of the batch use the snapshot.
    pub(crate) fn keep_snapshot(&mut self, snapshot: HeldSnapshot) {
        self.snapshot = Some(snapshot);
    }

    /// What overlays derive attributes from in a snapshot of the database of `context`; `None`: no overlay derives any.
    pub(crate) fn facts(
        &mut self,
        configuration: &Configuration,
        context: &NamingContext,
        view: View<'_>,
    ) -> Result<Option<Arc<Facts>>, StoreError> {
        let overlays = overlays_of(context);
        if overlays.derivations.is_empty() {
            return Ok(None);
        }
        let of = &overlays.known_facts;
        let Some(version) = view.version() else {
            return of.of(configuration, context, view);
        };
        let cached = &mut self.caches.of(context.cache).facts;
        if let Some((known, seen, facts)) = cached
            && Arc::ptr_eq(known, of)
            && *seen == version
        {
            return Ok(Some(Arc::clone(facts)));
        }
        let facts = of.of(configuration, context, view)?;
        *cached = facts.clone().map(|facts| (Arc::clone(of), version, facts));
        Ok(facts)
    }

    /// The remembered decisions for the subject of a request on a database; `None` if it may do everything there.
    /// They are those of the version that `view` shows.
    pub(crate) fn standing(
        &mut self,
        configuration: &Arc<Configuration>,
        context: &NamingContext,
        origin: &RequestContext,
        view: View<'_>,
    ) -> Option<Rc<SubjectDecisions>> {
        self.standings.of(configuration, context, origin, view)
    }

    /// Whether the database of `context` holds referral entries.
    pub(crate) fn holds_referrals(&mut self, context: &NamingContext) -> Result<bool, StoreError> {
        let Some(snapshot) = self.take_snapshot(context)? else {
            return Ok(false);
        };
        let version = snapshot.version();
        let known = self.caches.of(context.cache).referrals;
        let found = match known.filter(|(of, _)| *of == version) {
            Some((_, found)) => found,
            None => snapshot.view().referral_count()? > 0,
        };
        self.caches.of(context.cache).referrals = Some((version, found));
        self.keep_snapshot(snapshot);
        Ok(found)
    }

    /// The caches of a database, and working memory, borrowed separately.
    pub(crate) fn parts(&mut self, context: &NamingContext) -> Parts<'_> {
        let Caches { names, answers, .. } = self.caches.of(context.cache);
        Parts {
            names,
            answers,
            dn: &mut self.dn,
            work: &mut self.normalized,
        }
    }
}
