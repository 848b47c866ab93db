//! A round of a reactor: the turns of connections between two waits. Responses of a round leave together.
//!
//! Sending wakes the receiver, which costs more than the sending itself when it has to be woken for each response. So a connection that
//! is not alone holds its responses back until all that are ready have had their turn.

use std::{
    cell::{Cell, RefCell},
    task::{Context, Waker},
};

/// The round of one reactor. All on its thread.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// Turns with responses in this round and in the one before.
    turns: Cell<u32>,
    turns_before: Cell<u32>,
    /// The tasks of connections that hold responses back.
    held_back: RefCell<Vec<Waker>>,
}

impl Round {
    /// Whether a connection with responses should send them later: it will be woken.
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

    /// Wakes the connections that hold responses back; whether there are any. To be called whenever a connection lets others go first,
    /// so that nobody waits for work that goes on and on.
    pub(crate) fn release(&self) -> bool {
        let mut held_back = self.held_back.borrow_mut();
        let any = !held_back.is_empty();
        held_back.drain(..).for_each(Waker::wake);
        any
    }

    /// The reactor has nothing to do and will wait, unless connections are woken (true).
    pub(crate) fn end(&self) -> bool {
        if self.release() {
            return true;
        }
        self.turns_before.set(self.turns.replace(0));
        false
    }
}

/// Connections that hold responses back before they are all woken.
pub(crate) const MAX_HELD_BACK: usize = 32;
