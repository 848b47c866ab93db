//! The budget of work of one request. Work is counted in steps, in each loop that a client or an entry can make long.

use std::{
    cell::{Cell, RefCell},
    fmt,
    sync::Arc,
};

/// Octets that are normalized or compared in about one step.
const OCTETS_PER_STEP: usize = 32;
/// Steps between two checks of the watch: some tenths of a millisecond.
const STEPS_PER_LOOK: u64 = 4096;

/// A reason to end a request early: a lost connection, Abandon, Cancel, a time limit.
pub trait Watch {
    /// Whether the work must end. The working thread asks every few thousand steps.
    fn is_over(&self) -> bool;
}

/// The steps that are left. One step is about the work of normalizing or comparing some dozens of octets.
///
/// A loop over values, terms, links or elements spends steps. It ends as soon as [`Budget::spend`] returns false. Its
/// result then means nothing, and must not widen anybody's access. The code that began the work checks
/// [`Budget::is_exhausted`] before it believes or remembers the result.
pub struct Budget {
    /// Steps until the next look at the watch.
    near: Cell<u64>,
    /// Steps after those.
    far: Cell<u64>,
    is_exhausted: Cell<bool>,
    is_watched: Cell<bool>,
    watch: RefCell<Option<Arc<dyn Watch>>>,
}

impl Budget {
    /// A budget of this many steps, without a watch.
    pub fn new(steps: u64) -> Self {
        Self {
            near: Cell::new(steps),
            far: Cell::new(0),
            is_exhausted: Cell::new(false),
            is_watched: Cell::new(false),
            watch: RefCell::new(None),
        }
    }

    /// Starts again with this many steps.
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

    /// Takes steps. False: not enough are left, and the work must end.
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

    /// Takes the steps for normalizing or comparing this many octets.
    #[inline]
    pub fn spend_on(&self, octets: usize) -> bool {
        self.spend(cost(octets))
    }

    /// Whether the steps are used up, or the watch has ended the work. Results found since then must not be believed.
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

/// The steps for this many octets: at least one.
#[inline]
pub fn cost(octets: usize) -> u64 {
    1 + (octets / OCTETS_PER_STEP) as u64
}

/// Steps for a character that stands for a whole phrase.
const PER_PHRASE: u64 = 40;

/// The number of characters that stand for whole phrases: U+FDC0 to U+FDFF. One of them is normalized to up to 18
/// characters.
pub fn phrases(octets: &[u8]) -> u64 {
    memchr::memmem::find_iter(octets, b"\xef\xb7").count() as u64
}

/// The steps for normalizing a value. Values that are not ASCII cost more. Characters that stand for a whole phrase
/// cost most.
pub fn cost_of(value: &[u8]) -> u64 {
    if value.is_ascii() {
        return cost(value.len());
    }
    1 + (value.len() / 2) as u64 + PER_PHRASE * phrases(value)
}

/// Phrases are not counted in requests of up to this many octets.
const SHORT: usize = 256;

/// The steps for reading a request of these octets. Most values of a request are names and texts.
pub fn cost_of_request(octets: &[u8]) -> u64 {
    if octets.len() <= SHORT {
        return cost(octets.len());
    }
    cost(octets.len()) + PER_PHRASE * phrases(octets)
}

/// The steps for reading a write of these octets. Its values are checked and normalized one by one. The worst values
/// are short names, numbers and combining marks: one octet takes about a tenth of a microsecond.
pub fn cost_of_write(octets: &[u8]) -> u64 {
    /// Octets that are read in one step. A step is a microsecond at worst.
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

    /// A watch that ends the work when it is asked for the third time.
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
