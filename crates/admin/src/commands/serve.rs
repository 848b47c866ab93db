//! `ironbark serve`: the server with its own options. `commands/slapd.rs` has those of slapd(8).

use std::{
    ffi::OsString,
    io::{self, IsTerminal as _},
    process::ExitCode,
};

use ironbark_server::{ServeOptions, log::level};

use crate::shared::{access_options::USUAL_URL, config_options::ConfigOptions};

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Serve {
    #[command(flatten)]
    config: ConfigOptions,
    /// Where to listen: ldap://host:port/, ldaps://host:port/ or ldapi://%2Fpath/; may be repeated
    #[arg(short = 'H', long = "url", value_name = "URL", default_value = USUAL_URL)]
    urls: Vec<String>,
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

const EXAMPLES: &str = "Examples:
  ironbark serve
  ironbark serve -f directory/slapd.conf -H ldap:/// -H ldapi://%2Ftmp%2Fldapi/
  ironbark serve -F /etc/ldap/slapd.d -H ldap:/// --user openldap --detach";

impl Serve {
    /// Serves until it is stopped. `arguments` is the command line.
    pub(super) fn run(self, arguments: &[OsString]) -> ExitCode {
        ironbark_server::serve(&self.options(arguments))
    }

    /// The options for the server.
    pub(super) fn options(self, arguments: &[OsString]) -> ServeOptions {
        let config = self.config.or_new_aloud();
        ServeOptions {
            bare: self.bare,
            arguments: arguments.to_vec(),
            urls: Some(self.urls.join(" ")),
            config_file: config.config,
            config_directory: config.config_directory,
            debug: (!self.detach).then_some(self.log),
            syslog_levels: Some(self.log),
            user: self.user,
            group: self.group,
            name: Some("ironbark".to_owned()),
            is_watched: !self.detach && io::stderr().is_terminal(),
            ..ServeOptions::default()
        }
    }
}

fn parse_levels(text: &str) -> Result<u32, level::UnknownLevel> {
    level::add_levels(0, text)
}
