//! Limits of sorting, from an overlay of the database or of the frontend. Without such an overlay only the number of
//! keys is limited.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use crate::{
    Configuration, NamingContext,
    overlay::{SortLimits, overlays_of},
    refusal::SortRefusal,
};

/// The place of a sorted search in the counts of its overlay and of its connection. Dropping it gives the place back.
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

/// Checks the number of sort keys.
///
/// # Errors
/// `unwillingToPerform`: there are too many.
pub(super) fn check_keys(context: &NamingContext, keys: usize) -> Result<(), SortRefusal> {
    let limits = overlays_of(context).sort_limits.as_ref();
    let most = limits.map_or(SortLimits::DEFAULT_KEYS, |limits| limits.max_keys);
    if u32::try_from(keys).is_ok_and(|keys| keys <= most) {
        return Ok(());
    }
    Err(SortRefusal::TooManyKeys)
}

/// Admits a sorted search. `None`: the number of sorted searches is not limited.
///
/// # Errors
/// `busy`: too many sorted searches are under way.
pub(super) fn admit(
    of_connection: &mut Option<Arc<AtomicU32>>,
    configuration: &Configuration,
    context: &NamingContext,
) -> Result<Option<SortPlace>, SortRefusal> {
    let Some(limits) = &overlays_of(context).sort_limits else {
        return Ok(None);
    };
    let of_connection = of_connection.get_or_insert_default();
    if !take(&limits.under_way, limits.maximum(configuration.settings.threads)) {
        return Err(SortRefusal::TooManySearches);
    }
    if !take(of_connection, limits.max_per_connection) {
        limits.under_way.fetch_sub(1, Ordering::Relaxed);
        return Err(SortRefusal::TooManySearches);
    }
    Ok(Some(SortPlace {
        counts: [Arc::clone(&limits.under_way), Arc::clone(of_connection)],
    }))
}

/// Adds one to a count, unless it has reached `max`.
fn take(count: &AtomicU32, max: u32) -> bool {
    let next = |count| (count < max).then_some(count + 1);
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
}
