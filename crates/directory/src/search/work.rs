//! Limits of work: the steps of a slice, and those of a whole search.
//!
//! Loops over values, terms, links and elements spend steps of a [`Budget`], which views of the store and access rules
//! carry. Ordinary entries cost no steps, so a search over any number of them stays far from a limit. Only large
//! requests and large entries cost steps.

use ironbark_model::Budget;

use crate::{request::identity::Identity, scratch::Scratch};

/// On a thread for long searches: steps after which a search lets others go first, when the current entry is finished.
pub(super) const LONG_SLICE_STEPS: u64 = 1_000_000;
/// Steps of a whole search: some ten seconds of one core.
const REQUEST_STEPS: u64 = 200_000_000;
/// Steps of a whole search for an anonymous client.
const ANONYMOUS_STEPS: u64 = 20_000_000;
/// Steps that each candidate adds to the total. So a search over millions of entries with some hundred values each can
/// come to its end.
const CANDIDATE_STEPS: u64 = 500;

/// Octets of output of one step.
pub(super) const SLICE_OCTETS: usize = 16 * 1024;
/// Candidates that one step considers at most.
pub(super) const SLICE_CANDIDATES: u32 = 128;

/// The remaining work of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// Steps for the rest of the search.
    pub(super) left: u64,
    /// Whether a piece of work did not fit into a turn.
    pub(super) is_long: bool,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            left: REQUEST_STEPS,
            is_long: false,
        }
    }
}

impl Work {
    /// The limit for an identity. A search of the rootdn has none: it ends at its time limit or with its connection.
    pub(super) fn of(identity: &Identity, is_root: bool) -> Self {
        let left = match (is_root, identity.is_anonymous()) {
            (true, _) => u64::MAX,
            (false, true) => ANONYMOUS_STEPS,
            (false, false) => REQUEST_STEPS,
        };
        Self { left, is_long: false }
    }

    /// What is left, under a limit that may be another one now.
    pub(super) fn within(self, limit: Self) -> Self {
        Self {
            left: self.left.min(limit.left),
            ..self
        }
    }

    /// Makes the next step one for the threads for long searches.
    pub(super) fn make_long(&mut self) {
        self.is_long = true;
    }

    /// Subtracts the steps that a slice has used.
    pub(super) fn end_slice(&mut self, step: &mut Step<'_>) {
        let slice = &step.slice;
        let spent = slice.given - slice.budget.left();
        let candidates = u64::from(SLICE_CANDIDATES - slice.candidates);
        self.left = self
            .left
            .saturating_sub(spent)
            .saturating_add(candidates * CANDIDATE_STEPS);
        step.scratch.turn_left = step.scratch.turn_left.saturating_sub(spent);
    }
}

/// The remaining limits of a step.
pub(crate) struct Slice<'b> {
    /// Length of the output at which the step ends.
    pub(super) end: usize,
    pub(super) candidates: u32,
    pub(super) budget: &'b Budget,
    /// Steps of the budget at the begin of the step.
    pub(super) given: u64,
    /// The step ends before the next candidate when the budget has fewer steps than this.
    pub(super) ends_below: u64,
    /// Whether `given` is all that a turn allows.
    pub(super) is_whole_turn: bool,
    /// Whether the step has finished some work that need not be done again.
    pub(super) has_advanced: bool,
}

/// The tools of one step.
pub(crate) struct Step<'s> {
    /// Memory, caches and the snapshot of the thread.
    pub(super) scratch: &'s mut Scratch,
    pub(super) slice: Slice<'s>,
    /// The buffer to which responses are appended.
    pub(super) out: &'s mut Vec<u8>,
}

impl Step<'_> {
    /// Counts a candidate; returns whether the step must end before it.
    pub(super) fn is_used_up(&mut self) -> bool {
        self.slice.is_used_up(self.out)
    }

    /// Whether the steps have run out.
    pub(super) fn is_exhausted(&self) -> bool {
        self.slice.budget.is_exhausted()
    }
}

impl Slice<'_> {
    fn is_used_up(&mut self, out: &[u8]) -> bool {
        if self.candidates == 0 || out.len() >= self.end || self.budget.left() < self.ends_below {
            return true;
        }
        self.candidates -= 1;
        false
    }
}
