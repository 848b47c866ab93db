//! Databases that followers of other databases write to. Their writers wait and end after those of the others.

use ironbark_config::ConfigError;

use super::state::{Planned, Source};
use crate::{
    Configuration, NamingContext, OpenError,
    overlay::{Pipeline, overlays_of},
};

/// Whether a follower of another database writes to the database with this number of a cache.
pub(super) fn is_target(configuration: &Configuration, cache: u64) -> bool {
    let mut contexts = configuration.contexts.iter();
    contexts.any(|context| context.cache == cache && is_written_to(configuration, context))
}

/// Whether a follower of another database writes to this one.
pub(crate) fn is_written_to(configuration: &Configuration, context: &NamingContext) -> bool {
    let mut others = configuration.contexts.iter();
    others.any(|other| {
        let followers = &overlays_of(other).followers;
        let mut targets = followers.iter().filter_map(|follower| follower.writes_to());
        targets.any(|target| context.suffixes().contains(target))
    })
}

/// Checks that the databases that followers write to are there, are no databases of a cluster, and have no such
/// followers themselves.
///
/// # Errors
/// The error names the overlay's database.
pub(super) fn check(planned: &[Planned]) -> Result<(), OpenError> {
    let targets = |overlays: &Pipeline| -> Vec<_> {
        let followers = overlays.followers.iter();
        followers.filter_map(|follower| follower.writes_to().cloned()).collect()
    };
    for Planned { settings, overlays, .. } in planned {
        for target in targets(overlays) {
            let found = planned.iter().find(|other| other.settings.suffixes.contains(&target));
            let name = target.pretty();
            let wrong = match found {
                None => format!("logdb <suffix> missing or invalid: there is no database \"{name}\""),
                Some(other) if other.settings.suffixes == settings.suffixes => {
                    format!("logdb <suffix> is this database, cannot log to itself: \"{name}\"")
                }
                Some(other) if !matches!(other.source, Source::Kept(_) | Source::New(_)) => {
                    format!("logdb \"{name}\" must be a database with stored entries")
                }
                Some(other) if other.settings.cluster.is_some() => {
                    format!("logdb \"{name}\" is a database of a cluster: each server would log each change there")
                }
                Some(other) if !targets(&other.overlays).is_empty() => {
                    format!("logdb \"{name}\" has an overlay accesslog itself")
                }
                Some(_) => continue,
            };
            return Err(ConfigError::of_setting(&settings.location, "accesslog", wrong).into());
        }
    }
    Ok(())
}
