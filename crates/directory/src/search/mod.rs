//! Searching: a resumable run over candidates, from the plan to encoded entries.
//!
//! A run holds no snapshot between steps: candidates come in entry-ID order, so it goes on behind the last ID it has considered,
//! in whatever snapshot is then the last (DESIGN §3.4).

mod alias;
mod base;
mod consider;
mod deferred;
mod dereference;
mod encode;
mod limits;
mod paged;
mod password_state;
mod prepare;
mod selection;
mod sort;
mod sort_limits;
mod tally;
mod target;
mod work;

use std::{collections::VecDeque, rc::Rc, sync::Arc};

use ironbark_ldap_proto::{EncodeControl, LdapResult, List, MessageId, Operation, controls::Control, encode_result};
use ironbark_model::{CompiledFilter, ResultCode};
use ironbark_runtime::WallTime;
use smallvec::SmallVec;

use self::{
    deferred::Deferred,
    tally::{SearchDetail, Tally},
    work::{Slice, Work},
};
use crate::{
    Configuration, OperationError,
    ended::{Outcome, ended},
    operation::Origin,
    session::Stop,
    worker::Scratch,
};

pub(crate) use paged::PagedCursor;
pub(crate) use selection::Selection;

pub(crate) use encode::entry_value;
pub(crate) use password_state::policy_of;
pub(crate) use prepare::{class_filter, invalid_base, prepare};
pub(crate) use target::Target;
pub(crate) use work::TURN_STEPS;

/// Filters of up to this size leave their memory to the next search.
const KEPT_NODES: usize = 64;
const KEPT_OCTETS: usize = 4096;

/// A search under way.
pub struct SearchRun {
    pub(crate) origin: Origin,
    pub(crate) configuration: Arc<Configuration>,
    pub(crate) filter: CompiledFilter,
    /// The filter or `(objectClass=referral)`, when continuation references may have to be returned.
    pub(crate) referral_filter: Option<CompiledFilter>,
    pub(crate) selection: Selection,
    pub(crate) options: SearchOptions,
    pub(crate) limits: RunLimits,
    /// What is left to be prepared by the first step.
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
    pub(crate) verdict: Option<OperationError>,
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
    /// Subentries control: `Some(true)` shows only subentries, `Some(false)` only others; `None` hides them below the base.
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
    pub(crate) paged: Option<paged::Page>,
    pub(crate) sort: Option<sort::Sorting>,
    /// Any of the filters of the matched-values control.
    pub(crate) matched_values: Option<CompiledFilter>,
    pub(crate) dereference: Vec<encode::DereferenceSpecification>,
    /// Entries come with the account usability control, as of this time.
    pub(crate) usability: Option<WallTime>,
    /// Entries that an alias led to: not to be returned twice.
    pub(crate) alias_bases: Vec<alias::AliasBase>,
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
enum Walked {
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
    pub(crate) fn new(origin: Origin, configuration: &Arc<Configuration>) -> Self {
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

    /// Makes a run that has ended one without anything to do, which keeps its memory unless that has grown big. `origin` is that of the
    /// former search then: to exchange them costs less than to move them.
    pub(crate) fn reset(&mut self, origin: &mut Origin, configuration: &Arc<Configuration>) {
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

    /// Goes on for one slice; appends entries, and at the end the result, to `out`.
    pub(crate) fn step(&mut self, scratch: &mut Scratch, out: &mut Vec<u8>) -> Progress {
        if let Some(stop) = self.origin.stop.stopped() {
            return self.stopped(stop, scratch, out);
        }
        let budget = Rc::clone(&scratch.budget);
        let mut slice = self.begin_slice(scratch, &budget, out);
        let progress = self.advance(scratch, &mut slice, out);
        self.work.end_slice(&slice, scratch);
        progress
    }

    /// The search is to end, whatever it is at.
    fn stopped(&mut self, stop: Stop, scratch: &mut Scratch, out: &mut Vec<u8>) -> Progress {
        match stop {
            Stop::Abandoned => scratch.shard().record_completed(Operation::Search),
            Stop::Canceled => self.refuse(OperationError::code(ResultCode::CANCELED), scratch, out),
        }
        Progress::Done
    }

    /// Ends the search with an error.
    pub(crate) fn refuse(&mut self, error: OperationError, scratch: &mut Scratch, out: &mut Vec<u8>) {
        self.verdict = Some(error);
        self.targets.clear();
        self.finish(scratch, out);
    }

    fn advance(&mut self, scratch: &mut Scratch, slice: &mut Slice<'_>, out: &mut Vec<u8>) -> Progress {
        if self.deferred.is_some()
            && let Err(error) = self.prepare_rest(scratch, slice)
        {
            self.refuse(error, scratch, out);
            return Progress::Done;
        }
        if slice.budget.is_exhausted() {
            return self.exhausted(slice, scratch, out);
        }
        while let Some(mut target) = self.targets.pop_front() {
            match self.walk(&mut target, scratch, slice, out) {
                Ok(Walked::Through) => self.count_target(&target, scratch),
                Ok(Walked::SliceEnd) => {
                    self.targets.push_front(target);
                    return Progress::More;
                }
                Ok(Walked::Exhausted) => {
                    self.targets.push_front(target);
                    return self.exhausted(slice, scratch, out);
                }
                Ok(Walked::Finish) => {
                    self.count_target(&target, scratch);
                    self.targets.push_front(target);
                    break;
                }
                Err(error) => {
                    self.verdict = Some(error);
                    self.targets.clear();
                    break;
                }
            }
        }
        if self.extras.is_some() {
            match sort::emit(self, scratch, slice, out) {
                Walked::SliceEnd => return Progress::More,
                Walked::Exhausted => return self.exhausted(slice, scratch, out),
                Walked::Through | Walked::Finish => {}
            }
        }
        self.finish(scratch, out);
        Progress::Done
    }

    /// Appends the result. A paged run that has more to give keeps its targets; the worker puts it aside.
    fn finish(&mut self, scratch: &mut Scratch, out: &mut Vec<u8>) {
        self.conclude_page();
        let id = MessageId::new(self.origin.message_id).unwrap_or_default();
        let extras = self.extras.as_deref();
        let sorted = extras
            .and_then(|extras| extras.sort.as_ref())
            .map(|sorting| Control::optional(sorting.response()));
        let page = extras
            .and_then(|extras| extras.paged.as_ref())
            .filter(|_| self.verdict.is_none())
            .map(|page| Control::optional(page.response()));
        let mut controls: SmallVec<[&dyn EncodeControl; 2]> = SmallVec::new();
        if let Some(control) = &sorted {
            controls.push(control);
        }
        if let Some(control) = &page {
            controls.push(control);
        }
        let (code, text) = match &self.verdict {
            None => {
                encode_result(
                    out,
                    id,
                    Operation::Search,
                    &LdapResult::new(ResultCode::SUCCESS),
                    &controls,
                );
                (ResultCode::SUCCESS, "")
            }
            Some(error) => {
                let referrals: Vec<&[u8]> = error.referrals.iter().map(String::as_bytes).collect();
                let told = error.told();
                let result = LdapResult {
                    code: error.result_code,
                    matched_dn: error.matched_dn.as_bytes(),
                    diagnostic_message: told.as_bytes(),
                    referrals: List::new(&referrals),
                };
                encode_result(out, id, Operation::Search, &result, &controls);
                (error.result_code, &*error.diagnostic_message)
            }
        };
        let detail = SearchDetail(self);
        let outcome = Outcome {
            entries: self.sent_now(),
            detail: Some(&detail),
            ..Outcome::new(Operation::Search, code, text)
        };
        let (directory, slow) = (scratch.directory(), self.configuration.slow_micros());
        let now = ended(directory, scratch.shard(), slow, &self.origin, outcome);
        scratch.ended_micros = Some(now);
    }

    /// Ends the search with this verdict after what was sent so far.
    fn stop_with(&mut self, code: ResultCode, text: &'static str) -> Walked {
        self.verdict = Some(OperationError::new(code, text));
        Walked::Finish
    }
}
