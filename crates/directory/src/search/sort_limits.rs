//! Limits of sorting: those of the overlay sssvlv of the database, or else of the frontend. Without it there is only
//! that of the keys.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use ironbark_config::overlay::{OverlaySettings, SssvlvConfig};
use ironbark_model::ResultCode;

use crate::{Configuration, NamingContext, OperationError};

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
pub(super) fn check_keys(
    configuration: &Configuration,
    context: &NamingContext,
    keys: usize,
) -> Result<(), OperationError> {
    let most = match limits(configuration, context) {
        Some((settings, _)) => settings.max_keys,
        None => SssvlvConfig::default().max_keys,
    };
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
    let Some((settings, sorts)) = limits(configuration, context) else {
        return Ok(None);
    };
    let busy = || OperationError::new(ResultCode::BUSY, "Other sort requests already in progress");
    let of_connection = of_connection.get_or_insert_default();
    if !take(sorts, settings.maximum(configuration.settings.threads)) {
        return Err(busy());
    }
    if !take(of_connection, settings.max_per_connection) {
        sorts.fetch_sub(1, Ordering::Relaxed);
        return Err(busy());
    }
    Ok(Some(SortPlace {
        counts: [Arc::clone(sorts), Arc::clone(of_connection)],
    }))
}

/// The settings that hold, and the count of the searches under them.
fn limits<'c>(
    configuration: &'c Configuration,
    context: &'c NamingContext,
) -> Option<(&'c SssvlvConfig, &'c Arc<AtomicU32>)> {
    [context, &configuration.frontend]
        .into_iter()
        .find_map(|context| settings(context).map(|settings| (settings, &context.sorts)))
}

fn settings(context: &NamingContext) -> Option<&SssvlvConfig> {
    let mut overlays = context.settings.overlays.iter();
    overlays.find_map(|overlay| match &overlay.settings {
        OverlaySettings::Sssvlv(settings) => Some(settings),
        _ => None,
    })
}

/// Counts one more unless that would be too many.
fn take(count: &AtomicU32, max: u32) -> bool {
    let next = |count| (count < max).then_some(count + 1);
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
}
