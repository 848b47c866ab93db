//! How much work a request may still make: steps, counted by whatever loops over what clients or entries can make long.

use std::{
    cell::{Cell, RefCell},
    fmt,
    sync::Arc,
};

/// Octets that are normalized or compared in about one step.
const OCTETS_PER_STEP: usize = 32;
/// Steps between two looks at the watch: some tenths of a millisecond.
const STEPS_PER_LOOK: u64 = 4096;

/// Whoever may end a request before its time: a connection that has gone, Abandon, Cancel, a time limit.
pub trait Watch {
    /// Whether the work is to end. Asked from the thread that works, every few thousand steps.
    fn is_over(&self) -> bool;
}

/// Steps that are left. One step is about the work of normalizing or comparing some dozens of octets.
///
/// Who loops over values, terms, links or elements spends, and winds down as soon as [`Budget::spend`] says so: what it
/// returns then must widen nobody's access, and means nothing. Who began the work looks at [`Budget::is_exhausted`]
/// before it believes or remembers any of it.
pub struct Budget {
    /// Steps until the next look at the watch.
    near: Cell<u64>,
    /// Steps behind that.
    far: Cell<u64>,
    is_exhausted: Cell<bool>,
    is_watched: Cell<bool>,
    watch: RefCell<Option<Arc<dyn Watch>>>,
}

impl Budget {
    /// So many steps, which nobody ends before.
    pub fn new(steps: u64) -> Self {
        Self {
            near: Cell::new(steps),
            far: Cell::new(0),
            is_exhausted: Cell::new(false),
            is_watched: Cell::new(false),
            watch: RefCell::new(None),
        }
    }

    /// Begins anew, with so many steps.
    #[inline]
    pub fn renew(&self, steps: u64, watch: Option<Arc<dyn Watch>>) {
        let near = if watch.is_some() {
            steps.min(STEPS_PER_LOOK)
        } else {
            steps
        };
        self.near.set(near);
        self.far.set(steps - near);
        self.is_exhausted.set(false);
        // Most work is too short to be watched.
        if watch.is_some() || self.is_watched.get() {
            self.is_watched.set(watch.is_some());
            self.watch.replace(watch);
        }
    }

    /// Takes steps; false: there are not so many, and the work is to end.
    #[inline]
    pub fn spend(&self, steps: u64) -> bool {
        match self.near.get().checked_sub(steps) {
            Some(left) => {
                self.near.set(left);
                true
            }
            None => self.go_on(steps),
        }
    }

    /// Takes what so many octets cost to normalize or compare.
    #[inline]
    pub fn spend_on(&self, octets: usize) -> bool {
        self.spend(cost(octets))
    }

    /// Whether the steps are used up, or whoever watches has ended the work: what was found out since is not to be
    /// believed.
    #[inline]
    pub fn is_exhausted(&self) -> bool {
        self.is_exhausted.get()
    }

    /// Steps that are left.
    pub fn left(&self) -> u64 {
        self.near.get().saturating_add(self.far.get())
    }

    #[cold]
    fn go_on(&self, steps: u64) -> bool {
        let is_over = || self.watch.borrow().as_ref().is_some_and(|watch| watch.is_over());
        let missing = steps - self.near.get();
        let rest = self.far.get().checked_sub(missing);
        let Some(rest) = rest.filter(|_| !self.is_exhausted.get() && !is_over()) else {
            self.is_exhausted.set(true);
            self.near.set(0);
            self.far.set(0);
            return false;
        };
        let near = rest.min(STEPS_PER_LOOK);
        self.near.set(near);
        self.far.set(rest - near);
        true
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Budget");
        shown.field("left", &self.left());
        shown
            .field("is_exhausted", &self.is_exhausted())
            .finish_non_exhaustive()
    }
}

/// Steps that so many octets cost: at least one.
#[inline]
pub fn cost(octets: usize) -> u64 {
    1 + (octets / OCTETS_PER_STEP) as u64
}

/// Steps for a character that stands for a whole phrase.
const PER_PHRASE: u64 = 40;

/// Characters that stand for whole phrases: U+FDC0 to U+FDFF, of which one is normalized to up to 18.
pub fn phrases(octets: &[u8]) -> u64 {
    memchr::memmem::find_iter(octets, b"\xef\xb7").count() as u64
}

/// Steps that a value costs to normalize: more if it is not ASCII, and most where a character stands for a whole
/// phrase.
pub fn cost_of(value: &[u8]) -> u64 {
    if value.is_ascii() {
        return cost(value.len());
    }
    1 + (value.len() / 2) as u64 + PER_PHRASE * phrases(value)
}

/// Requests of up to so many octets are not looked at.
const SHORT: usize = 256;

/// Steps that a request of these octets costs to read, most of whose values are names and texts.
pub fn cost_of_request(octets: &[u8]) -> u64 {
    if octets.len() <= SHORT {
        return cost(octets.len());
    }
    cost(octets.len()) + PER_PHRASE * phrases(octets)
}

/// Steps that a write of these octets costs to read: the values are checked and normalized one by one. The worst are
/// short names, numbers and combining marks, of which one octet takes about a tenth of a microsecond.
pub fn cost_of_write(octets: &[u8]) -> u64 {
    /// Octets that are read in a step, which is a microsecond at worst.
    const READ_PER_STEP: usize = 8;
    if octets.len() <= SHORT {
        return cost(octets.len());
    }
    (octets.len() / READ_PER_STEP) as u64 + PER_PHRASE * phrases(octets)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn what_is_exhausted_stays_so_until_it_is_renewed() {
        let budget = Budget::new(10);
        assert!(budget.spend(7) && budget.spend(3) && !budget.is_exhausted());
        assert!(!budget.spend(1) && budget.is_exhausted());
        assert!(!budget.spend(1), "nothing is left");
        budget.renew(5, None);
        assert!(budget.spend(5) && !budget.is_exhausted() && budget.left() == 0);
        budget.renew(5, None);
        assert!(!budget.spend(6), "more than there is");
        assert_eq!(budget.left(), 0, "who winds down gets no more");
    }

    /// Says that it is over when asked for the third time.
    #[derive(Default)]
    struct Third(AtomicU32);

    impl Watch for Third {
        fn is_over(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) == 2
        }
    }

    #[test]
    fn who_watches_is_asked_now_and_then_and_can_end_it() {
        let budget = Budget::new(0);
        budget.renew(u64::MAX, Some(Arc::new(Third::default())));
        let mut steps = 0;
        while budget.spend(1) {
            steps += 1;
        }
        assert!(budget.is_exhausted());
        assert!((2 * STEPS_PER_LOOK..=4 * STEPS_PER_LOOK).contains(&steps), "{steps}");
    }

    #[test]
    fn long_values_cost_more() {
        let budget = Budget::new(1000);
        assert!(budget.spend_on(10));
        assert_eq!(budget.left(), 999);
        assert!(!budget.spend_on(1 << 20));
    }
}
