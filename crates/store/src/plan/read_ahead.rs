//! Reading ahead of a walk over all rows, in a database that is read at random otherwise (`envflags nordahead`): a
//! fault for each page would make such a walk wait for the disk a thousand times as often.

/// How far a walk is prepared.
#[derive(Debug)]
pub(super) struct ReadAhead {
    /// The stretch that was reached last, in units of [`STRETCH`].
    reached: Option<usize>,
    /// The walk goes on where it was left: the stretch in which it begins has been asked for.
    resumes: bool,
}

impl ReadAhead {
    pub(super) fn new(resumes: bool) -> Self {
        Self { reached: None, resumes }
    }

    /// Notes where the walk has come, and asks the kernel for what follows once in a stretch. Rows that a load has
    /// written lie in order; where later writes have moved some, what is read for nothing is a stretch.
    pub(super) fn reach(&mut self, row: &[u8]) {
        let stretch = row.as_ptr().addr() / STRETCH;
        match self.reached.replace(stretch) {
            None if self.resumes => return,
            Some(before) if before == stretch => return,
            _ => {}
        }
        let start = row.as_ptr().map_addr(|_| stretch * STRETCH);
        // SAFETY: advice about addresses: nothing is read or written through them. What is not mapped is answered with
        // an error, which changes nothing.
        #[allow(unsafe_code, reason = "advice for the kernel is not in the standard library")]
        let _ = unsafe { libc::madvise(start.cast_mut().cast(), 2 * STRETCH, libc::MADV_WILLNEED) };
    }
}

/// Octets that are asked for at a time; a multiple of the size of a page.
const STRETCH: usize = 1 << 20;
