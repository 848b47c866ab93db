//! The command line options of the server.

use std::{ffi::OsString, path::PathBuf};

use ironbark_directory::SyncCookie;

use crate::{
    listener::AddressFamily,
    log::{Facility, LevelMask, Severity},
};

/// The options of slapd(8).
#[derive(Clone, Debug, Default)]
pub struct ServeOptions {
    /// The command line as it was given, for `argsfile`.
    pub arguments: Vec<OsString>,
    /// `-4`, `-6`.
    pub family: AddressFamily,
    /// `-h`: URLs separated by spaces. `None`: `ldap:///`.
    pub urls: Option<String>,
    /// `-f`.
    pub config_file: Option<PathBuf>,
    /// `-F`. Neither: the usual directory if it holds a configuration, otherwise the usual file.
    pub config_directory: Option<PathBuf>,
    /// `-d`: stays in the foreground; the levels go to stderr.
    pub debug: Option<LevelMask>,
    /// `-s`: the levels for syslog, unless `loglevel` is set.
    pub syslog_levels: Option<LevelMask>,
    /// `-S`.
    pub syslog_severity: Option<Severity>,
    /// `-l`.
    pub syslog_facility: Option<Facility>,
    /// `-n`: the name in log lines. `None`: `slapd`.
    pub name: Option<String>,
    /// `-r`.
    pub chroot: Option<PathBuf>,
    /// `-u`.
    pub user: Option<String>,
    /// `-g`.
    pub group: Option<String>,
    /// `-c`: cookies that consumers of these `rid` begin with. No two have the same.
    pub cookies: Vec<SyncCookie>,
    /// Whether somebody watches stderr: its lines have the time for people, and it is said where the server listens.
    pub is_watched: bool,
    /// Whether searches get minimal answers: the upper limit for benchmarks.
    pub bare: bool,
}

/// The usual place of slapd.conf.
pub(crate) const DEFAULT_CONFIG_FILE: &str = "/etc/ldap/slapd.conf";
/// The usual configuration directory. slapd prefers it to slapd.conf.
pub(crate) const DEFAULT_CONFIG_DIRECTORY: &str = "/etc/ldap/slapd.d";
