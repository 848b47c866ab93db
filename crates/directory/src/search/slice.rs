//! The slices of a search: the work allowed in each, and what happens when it is not enough.

use std::sync::Arc;

use ironbark_model::{Budget, Watch};
use ironbark_runtime::Clock;

use super::{
    run::{Progress, SearchRun},
    work::{LONG_SLICE_STEPS, SLICE_CANDIDATES, SLICE_OCTETS, Slice, Step},
};
use crate::{
    refusal::SearchRefusal,
    request::stop::StopFlag,
    scratch::{Scratch, TURN_STEPS},
};

impl SearchRun {
    /// Whether the next step is too long for a reactor. The search must then be handed over.
    pub fn is_long(&self) -> bool {
        self.work.is_long
    }

    pub(super) fn begin_slice<'b>(&self, scratch: &Scratch, budget: &'b Budget, out: &[u8]) -> Slice<'b> {
        let given = if self.work.is_long {
            self.work.left
        } else {
            self.work.left.min(scratch.turn_left)
        };
        let watch: Option<Arc<dyn Watch>> = if self.work.is_long {
            Some(Arc::new(SearchWatch {
                stop: self.origin.stop.clone(),
                deadline_micros: self.limits.deadline_micros,
                clock: scratch.directory().clock().clone(),
            }))
        } else {
            None
        };
        budget.renew(given, watch);
        Slice {
            end: out.len() + SLICE_OCTETS,
            candidates: SLICE_CANDIDATES,
            budget,
            given,
            ends_below: if self.work.is_long {
                given.saturating_sub(LONG_SLICE_STEPS)
            } else {
                0
            },
            is_whole_turn: scratch.turn_left >= TURN_STEPS,
            has_advanced: false,
        }
    }

    /// Decides what follows when the steps ran out during one piece of work. Nothing is kept of that piece. It is done
    /// again, here or elsewhere, or the search ends.
    pub(super) fn exhausted(&mut self, step: &mut Step<'_>) -> Progress {
        let Step { scratch, slice, out } = step;
        if let Some(stop) = self.origin.stop.stopped() {
            return self.stopped(stop, scratch, out);
        }
        let now = scratch.directory().monotonic_micros();
        if self.limits.deadline_micros.is_some_and(|deadline| now >= deadline) {
            self.refuse(SearchRefusal::TimeLimit.into(), scratch, out);
            return Progress::Done;
        }
        if slice.given >= self.work.left {
            self.refuse(SearchRefusal::TooMuchWork.into(), scratch, out);
            return Progress::Done;
        }
        if !slice.has_advanced && slice.is_whole_turn {
            self.work.make_long();
        }
        Progress::More
    }
}

/// Ends the work of a search that was abandoned or canceled, or whose time is up.
struct SearchWatch {
    stop: StopFlag,
    deadline_micros: Option<u64>,
    clock: Clock,
}

impl Watch for SearchWatch {
    fn is_over(&self) -> bool {
        self.stop.stopped().is_some()
            || self
                .deadline_micros
                .is_some_and(|deadline| self.clock.monotonic().nanos() / 1_000 >= deadline)
    }
}
