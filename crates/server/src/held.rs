//! The memory that clients make the server hold: incomplete messages, and answers that clients have not read. Each
//! connection has limits of its own; this is the limit for all together.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::repeated_notice::RepeatedNotice;

/// Bytes held for all connections of the server.
#[derive(Debug, Default)]
pub(crate) struct HeldMemory {
    bytes: AtomicUsize,
    /// When the log last reported that it is too much.
    pub(crate) told: RepeatedNotice,
}

impl HeldMemory {
    /// One connection has held `before` bytes and now holds `now`. Returns the total of all connections.
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

/// The number of bytes to release when `held` bytes are held. It is a part of the limit, so that the server seldom has
/// to search for connections to close.
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
