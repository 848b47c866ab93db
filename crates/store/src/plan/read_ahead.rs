//! Reading ahead of a walk over all rows, in a database that is otherwise read at random (`envflags nordahead`).
//! Without it, a fault for each page would make such a walk wait for the disk a thousand times as often.

/// How far the pages of a walk have been requested.
#[derive(Debug)]
pub(super) struct ReadAhead {
    /// The stretch that was reached last, in units of [`STRETCH`].
    reached: Option<usize>,
    /// The walk continues an earlier one: its first stretch has been requested already.
    resumes: bool,
}

impl ReadAhead {
    pub(super) fn new(resumes: bool) -> Self {
        Self { reached: None, resumes }
    }

    /// Notes how far the walk has come, and asks the kernel for the next stretch once in a stretch. Rows that a load
    /// has written lie in order. Where later writes have moved some rows, one stretch may be read for nothing.
    pub(super) fn reach(&mut self, row: &[u8]) {
        let stretch = row.as_ptr().addr() / STRETCH;
        match self.reached.replace(stretch) {
            None if self.resumes => return,
            Some(before) if before == stretch => return,
            _ => {}
        }
        let start = row.as_ptr().map_addr(|_| stretch * STRETCH);
        // SAFETY: advice about addresses: nothing is read or written through them. If they are not mapped, the call
        // returns an error and changes nothing.
        #[allow(unsafe_code, reason = "advice for the kernel is not in the standard library")]
        let _ = unsafe { libc::madvise(start.cast_mut().cast(), 2 * STRETCH, libc::MADV_WILLNEED) };
    }
}

/// Octets that are requested at a time; a multiple of the page size.
const STRETCH: usize = 1 << 20;
