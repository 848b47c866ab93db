//! A search under way: what it is to do, and how far it has come.

use std::{collections::VecDeque, sync::Arc};

use ironbark_model::{CompiledFilter, Dn};
use ironbark_store::{EntryId, Scope};

use super::{
    additions::AskedOfEntries,
    alias::{AliasBase, Followed, FoundBase},
    arranging::Arrangements,
    list_view::ListView,
    page::Page,
    selection::{DereferenceSpecification, Selection},
    sort::Sorting,
    tally::Tally,
    target::Target,
    work::Work,
};
use crate::{
    Configuration, NamingContext,
    request::{context::RequestContext, responses::ResponseWait},
    result::OperationResult,
};

/// Filters of up to this size leave their memory to the next search.
const KEPT_NODES: usize = 64;
const KEPT_OCTETS: usize = 4096;

/// A search under way.
pub struct SearchRun {
    pub(crate) origin: RequestContext,
    pub(crate) configuration: Arc<Configuration>,
    pub(crate) filter: CompiledFilter,
    /// The filter or `(objectClass=referral)`, when continuation references may have to be returned.
    pub(crate) referral_filter: Option<CompiledFilter>,
    pub(crate) selection: Selection,
    pub(crate) options: SearchOptions,
    pub(crate) limits: RunLimits,
    /// See [`Deferred`].
    pub(crate) deferred: Option<Box<Deferred>>,
    /// What evaluation may still cost.
    pub(crate) work: Work,
    pub(crate) targets: VecDeque<Target>,
    pub(crate) extras: Option<Box<SearchExtras>>,
    /// Entries sent so far, and on this page.
    pub(crate) sent: u32,
    pub(crate) references: u32,
    /// What the search has cost so far.
    pub(crate) tally: Tally,
    /// What the end of the run will say, if it is not success.
    pub(crate) verdict: Option<OperationResult>,
}

/// Switches of a search.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the protocol")]
pub(crate) struct SearchOptions {
    pub(crate) types_only: bool,
    /// `derefInSearching` or `derefAlways`.
    pub(crate) deref_in_searching: bool,
    pub(crate) manage_dsa_it: bool,
    /// Domain scope: no continuation references.
    pub(crate) domain_scope: bool,
    /// Subentries control: `Some(true)` shows only subentries, `Some(false)` only others; `None` hides them below the
    /// base.
    pub(crate) subentries: Option<bool>,
}

/// Effective limits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunLimits {
    /// Entries.
    pub(crate) size: Option<u32>,
    /// Monotonic microseconds at which time is up.
    pub(crate) deadline_micros: Option<u64>,
    /// Candidates.
    pub(crate) unchecked: Option<u64>,
}

/// What only some searches have.
#[derive(Default)]
pub(crate) struct SearchExtras {
    pub(crate) paged: Option<Page>,
    pub(crate) sort: Option<Sorting>,
    /// The part of the sorted entries that is asked for.
    pub(crate) view: Option<ListView>,
    /// Any of the filters of the matched-values control.
    pub(crate) matched_values: Option<CompiledFilter>,
    pub(crate) dereference: Vec<DereferenceSpecification>,
    /// Entries come with controls of overlays.
    pub(crate) asked_of_entries: Option<AskedOfEntries>,
    /// What overlays do to the values of entries.
    pub(crate) arrangements: Arrangements,
    /// Overlays have yet to make room for more entries.
    pub(crate) wait: Option<ResponseWait>,
    /// Entries that an alias led to: not to be returned twice.
    pub(crate) alias_bases: Vec<AliasBase>,
}

/// Whether a step was the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// Call again.
    More,
    /// The result is in the output.
    Done,
}

/// How a walk over one target stopped.
pub(super) enum Walked {
    /// All candidates considered.
    Through,
    /// The slice is used up.
    SliceEnd,
    /// So are its steps, in the middle of something: what was found out about that is to be forgotten.
    Exhausted,
    /// The search ends here.
    Finish,
}

impl SearchRun {
    /// A run without anything to do.
    pub(crate) fn new(origin: RequestContext, configuration: &Arc<Configuration>) -> Self {
        Self {
            origin,
            configuration: Arc::clone(configuration),
            filter: CompiledFilter::default(),
            referral_filter: None,
            selection: Selection::default(),
            options: SearchOptions::default(),
            limits: RunLimits::default(),
            deferred: None,
            work: Work::default(),
            targets: VecDeque::new(),
            extras: None,
            sent: 0,
            references: 0,
            tally: Tally::default(),
            verdict: None,
        }
    }

    /// Makes a run that has ended one without anything to do, which keeps its memory unless that has grown big.
    /// `origin` is that of the former search then: to exchange them costs less than to move them.
    pub(crate) fn reset(&mut self, origin: &mut RequestContext, configuration: &Arc<Configuration>) {
        std::mem::swap(&mut self.origin, origin);
        let is_big = self.filter.nodes.capacity() > KEPT_NODES || self.filter.bytes.capacity() > KEPT_OCTETS;
        if is_big || !Arc::ptr_eq(&self.configuration, configuration) {
            *self = Self::new(self.origin.clone(), configuration);
            return;
        }
        self.filter.clear();
        self.referral_filter = None;
        self.selection.clear();
        self.options = SearchOptions::default();
        self.limits = RunLimits::default();
        self.deferred = None;
        self.work = Work::default();
        self.targets.clear();
        self.extras = None;
        (self.sent, self.references) = (0, 0);
        self.tally = Tally::default();
        self.verdict = None;
    }

    /// Entries that were sent, without those of earlier pages.
    pub(crate) fn sent_now(&self) -> u32 {
        self.sent.saturating_sub(self.tally.before)
    }
}

/// What is left to be prepared by the first step.
pub(crate) struct Deferred {
    pub(super) context: Arc<NamingContext>,
    /// The request, if its filters have not been compiled, nor its names resolved.
    pub(super) request: Option<Box<[u8]>>,
    /// The base object, if it is not known whether the subject may search there.
    pub(super) base: Option<AskedBase>,
    /// The subtree whose aliases are to be followed.
    pub(super) aliases: Option<AskedBase>,
}

/// A [`FoundBase`] that is kept for the first step.
pub(super) struct AskedBase {
    /// As the request names it.
    pub(super) asked: Dn,
    /// Where aliases have led.
    pub(super) followed: Option<Followed>,
    pub(super) id: EntryId,
    pub(super) scope: Scope,
}

impl AskedBase {
    pub(super) fn of(found: FoundBase<'_>) -> Self {
        Self {
            asked: found.asked.clone(),
            followed: found.followed.cloned(),
            id: found.id,
            scope: found.scope,
        }
    }

    pub(super) fn found(&self) -> FoundBase<'_> {
        FoundBase {
            asked: &self.asked,
            followed: self.followed.as_ref(),
            id: self.id,
            scope: self.scope,
        }
    }
}
