//! A round of a reactor: the turns of connections between two waits. Responses of a round leave together.
//!
//! Sending wakes the receiver. If it has to be woken for each response, that costs more than the sending itself. So if
//! several connections have responses, each holds its responses back until all connections with ready responses have
//! had their turn.

use std::{
    cell::{Cell, RefCell},
    task::{Context, Waker},
};

/// The round of one reactor. Used only on the reactor's thread.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// Turns with responses in this round and in the round before.
    turns: Cell<u32>,
    turns_before: Cell<u32>,
    /// The tasks of connections that hold responses back.
    held_back: RefCell<Vec<Waker>>,
}

impl Round {
    /// Whether a connection with responses should send them later. It will then be woken.
    pub(crate) fn hold_back(&self, cx: &Context<'_>) -> bool {
        self.turns.set(self.turns.get().saturating_add(1));
        let is_alone = self.turns.get() <= 1 && self.turns_before.get() <= 1;
        if is_alone {
            return false;
        }
        if self.held_back.borrow().len() >= MAX_HELD_BACK {
            self.release();
            return false;
        }
        self.held_back.borrow_mut().push(cx.waker().clone());
        true
    }

    /// Wakes the connections that hold responses back. Returns whether there are any. Call it whenever a connection
    /// lets others go first, so that no response waits for endless work.
    pub(crate) fn release(&self) -> bool {
        let mut held_back = self.held_back.borrow_mut();
        let any = !held_back.is_empty();
        held_back.drain(..).for_each(Waker::wake);
        any
    }

    /// The reactor has nothing to do and will wait. Returns `true` if connections were woken, so that it does not wait.
    pub(crate) fn end(&self) -> bool {
        if self.release() {
            return true;
        }
        self.turns_before.set(self.turns.replace(0));
        false
    }
}

/// Maximum number of connections that hold responses back before all are woken.
pub(crate) const MAX_HELD_BACK: usize = 32;

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::Wake,
    };

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Woken {
        fn times(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    fn held_back(round: &Round, turns: usize) -> (usize, Arc<Woken>) {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let cx = Context::from_waker(&waker);
        ((0..turns).filter(|_| round.hold_back(&cx)).count(), woken)
    }

    #[test]
    fn a_connection_that_is_alone_sends_at_once() {
        let round = Round::default();
        for _ in 0..3 {
            assert_eq!(held_back(&round, 1).0, 0);
            assert!(!round.end());
        }
    }

    #[test]
    fn connections_that_are_ready_together_are_woken_before_the_reactor_waits() {
        let round = Round::default();
        let (held, woken) = held_back(&round, 3);
        assert_eq!((held, woken.times()), (2, 0), "the first one knows of no other");
        assert!(round.end(), "there is something to do");
        assert_eq!(woken.times(), 2);
        assert!(!round.end());
        // There were others in the round before.
        assert_eq!(held_back(&round, 1).0, 1);
    }

    #[test]
    fn nobody_waits_for_work_that_goes_on() {
        let round = Round::default();
        let (_, woken) = held_back(&round, 5);
        assert!(round.release());
        assert_eq!(woken.times(), 4);
        let (held, woken) = held_back(&round, MAX_HELD_BACK + 1);
        assert_eq!(
            (held, woken.times()),
            (MAX_HELD_BACK, MAX_HELD_BACK),
            "one too many wakes all"
        );
        assert!(!round.end());
    }
}
