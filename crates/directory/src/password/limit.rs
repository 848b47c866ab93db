//! The unit in which the work of comparisons is counted.

/// The work that a single stored value may ask for: about ten seconds. All of one request together may ask for no more.
pub(super) const MOST_WORK: u64 = 1_000_000;
