//! Memory that a request asks for: what cannot be had is an answer, not the end of the server.

use ironbark_model::ResultCode;
use ironbark_store::spare;

use crate::OperationError;

/// Whether a new operation may begin. While memory is short none does; what others have taken may be free again by now.
pub(crate) fn may_begin() -> bool {
    !spare::is_short() || spare::recover()
}

/// Room for `more` further items of a list that a request makes grow.
///
/// # Errors
/// Memory is short: adminLimitExceeded.
pub(crate) fn make<T>(list: &mut Vec<T>, more: usize) -> Result<(), OperationError> {
    if spare::is_short() || list.try_reserve(more).is_err() {
        return Err(none());
    }
    Ok(())
}

/// Whether `count` items could be had beside what there is, as sorting takes them for a moment.
///
/// # Errors
/// They could not: adminLimitExceeded.
pub(crate) fn passing<T>(count: usize) -> Result<(), OperationError> {
    make(&mut Vec::<T>::new(), count)
}

fn none() -> OperationError {
    OperationError::new(ResultCode::ADMIN_LIMIT_EXCEEDED, "no memory is left for it")
}
