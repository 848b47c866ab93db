//! Limits of sorted searches.

use std::sync::{Arc, atomic::AtomicU32};

/// How much sorting searches may do at once (slapo-sssvlv(5)).
#[derive(Debug)]
pub struct SortLimits {
    /// Keys of one search.
    pub max_keys: u32,
    /// Searches of all connections; 0: half of `threads`.
    pub max: u32,
    /// Searches of one connection.
    pub max_per_connection: u32,
    /// Searches that are under way.
    pub under_way: Arc<AtomicU32>,
}

impl SortLimits {
    /// Maximum number of keys without the overlay.
    pub const DEFAULT_KEYS: u32 = 5;

    /// Sorted searches of all connections: by default half as many as there are `threads`.
    pub(crate) fn maximum(&self, threads: Option<u32>) -> u32 {
        const SLAPD_THREADS: u32 = 16;
        match self.max {
            0 => (threads.unwrap_or(SLAPD_THREADS) / 2).max(1),
            max => max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_threads_may_sort_unless_it_is_said() {
        let limits = |max| SortLimits {
            max_keys: SortLimits::DEFAULT_KEYS,
            max,
            max_per_connection: 5,
            under_way: Arc::default(),
        };
        assert_eq!(
            [None, Some(6), Some(1)].map(|threads| limits(0).maximum(threads)),
            [8, 3, 1]
        );
        assert_eq!(limits(2).maximum(Some(6)), 2);
    }
}
