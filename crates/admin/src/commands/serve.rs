//! `ironbark serve`: the server with its own options. `commands/slapd.rs` has those of slapd(8).

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use ironbark_server::{ServeOptions, log::level};

#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// The configuration, a slapd.conf
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where to listen: ldap://host:port/ or ldapi://%2Fpath/; may be repeated
    #[arg(short, long, value_name = "URL", default_value = "ldap:///")]
    listen: Vec<String>,
    /// What to log: names and numbers as with slapd -d, joined by commas
    #[arg(long, value_name = "LEVELS", default_value = "stats", value_parser = parse_levels)]
    log: u32,
    /// User to run as, by name or number
    #[arg(long)]
    user: Option<String>,
    /// Group to run as, by name or number
    #[arg(long)]
    group: Option<String>,
    /// Return when the server listens; the server keeps running
    #[arg(long)]
    detach: bool,
    /// For benchmarks: answer every search with one entry, looked up and copied, whatever the request. Shows the limit
    /// of the sockets
    #[arg(long)]
    bare: bool,
}

impl Serve {
    /// Serves until it is stopped. `arguments` is the command line.
    pub(super) fn run(self, arguments: &[OsString]) -> ExitCode {
        ironbark_server::serve(&self.options(arguments))
    }

    /// The options for the server.
    pub(super) fn options(self, arguments: &[OsString]) -> ServeOptions {
        ServeOptions {
            bare: self.bare,
            arguments: arguments.to_vec(),
            urls: Some(self.listen.join(" ")),
            config_file: self.config,
            debug: (!self.detach).then_some(self.log),
            syslog_levels: Some(self.log),
            user: self.user,
            group: self.group,
            name: Some("ironbark".to_owned()),
            ..ServeOptions::default()
        }
    }
}

fn parse_levels(text: &str) -> Result<u32, level::UnknownLevel> {
    level::add_levels(0, text)
}
