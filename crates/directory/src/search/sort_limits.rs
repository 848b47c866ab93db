//! Limits of sorting: those of an overlay of the database, or of the frontend. Without one there is only that of the
//! keys.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use ironbark_model::ResultCode;

use crate::{Configuration, NamingContext, OperationError, overlay::SortLimits};

/// The place of one sorted search among those of its overlay and of its connection, until it is dropped.
#[derive(Debug)]
pub(super) struct SortPlace {
    counts: [Arc<AtomicU32>; 2],
}

impl Drop for SortPlace {
    fn drop(&mut self) {
        for count in &self.counts {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Whether a search may have so many sort keys.
///
/// # Errors
/// `unwillingToPerform` for too many.
pub(super) fn check_keys(context: &NamingContext, keys: usize) -> Result<(), OperationError> {
    let limits = context.overlays().sort_limits.as_ref();
    let most = limits.map_or(SortLimits::DEFAULT_KEYS, |limits| limits.max_keys);
    if u32::try_from(keys).is_ok_and(|keys| keys <= most) {
        return Ok(());
    }
    Err(OperationError::new(
        ResultCode::UNWILLING_TO_PERFORM,
        "Too many sort keys",
    ))
}

/// Lets a sorted search in; `None`: their number is not limited.
///
/// # Errors
/// `busy` for too many sorted searches.
pub(super) fn admit(
    of_connection: &mut Option<Arc<AtomicU32>>,
    configuration: &Configuration,
    context: &NamingContext,
) -> Result<Option<SortPlace>, OperationError> {
    let Some(limits) = &context.overlays().sort_limits else {
        return Ok(None);
    };
    let busy = || OperationError::new(ResultCode::BUSY, "Other sort requests already in progress");
    let of_connection = of_connection.get_or_insert_default();
    if !take(&limits.under_way, limits.maximum(configuration.settings.threads)) {
        return Err(busy());
    }
    if !take(of_connection, limits.max_per_connection) {
        limits.under_way.fetch_sub(1, Ordering::Relaxed);
        return Err(busy());
    }
    Ok(Some(SortPlace {
        counts: [Arc::clone(&limits.under_way), Arc::clone(of_connection)],
    }))
}

/// Counts one more unless that would be too many.
fn take(count: &AtomicU32, max: u32) -> bool {
    let next = |count| (count < max).then_some(count + 1);
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
}
