//! `ironbark cluster begin`: a new log that begins with a database.

use ironbark_cluster::read_place;
use ironbark_runtime::Clock;
use ironbark_server::Loaded;

use super::{member, settings};
use crate::shared::{open::open_to_read, target::Target};

/// Lets the log begin with the chosen database.
///
/// # Errors
/// It is part of no cluster, or empty; there is a log already; etcd does not answer.
pub(super) fn run(target: &Target, replaces: bool) -> Result<(), String> {
    if let Some(loaded) = target.configuration()? {
        return put(&loaded, replaces);
    }
    let chosen = target.choose()?;
    let settings = settings(&chosen)?;
    let (suffix, config) = member(settings)?;
    let database = open_to_read(settings, &chosen)?.ok_or("the database is empty")?;
    let place = database
        .snapshot()
        .and_then(|snapshot| snapshot.view().log_place())
        .map_err(|error| error.to_string())?;
    if place.is_empty() {
        return Err("the database is empty".to_owned());
    }
    let now = Clock::system().now().unix_seconds();
    let normalized = String::from_utf8_lossy(suffix.normalized());
    ironbark_cluster::begin(config, &normalized, &place, replaces, now).map_err(|error| error.to_string())?;
    println!(
        "{}: the log begins with this database, at change {}",
        suffix.pretty(),
        place.position.sequence
    );
    Ok(())
}

/// Puts the configuration of this server where all servers take theirs.
fn put(loaded: &Loaded, replaces: bool) -> Result<(), String> {
    let (suffix, config) = member(&loaded.configuration.config)?;
    let folder = loaded
        .folder
        .as_ref()
        .ok_or("cn=config of a cluster is in a configuration directory (-F)")?;
    let place = folder.place().map_err(|error| error.to_string())?;
    let place = place.and_then(|text| read_place(text.as_bytes())).unwrap_or_default();
    let normalized = String::from_utf8_lossy(suffix.normalized());
    let text = loaded.tree.common(None).to_ldif();
    let put =
        ironbark_cluster::put_tree(config, &normalized, place, &text, replaces).map_err(|error| error.to_string())?;
    println!(
        "{}: that of the cluster is the configuration of this server, at change {}",
        suffix.pretty(),
        put.position.sequence
    );
    Ok(())
}
