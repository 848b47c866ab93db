//! Which container begins a cluster, and which ones join it.
//!
//! Invariants: of all containers only the one that `IRONBARK_CLUSTER_FIRST` names makes entries, only at its first
//! start, and only while etcd has no log. The log begins by one transaction of etcd that compares, so if there are two
//! of that name, one of them loses: it drops the entries that it has just made and joins. No other container serves
//! an empty database before there is a log, because a server would begin one with it. A database that has taken part
//! in a log is never dropped.

use std::{fs, io::ErrorKind, time::Duration};

use ironbark_cluster::Overview;
use ironbark_config::{LoadedConfiguration, cluster::ClusterConfig};
use ironbark_directory::open;
use ironbark_model::{Dn, Schema};
use ironbark_runtime::Clock;
use ironbark_store::ClusterLogPlace;

use super::{
    layout::{Layout, failed, sync_folder, write_whole},
    settings::Cluster,
    starting::{Start, own_names, tell},
    state::State,
};

/// How long etcd is left alone between two questions.
const PAUSE: Duration = Duration::from_secs(1);

/// Whether a first start leaves the entries to others. If it does not, it must begin the log with them: a file says so
/// until it has. Waits for an answer of etcd.
///
/// # Errors
/// A signal, or the file cannot be written.
pub(super) fn joins(start: &Start, schema: &Schema) -> Result<bool, String> {
    let Some(cluster) = &start.settings.cluster else {
        return Ok(false);
    };
    if !is_first(start, cluster) {
        return Ok(true);
    }
    let log = log(start, cluster, schema)?;
    let mut has_told = false;
    let has_log = log.ask(start, |answer| {
        if answer.is_some() {
            return Some(true);
        }
        let is_lost = log.is_lost().ok()?;
        if is_lost && !has_told {
            tell(
                "etcd has no log, but servers of a cluster have changes of one: no entries are made; `ironbark cluster \
                 begin` on the server that has the most lets the log begin anew",
            );
            has_told = true;
        }
        (!is_lost).then_some(false)
    })?;
    if has_log {
        tell("etcd has a log, so the entries come from the cluster");
        return Ok(true);
    }
    write_whole(&start.layout.begins_log, b"")?;
    Ok(false)
}

/// Refuses to leave a cluster by a variable that was lost: the server would take writes that no other one gets.
///
/// # Errors
/// It is not set, and was.
pub(super) fn stays(start: &Start, state: &State) -> Result<(), String> {
    if is_member(state) && start.given.value(NAME).is_none() {
        return Err(format!(
            "{NAME} was set at the last start, and is not now: give it its value again, or none to leave the cluster"
        ));
    }
    Ok(())
}

/// Whether a start was that of a server of a cluster.
pub(super) fn is_member(state: &State) -> bool {
    let urls = state.plain.get(NAME);
    urls.is_some_and(|urls| !urls.eq_ignore_ascii_case("none"))
}

const NAME: &str = "IRONBARK_CLUSTER";

/// Waits until there is a log, if this server must not begin one: its database is empty, or was never part of a cluster
/// (`was_member`) and is not the first one's.
///
/// # Errors
/// A signal, or the configuration cannot be read.
pub(super) fn wait_for_log(start: &Start, was_member: bool) -> Result<(), String> {
    let Some(cluster) = &start.settings.cluster else {
        return Ok(());
    };
    if start.layout.begins_log.exists() || (!was_member && is_first(start, cluster)) {
        return Ok(());
    }
    let configuration = configuration(start)?;
    // A database that cannot be opened is the server's to tell of.
    if was_member && place(start, &configuration).map_or(true, |(place, _)| !place.is_empty()) {
        return Ok(());
    }
    let mut has_told = false;
    log(start, cluster, &configuration.schema)?.ask(start, |answer| {
        if answer.is_none() && !has_told {
            tell(&match &cluster.first {
                Some(first) => format!("etcd has no log yet: the first start of {first} begins it"),
                None => "etcd has no log yet: no container begins it (IRONBARK_CLUSTER_FIRST=none)".to_owned(),
            });
            has_told = true;
        }
        answer
    })?;
    Ok(())
}

/// Lets the log begin with the entries that the first start has made, or drops them if another log has begun.
///
/// # Errors
/// A signal, or a file cannot be read or removed.
pub(super) fn begin_log(start: &Start) -> Result<(), String> {
    if !start.layout.begins_log.exists() {
        return Ok(());
    }
    let Some(cluster) = &start.settings.cluster else {
        return forget_beginning(&start.layout);
    };
    let configuration = configuration(start)?;
    let (place, has_changes) = place(start, &configuration)?;
    let log = log(start, cluster, &configuration.schema)?;
    let end = log.ask(start, |answer| {
        if answer.is_none() {
            let now = Clock::system().now().unix_seconds();
            // Whatever comes of it, the next answer tells.
            if let Err(error) = ironbark_cluster::begin(&log.config, &log.suffix, &place, false, now) {
                tell(&format!("the log could not be begun: {error}"));
            }
        }
        answer
    })?;
    if is_place_of(&end, &place) {
        tell("the log of the cluster begins with these entries");
    } else if has_changes {
        return Err("the database is part of another log than etcd's".to_owned());
    } else {
        tell("another container has begun the log, so the entries come from the cluster");
        start.layout.clear_databases()?;
    }
    forget_beginning(&start.layout)
}

/// Keeps the entries of the first start whatever log there is, because they are going to be served.
///
/// # Errors
/// The file cannot be removed.
pub(super) fn forget_beginning(layout: &Layout) -> Result<(), String> {
    let marker = &layout.begins_log;
    match fs::remove_file(marker) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        // If it came back after a power cut, the database would be taken for one that nobody has used.
        removed => removed.map_err(failed(marker)).and_then(|()| sync_folder(marker)),
    }
}

/// Whether the log ends where it began, and began with this database.
fn is_place_of(end: &ClusterLogPlace, place: &ClusterLogPlace) -> bool {
    let (log, own) = (end.position, place.position);
    place.is_empty()
        || (end.chain == place.chain
            && log.sequence == own.sequence
            && (own.generation == 0 || own.generation == log.generation))
}

/// Whether this container is the one that may begin.
fn is_first(start: &Start, cluster: &Cluster) -> bool {
    let first = cluster.first.as_ref();
    first.is_some_and(|first| {
        own_names(&start.given)
            .iter()
            .any(|own| own.eq_ignore_ascii_case(first))
    })
}

fn configuration(start: &Start) -> Result<LoadedConfiguration, String> {
    let loaded =
        ironbark_server::load_configuration(None, Some(&start.layout.config)).map_err(|error| error.to_string())?;
    Ok(loaded.configuration)
}

/// Where the database is, and whether it has taken part in a log.
fn place(start: &Start, configuration: &LoadedConfiguration) -> Result<(ClusterLogPlace, bool), String> {
    let suffix = dn(start, &configuration.schema)?;
    let position = configuration.database_holding(&suffix);
    let Some(settings) = position.and_then(|at| configuration.databases.get(at)) else {
        return Err(format!("no database holds {}", start.settings.suffix));
    };
    let exists = match fs::metadata(start.layout.database.join("data.mdb")) {
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        found => found.map_err(failed(&start.layout.database)).map(|_| true)?,
    };
    if !exists {
        return Ok((ClusterLogPlace::default(), false));
    }
    let Some(database) = open::to_read(settings, &configuration.schema).map_err(|error| error.to_string())? else {
        return Ok((ClusterLogPlace::default(), false));
    };
    let read = database.snapshot().and_then(|snapshot| {
        let view = snapshot.view();
        Ok((view.log_place()?, view.is_of_a_cluster()?))
    });
    read.map_err(|error| error.to_string())
}

fn dn(start: &Start, schema: &Schema) -> Result<Dn, String> {
    let suffix = &start.settings.suffix;
    Dn::parse(schema, suffix.as_bytes()).map_err(|_| format!("{suffix}: invalid name"))
}

fn log(start: &Start, cluster: &Cluster, schema: &Schema) -> Result<Log, String> {
    let password = cluster.password.and_then(|name| start.given.value(name));
    let config = ClusterConfig::of_words(&cluster.line(password)).map_err(|error| format!("{NAME}: {error}"))?;
    let suffix = dn(start, schema)?;
    Ok(Log {
        config,
        suffix: String::from_utf8_lossy(suffix.normalized()).into_owned(),
    })
}

/// The log in etcd.
struct Log {
    config: ClusterConfig,
    /// Normalized.
    suffix: String,
}

impl Log {
    /// Whether there are servers that have changes of a log that is gone. Those that run tell etcd every ten seconds.
    fn is_lost(&self) -> Result<bool, String> {
        let found = Overview::of(&self.config, &self.suffix).map_err(|error| error.to_string())?;
        Ok(found.end.is_none() && found.servers.iter().any(|server| server.is_of_log))
    }

    /// Asks where it ends until `judge` has a result. Without an answer of etcd it says why, and asks again.
    fn ask<R>(&self, start: &Start, mut judge: impl FnMut(Option<ClusterLogPlace>) -> Option<R>) -> Result<R, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let mut told = None;
        loop {
            if start.stop.is_set() {
                return Err("stopped by a signal".to_owned());
            }
            match Overview::end(&self.config, &self.suffix) {
                Ok(end) => {
                    if let Some(result) = judge(end) {
                        return Ok(result);
                    }
                }
                Err(error) if told.as_ref() != Some(&error) => {
                    tell(&format!("{NAME}: no answer of etcd yet: {error}"));
                    told = Some(error);
                }
                Err(_) => {}
            }
            runtime.block_on(async { tokio::time::sleep(PAUSE).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use ironbark_store::change::Position;

    use super::*;

    #[test]
    fn only_a_log_that_still_ends_with_this_database_began_with_it() {
        let at = |generation, sequence, chain: u8| ClusterLogPlace {
            position: Position { generation, sequence },
            chain: [chain; 16],
        };
        assert!(is_place_of(&at(7, 3, 1), &at(0, 3, 1)));
        assert!(is_place_of(&at(7, 3, 1), &at(7, 3, 1)));
        for (log, own) in [
            (at(7, 3, 2), at(0, 3, 1)),
            (at(7, 4, 1), at(0, 3, 1)),
            (at(7, 3, 1), at(8, 3, 1)),
            (at(7, 0, 0), at(0, 3, 1)),
        ] {
            assert!(!is_place_of(&log, &own), "{log:?} {own:?}");
        }
        // Nothing is dropped of an empty one.
        assert!(is_place_of(&at(7, 9, 9), &ClusterLogPlace::default()));
    }
}
