//! The memory that clients make the server hold: messages that have not arrived whole, and answers that are not taken.
//! Each connection has limits of its own; this is the limit for all together.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::repeated_notice::RepeatedNotice;

/// Bytes held for all connections of the server.
#[derive(Debug, Default)]
pub(crate) struct HeldMemory {
    bytes: AtomicUsize,
    /// When the log was told that it is too much.
    pub(crate) told: RepeatedNotice,
}

impl HeldMemory {
    /// One connection has held `before` bytes and holds `now`; what all hold together.
    pub(crate) fn change(&self, before: usize, now: usize) -> usize {
        if now >= before {
            let more = now - before;
            self.bytes.fetch_add(more, Ordering::Relaxed).saturating_add(more)
        } else {
            let less = before - now;
            self.bytes.fetch_sub(less, Ordering::Relaxed).saturating_sub(less)
        }
    }
}

/// How much has to be let go of when `held` bytes are held: a part of the limit at once, so that the search for whom to
/// close is rare.
pub(crate) fn excess(held: usize, limit: usize) -> Option<usize> {
    (held > limit).then(|| held - (limit - limit / 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_connections_hold_is_added_up() {
        let held = HeldMemory::default();
        assert_eq!(held.change(0, 100), 100);
        assert_eq!(held.change(0, 50), 150);
        assert_eq!(held.change(100, 20), 70);
        assert_eq!(held.change(50, 0), 20);
    }

    #[test]
    fn past_the_limit_an_eighth_is_freed() {
        assert_eq!(excess(800, 800), None);
        assert_eq!(excess(801, 800), Some(101));
    }
}
