//! A start of a container, from its variables to the server.

use std::{fs, path::Path};

use ironbark_runtime::{SignalFlag, process::drop_privileges};
use rustix::process::{getgid, getuid};

use super::{
    checks, cluster,
    environment::{self, Given, Read},
    first_start, later_start, launch,
    layout::Layout,
    settings::{self, Settings},
    starting::{Start, own_names, warn},
    state::{Facts, State},
    variables::Image,
};

/// Prepares the directory and becomes the server. Returns why there is none.
pub(super) fn run() -> String {
    match prepare() {
        Ok(start) => launch::become_server(&start),
        Err(error) => error,
    }
}

fn prepare() -> Result<Start, String> {
    // As process 1 of a container, a process without a handler gets no signals.
    let stop = SignalFlag::install().map_err(|error| error.to_string())?;
    let Read {
        mut given,
        image,
        warnings,
    } = environment::read(std::env::vars_os(), &|path| {
        fs::read(path).map_err(|error| error.to_string())
    })?;
    for warning in warnings {
        warn(&warning);
    }
    settings::complete(image, &mut given)?;
    let layout = Layout::choose(image, given.value("IRONBARK_DATA"));
    let keeps = given.is_set("KEEP_EXISTING_CONFIG", false)? && layout.is_used() && !layout.beginning.exists();
    if keeps {
        settings::without_passwords(image, &mut given);
    }
    let (facts, settings) = facts(image, &given, &layout)?;
    let root = getuid().is_root();
    if root && settings.user.is_none() {
        warn("the server runs as root; give the container a user, such as 10001");
    } else if root {
        let dropped = drop_privileges(settings.user.as_deref(), settings.group.as_deref());
        dropped.map_err(|error| error.to_string())?;
    }
    let start = Start {
        image,
        given,
        facts: Facts {
            uid: getuid().as_raw(),
            gid: getgid().as_raw(),
            ..facts
        },
        settings,
        layout,
        stop,
    };
    if keeps {
        cluster::forget_beginning(&start.layout)?;
        return Ok(start);
    }
    checks::before_anything_is_made(&start.given, &start.settings, &start.facts, &start.layout)?;
    match State::read(&start.layout.state)? {
        Some(state) => {
            cluster::stays(&start, &state)?;
            cluster::wait_for_log(&start, cluster::is_member(&state))?;
            later_start::apply(&start, &state)?;
        }
        None if start.layout.is_used() && !start.layout.beginning.exists() => return Err(foreign(&start.layout)),
        None => {
            checks::no_other_volume(&start.given, &start.layout)?;
            first_start::make(&start)?;
            cluster::wait_for_log(&start, false)?;
        }
    }
    cluster::begin_log(&start)?;
    if start.stop.is_set() {
        return Err("stopped by a signal".to_owned());
    }
    Ok(start)
}

fn facts(image: Image, given: &Given, layout: &Layout) -> Result<(Facts, Settings), String> {
    let wanted = Settings::new(
        image,
        given,
        &Facts {
            has_parameters: true,
            ..Facts::default()
        },
    )?;
    let exists = |path: &str| Path::new(path).exists();
    let tls = wanted.tls.as_ref();
    let lacks = tls.is_some_and(|tls| tls.may_be_made && !exists(&tls.certificate) && !exists(&tls.key));
    let made = layout.tls.to_str().ok_or("the name of the data folder is not UTF-8")?;
    let facts = Facts {
        number: number(&wanted, given)?,
        has_made_certificate: lacks,
        made_certificate: made.to_owned(),
        has_parameters: tls.and_then(|tls| tls.parameters.as_deref()).is_some_and(exists),
        ..Facts::default()
    };
    let settings = Settings::new(image, given, &facts)?;
    Ok((facts, settings))
}

/// The place of this host among those of replication, from 1.
fn number(settings: &Settings, given: &Given) -> Result<Option<u16>, String> {
    let Some(replication) = settings.replication.as_ref().filter(|one| !one.is_consumer) else {
        return Ok(None);
    };
    let own = own_names(given);
    let is_own = |url: &String| {
        let host = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let host = host.split(['/', ':']).next().unwrap_or_default();
        let first = host.split('.').next().unwrap_or_default();
        own.iter()
            .any(|own| own.eq_ignore_ascii_case(host) || own.eq_ignore_ascii_case(first))
    };
    let found = (1..).zip(&replication.hosts).find(|(_, url)| is_own(url));
    let none = || {
        format!(
            "this host ({}) is none of the hosts of replication: {}",
            own.join(", "),
            replication.hosts.join(" ")
        )
    };
    found.map(|(number, _)| Some(number)).ok_or_else(none)
}

fn foreign(layout: &Layout) -> String {
    format!(
        "{} and {} hold a directory that no container of ours has made.\nOne of OpenLDAP's comes over by slapcat: \
         write `slapcat -n 1` (bitnami: -n 2) in the old image, and start with an empty volume and \
         IRONBARK_IMPORT=FILE (docs/container.md).\nOne of ours is served as it is with KEEP_EXISTING_CONFIG=true.",
        layout.config.display(),
        layout.database.display()
    )
}
