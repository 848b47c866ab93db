//! Memory for requests: if it is not available, the request gets an error and the server continues.

use ironbark_model::ResultCode;
use ironbark_store::spare;

use crate::OperationError;

/// Whether a new operation may begin: not while memory is short. Checks first whether memory is available again.
pub(crate) fn may_begin() -> bool {
    !spare::is_short() || spare::recover()
}

/// Makes room for `more` items of a list that grows with a request.
///
/// # Errors
/// Memory is short: adminLimitExceeded.
pub(crate) fn make<T>(list: &mut Vec<T>, more: usize) -> Result<(), OperationError> {
    if spare::is_short() || list.try_reserve(more).is_err() {
        return Err(none());
    }
    Ok(())
}

/// Whether memory for `count` more items is available, as sorting needs it for a moment.
///
/// # Errors
/// It is not: adminLimitExceeded.
pub(crate) fn passing<T>(count: usize) -> Result<(), OperationError> {
    make(&mut Vec::<T>::new(), count)
}

fn none() -> OperationError {
    OperationError::new(ResultCode::ADMIN_LIMIT_EXCEEDED, "no memory is left for it")
}
