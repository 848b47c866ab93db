//! `ironbark cluster begin`: a new log that begins with a database.

use ironbark_runtime::Clock;

use super::named;
use crate::shared::{open::open_to_read, target::Target};

/// Lets the log begin with the chosen database.
///
/// # Errors
/// It is part of no cluster, or empty; there is a log already; etcd does not answer.
pub(super) fn run(target: &Target, replaces: bool) -> Result<(), String> {
    let chosen = target.choose()?;
    let (settings, suffix, config) = named(&chosen)?;
    let database = open_to_read(settings, &chosen, "ironbark")?.ok_or("the database is empty")?;
    let place = database
        .snapshot()
        .and_then(|snapshot| snapshot.view().log_place())
        .map_err(|error| error.to_string())?;
    if place.is_empty() {
        return Err("the database is empty".to_owned());
    }
    let now = Clock::system().now().unix_seconds();
    let normalized = String::from_utf8_lossy(suffix.normalized());
    ironbark_cluster::begin(config, &normalized, &place, replaces, now)?;
    println!(
        "{}: the log begins with this database, at change {}",
        suffix.pretty(),
        place.position.sequence
    );
    Ok(())
}
