//! The server takes the place of this process, so it is process 1 as well, and has neither the variables nor the memory
//! that the preparation needed.

use core::net::IpAddr;
use std::fmt::Write as _;
use std::{ffi::OsString, os::unix::process::CommandExt as _, process::Command};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{
    settings::Settings,
    starting::{Start, warn},
};

/// Becomes the server. Returns why that failed.
pub(super) fn become_server(start: &Start) -> String {
    if let Some(wanted) = start.settings.open_files {
        limit_open_files(wanted);
    }
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return format!("the program does not find itself: {error}"),
    };
    let mut command = Command::new(&program);
    command
        .arg("slapd")
        .arg("-F")
        .arg(&start.layout.config)
        .arg("-h")
        .arg(urls(start))
        .arg("-d")
        .arg(&start.settings.log_level)
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| is_kept(name)));
    let error = command.exec();
    format!("{}: {error}", program.display())
}

/// Variables that say nothing secret and that libraries read.
fn is_kept(name: &OsString) -> bool {
    ["TZ", "LANG", "LC_ALL", "PATH", "HOME", "RUST_BACKTRACE"]
        .iter()
        .any(|kept| name == kept)
}

fn urls(start: &Start) -> OsString {
    let Settings { ports, .. } = &start.settings;
    let address = match start.settings.address {
        Some(IpAddr::V6(address)) => format!("[{address}]"),
        Some(address) => address.to_string(),
        None => String::new(),
    };
    let mut urls = String::new();
    for (scheme, port) in [
        ("ldap", ports.plain),
        ("ldaps", ports.tls),
        ("pldap", ports.proxied),
        ("pldaps", ports.proxied_tls),
    ] {
        if let Some(port) = port {
            let _ = write!(urls, "{scheme}://{address}:{port}/ ");
        }
    }
    let socket = start.layout.socket.as_os_str().as_encoded_bytes();
    urls.push_str("ldapi://");
    for octet in socket {
        if octet.is_ascii_alphanumeric() || matches!(octet, b'.' | b'-' | b'_') {
            urls.push(char::from(*octet));
        } else {
            let _ = write!(urls, "%{octet:02X}");
        }
    }
    urls.push('/');
    urls.into()
}

fn limit_open_files(wanted: u64) {
    let current = getrlimit(Resource::Nofile);
    let allowed = current.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    if allowed < wanted {
        warn(&format!(
            "no more than {allowed} open files are allowed here, less than {wanted}"
        ));
    }
    let limit = Rlimit {
        current: Some(allowed),
        maximum: Some(allowed),
    };
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        warn(&format!("the number of open files stays as it is: {error}"));
    }
}
