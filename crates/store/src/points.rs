//! Points between the steps of a writer and of a reader. Tests look on there, or end the process. Other builds have
//! nothing of it.

#[cfg(test)]
mod tests;

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Point {
    /// A reader has its snapshot, and does not know yet what the numbers in it stand for.
    SnapshotTaken,
    /// A reader has loaded a numbering from its snapshot, and has not published it.
    Loaded,
    /// A writer has the lock, and has changed nothing.
    Begun,
    /// A writer has written all rows of its transaction.
    Written,
    /// A writer has published its numbering, and LMDB has not committed.
    Published,
    /// LMDB has committed, and the write is not acknowledged.
    Committed,
    /// LMDB could not commit, and the former numbering is in force again.
    TakenBack,
}

#[cfg(test)]
pub(crate) use tests::hook::reach;

/// A thread has come to a point.
#[cfg(not(test))]
#[inline]
pub(crate) fn reach(_: Point) {}
