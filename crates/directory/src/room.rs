//! Memory for requests: if it is not available, the request gets an error and the server continues.

use ironbark_store::spare;

use crate::refusal::Failure;

/// Whether a new operation may begin: not while memory is short. Checks first whether memory is available again.
pub(crate) fn may_begin() -> bool {
    !spare::is_short() || spare::recover()
}

/// Makes room for `more` items of a list that grows with a request.
///
/// # Errors
/// Memory is short: adminLimitExceeded.
pub(crate) fn make<T>(list: &mut Vec<T>, more: usize) -> Result<(), Failure> {
    if spare::is_short() || list.try_reserve(more).is_err() {
        return Err(Failure::NoMemory);
    }
    Ok(())
}

/// Whether memory for `count` more items is available, as sorting needs it for a moment.
///
/// # Errors
/// It is not: adminLimitExceeded.
pub(crate) fn passing<T>(count: usize) -> Result<(), Failure> {
    make(&mut Vec::<T>::new(), count)
}
