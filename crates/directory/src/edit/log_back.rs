//! Reading the log of changes from its end.

use ironbark_store::{ChangeRecord, StoreError, View};

/// Changes that are read at a time.
const WINDOW: u64 = 256;
/// Changes that are read at most: the writer waits meanwhile.
const MOST_CHANGES: u64 = 1 << 18;

/// Reads changes in windows, the last ones first; within a window they come in their order. `is_enough` is asked behind
/// each window. The view must show the changes of its transaction.
///
/// # Errors
/// The storage failed.
pub(crate) fn read_back<T>(
    view: View<'_>,
    state: &mut T,
    mut read: impl FnMut(&mut T, &ChangeRecord),
    is_enough: impl Fn(&T) -> bool,
) -> Result<(), StoreError> {
    let log = view.log_state()?;
    let begin = log.first.unwrap_or_default().max(log.last.saturating_sub(MOST_CHANGES));
    // The transaction itself has changes behind the last one that is counted.
    let (mut end, mut start) = (u64::MAX, log.last.saturating_sub(WINDOW).max(begin));
    while end > begin {
        for record in view.changes(start)? {
            let record = record?;
            if record.position.sequence >= end {
                break;
            }
            read(state, &record);
        }
        if is_enough(state) {
            return Ok(());
        }
        (end, start) = (start, start.saturating_sub(WINDOW).max(begin));
    }
    Ok(())
}
