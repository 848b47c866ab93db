//! Changes under way in a database: their CSNs are drawn, and they are not committed yet.
//!
//! Databases that are glued together are provided as one, and each has a writer of its own. What a consumer is told to
//! have must not cover a change that is still under way in one of them. So a writer sets its fence before the first CSN
//! of a group is drawn, and lifts it when the group is committed. A reader takes the last CSN that was drawn, and then
//! the fences: each change up to the least of these is committed, as its fence was set before, and is lifted or set
//! anew behind it. For databases of a cluster this is not enough, as other servers draw CSNs too: the reader takes the
//! least of what the databases have.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Microseconds since 1970 and the change count of a CSN.
pub(crate) type Drawn = (i64, u32);

/// The fence of one writer.
#[derive(Debug, Default)]
pub(crate) struct Fence(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The last CSN that was drawn before the group began.
    before: Option<Drawn>,
    /// Whether a reader was held back by it.
    was_met: bool,
}

impl Fence {
    /// A group begins. `last`: the last CSN that was drawn.
    pub(crate) fn set(&self, last: Drawn) {
        self.lock().before = Some(last);
    }

    /// The group has ended. Whether a reader must look again.
    #[must_use]
    pub(crate) fn lift(&self) -> bool {
        std::mem::take(&mut *self.lock()).was_met
    }

    /// The bound that it sets for a reader that has seen `last` as the last CSN drawn.
    pub(crate) fn bound(&self, last: Drawn) -> Drawn {
        let mut state = self.lock();
        match state.before {
            Some(before) if before < last => {
                state.was_met = true;
                before
            }
            _ => last,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change of it is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_goes_no_further_than_the_first_change_under_way() {
        let fence = Fence::default();
        assert_eq!(fence.bound((5, 0)), (5, 0), "nothing is under way");
        assert!(!fence.lift());
        fence.set((5, 1));
        assert_eq!(fence.bound((5, 1)), (5, 1), "what is under way comes later");
        assert!(!fence.lift(), "nobody was held back");
        fence.set((5, 1));
        assert_eq!(fence.bound((7, 0)), (5, 1));
        assert!(fence.lift());
        assert_eq!(fence.bound((7, 0)), (7, 0));
    }

    #[test]
    fn no_change_under_way_is_ever_covered() {
        use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
        // Two writers draw numbers and commit them; a reader checks that what it may tell is committed.
        let (drawn, fences) = (AtomicI64::new(0), [Fence::default(), Fence::default()]);
        let committed = [Mutex::new(Vec::new()), Mutex::new(Vec::new())];
        std::thread::scope(|scope| {
            for (fence, committed) in fences.iter().zip(&committed) {
                let drawn = &drawn;
                scope.spawn(move || {
                    for _ in 0..5_000 {
                        fence.set((drawn.load(SeqCst), 0));
                        let number = drawn.fetch_add(1, SeqCst) + 1;
                        std::thread::yield_now();
                        committed.lock().unwrap().push(number);
                        let _ = fence.lift();
                    }
                });
            }
            scope.spawn(|| {
                for _ in 0..500 {
                    let last = (drawn.load(SeqCst), 0);
                    let bound = fences.iter().map(|fence| fence.bound(last)).min().unwrap().0;
                    let known = committed
                        .iter()
                        .map(|list| list.lock().unwrap().iter().filter(|one| **one <= bound).count());
                    assert_eq!(known.sum::<usize>(), usize::try_from(bound).unwrap());
                }
            });
        });
    }
}
