//! What a search may cost: the steps of a slice, and those of the whole search.
//!
//! Loops over values, terms, links and elements spend steps of a [`Budget`], which the store's views and the access
//! rules carry. What is ordinary is not counted, so that no count of entries, however many, comes near a limit; what is
//! counted grows with what a client or a big entry brings.

use ironbark_model::Budget;

use crate::{request::identity::Identity, scratch::Scratch};

/// Steps after which a search on such a thread lets others go first, once the entry is dealt with.
pub(super) const LONG_SLICE_STEPS: u64 = 1_000_000;
/// Steps that all of a search may take: some ten seconds of a core.
const REQUEST_STEPS: u64 = 200_000_000;
/// The same for whoever has not said who he is.
const ANONYMOUS_STEPS: u64 = 20_000_000;
/// Steps that each candidate adds, so that a walk over millions of entries with some hundred values each comes to its
/// end.
const CANDIDATE_STEPS: u64 = 500;

/// Output of one step before others get their turn.
pub(super) const SLICE_OCTETS: usize = 16 * 1024;
/// Candidates that one step considers at most.
pub(super) const SLICE_CANDIDATES: u32 = 128;

/// What a search may still cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// Steps of all that is to come.
    pub(super) left: u64,
    /// Some piece of it did not fit into a turn.
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
    /// What somebody's search may cost; the rootdn's ends with its connection alone, or at its time limit.
    pub(super) fn of(identity: &Identity, is_root: bool) -> Self {
        let left = match (is_root, identity.is_anonymous()) {
            (true, _) => u64::MAX,
            (false, true) => ANONYMOUS_STEPS,
            (false, false) => REQUEST_STEPS,
        };
        Self { left, is_long: false }
    }

    /// The next step is too long for a reactor.
    pub(super) fn make_long(&mut self) {
        self.is_long = true;
    }

    /// Takes what a slice has cost.
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

/// What is left of a step.
pub(crate) struct Slice<'b> {
    /// Length of the output at which the step ends.
    pub(super) end: usize,
    pub(super) candidates: u32,
    pub(super) budget: &'b Budget,
    /// Steps that the budget had at first.
    pub(super) given: u64,
    /// When the budget holds no more than these, the step ends before the next candidate.
    pub(super) ends_below: u64,
    /// Whether these were as many as a turn may take.
    pub(super) is_whole_turn: bool,
    /// Something has been done that need not be done again.
    pub(super) has_advanced: bool,
}

/// What one step of a search works with.
pub(crate) struct Step<'s> {
    /// Memory, caches and the snapshot of the thread.
    pub(super) scratch: &'s mut Scratch,
    pub(super) slice: Slice<'s>,
    /// Where responses are appended.
    pub(super) out: &'s mut Vec<u8>,
}

impl Step<'_> {
    /// Counts a candidate; whether the step must end before it.
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
