//! The state of a search: its task and its progress.

use std::{collections::VecDeque, sync::Arc};

use ironbark_model::{CompiledFilter, Dn};
use ironbark_store::{DitScope, EntryId};

use super::{
    additions::AskedOfEntries,
    alias::{AliasBase, Followed, FoundBase},
    arranging::Arrangements,
    list_view::ListView,
    page::Page,
    selection::{DereferenceSpecification, Selection},
    sort::Sorting,
    sync::Sync,
    tally::Tally,
    target::Target,
    tree_sync::TreeSync,
    work::Work,
};
use crate::{
    Configuration, NamingContext,
    backend::sync_sessions::OwnSession,
    overlay::CountingHooks,
    request::{context::RequestContext, responses::ResponseWait},
    result::OperationResult,
};

/// A filter of at most this size leaves its memory to the next search.
const KEPT_NODES: usize = 64;
const KEPT_OCTETS: usize = 4096;

/// The state of a search.
pub struct SearchRun {
    pub(crate) origin: RequestContext,
    pub(crate) configuration: Arc<Configuration>,
    pub(crate) filter: CompiledFilter,
    /// The search filter or `(objectClass=referral)`. Set if continuation references may be needed.
    pub(crate) referral_filter: Option<CompiledFilter>,
    pub(crate) selection: Selection,
    pub(crate) options: SearchOptions,
    pub(crate) limits: RunLimits,
    /// The deferred part of the preparation.
    pub(crate) deferred: Option<Box<Deferred>>,
    /// The request, if it must be read again: its preparation is deferred, or it goes on after its first slice.
    pub(crate) request: Option<Box<[u8]>>,
    /// The steps that evaluation may still use.
    pub(crate) work: Work,
    pub(crate) targets: VecDeque<Target>,
    pub(crate) extras: Option<Box<SearchExtras>>,
    /// Entries sent so far, on all pages.
    pub(crate) sent: u32,
    pub(crate) references: u32,
    /// The cost so far.
    pub(crate) tally: Tally,
    /// The result at the end, if it is not success.
    pub(crate) verdict: Option<OperationResult>,
}

/// The options of a search.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the protocol")]
pub(crate) struct SearchOptions {
    pub(crate) types_only: bool,
    /// `derefInSearching` or `derefAlways`.
    pub(crate) deref_in_searching: bool,
    pub(crate) manage_dsa_it: bool,
    /// Which attributes are sent.
    pub(crate) origins: Origins,
    /// An overlay says that all user attributes bring the operational ones.
    pub(crate) adds_operational: bool,
    /// Domain scope: no continuation references.
    pub(crate) domain_scope: bool,
    /// Subentries control: `Some(true)` returns only subentries, `Some(false)` only other entries. Without the control
    /// subentries are returned only as the base object.
    pub(crate) subentries: Option<bool>,
}

/// Which attributes of an entry are sent, among those that are selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Origins {
    /// All.
    #[default]
    Any,
    /// Those that it holds.
    Real,
    /// Those that are computed.
    Virtual,
}

/// The effective limits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunLimits {
    /// Entries to return.
    pub(crate) size: Option<u32>,
    /// Monotonic time in microseconds at which the time limit is reached.
    pub(crate) deadline_micros: Option<u64>,
    /// Candidates.
    pub(crate) unchecked: Option<u64>,
}

/// State that only some searches have.
#[derive(Default)]
pub(crate) struct SearchExtras {
    pub(crate) paged: Option<Page>,
    pub(crate) sort: Option<Sorting>,
    /// The requested part of the sorted entries.
    pub(crate) view: Option<ListView>,
    /// Nothing is sent but the numbers of what is found, as this overlay reports them.
    pub(crate) counting: Option<Arc<dyn CountingHooks>>,
    /// A filter that is true for values that match any filter of the matched-values control.
    pub(crate) matched_values: Option<CompiledFilter>,
    pub(crate) dereference: Vec<DereferenceSpecification>,
    /// The controls that overlays answer with each entry.
    pub(crate) asked_of_entries: Option<AskedOfEntries>,
    /// The synchronization with a consumer.
    pub(crate) sync: Option<Box<Sync>>,
    /// The same of a tree in memory.
    pub(crate) tree_sync: Option<Box<TreeSync>>,
    /// The session of a consumer that stays, once it has begun.
    pub(crate) session: Option<OwnSession>,
    /// The arrangements of values by overlays.
    pub(crate) arrangements: Arrangements,
    /// Overlays must make room before more entries are sent.
    pub(crate) wait: Option<ResponseWait>,
    /// The base, and the subtrees that aliases have added. No entry is returned twice.
    pub(crate) alias_bases: Vec<AliasBase>,
}

/// Whether the search has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// Call again.
    More,
    /// The output has the result.
    Done,
}

/// The reason why a walk over one target stopped.
pub(super) enum Walked {
    /// All candidates have been considered.
    Through,
    /// The slice is used up.
    SliceEnd,
    /// The steps ran out during one piece of work. What is known of that piece must be forgotten.
    Exhausted,
    /// The search ends here.
    Finish,
}

impl SearchRun {
    /// Makes an empty run.
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
            request: None,
            work: Work::default(),
            targets: VecDeque::new(),
            extras: None,
            sent: 0,
            references: 0,
            tally: Tally::default(),
            verdict: None,
        }
    }

    /// Makes an ended run empty. Its memory is kept, unless it is large. Afterwards `origin` is that of the former
    /// search: an exchange costs less than a move.
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
        self.request = None;
        self.work = Work::default();
        self.targets.clear();
        self.extras = None;
        (self.sent, self.references) = (0, 0);
        self.tally = Tally::default();
        self.verdict = None;
    }

    /// Keeps the request, to be read again when another configuration is in force. A synchronization has it already.
    pub(crate) fn keep_request(&mut self, pdu: &[u8]) {
        if self.request.is_none() && !self.is_synchronizing() {
            self.request = Some(pdu.into());
        }
    }

    /// The request.
    pub(crate) fn request_again(&self) -> Option<&[u8]> {
        self.request_of_sync().or(self.request.as_deref())
    }

    /// Number of entries sent on this page.
    pub(crate) fn sent_now(&self) -> u32 {
        self.sent.saturating_sub(self.tally.before)
    }
}

/// The preparation that is left to the first step.
pub(crate) struct Deferred {
    pub(super) context: Arc<NamingContext>,
    /// Whether the filters of the request must still be compiled, and its names resolved.
    pub(super) is_uncompiled: bool,
    /// The base object, if the right to search there must still be checked.
    pub(super) base: Option<AskedBase>,
    /// The base of the subtree whose aliases must still be followed.
    pub(super) aliases: Option<AskedBase>,
    /// The targets are those of a walk that has begun: aliases add none, but each must still be led to.
    pub(super) continues: bool,
}

impl Deferred {
    /// Whether nothing is left.
    pub(super) fn is_done(&self) -> bool {
        !self.is_uncompiled && self.base.is_none() && self.aliases.is_none()
    }
}

/// A [`FoundBase`] that is kept for the first step.
pub(super) struct AskedBase {
    /// The name in the request.
    pub(super) asked: Dn,
    /// The name after aliases, if there were any.
    pub(super) followed: Option<Followed>,
    pub(super) id: EntryId,
    pub(super) scope: DitScope,
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
