//! `ironbark` with its own subcommands.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use ironbark_server::{ServeOptions, log::level};

use crate::commands::{Own, load::Load, slapd};

/// An LDAP directory server that takes an OpenLDAP deployment as it stands.
///
/// Called as slapd or with it as the first word (`ironbark slapd -f slapd.conf`), it takes slapd's options.
#[derive(Debug, Parser)]
#[command(name = "ironbark", version, arg_required_else_help = true)]
struct Ironbark {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a directory, in the foreground, with one log line per request on stderr
    Serve(Serve),
    /// Serve with the options of slapd(8)
    #[command(disable_help_flag = true)]
    Slapd {
        /// Options of slapd(8)
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<OsString>,
    },
    /// Measure an LDAP server under load
    Load(Box<Load>),
    #[command(flatten)]
    Own(Own),
}

#[derive(Debug, clap::Args)]
struct Serve {
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
    /// Return when the server listens, and leave it running
    #[arg(long)]
    detach: bool,
    /// For benchmarks: answer every search with one entry, looked up and copied, whatever was asked. Shows the limit of
    /// the sockets
    #[arg(long)]
    bare: bool,
}

/// Runs a subcommand; `arguments` begin with the program's name.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let command = match Ironbark::try_parse_from(arguments) {
        Ok(Ironbark { command }) => command,
        Err(error) => {
            // There is nobody left to tell.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match command {
        Command::Serve(serve) => ironbark_server::serve(&serve.options(arguments)),
        Command::Own(own) => own.run(),
        Command::Load(load) => {
            // Where the program lies is no part of how a result came about.
            let words = arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
            load.run(std::iter::once("ironbark".to_owned()).chain(words).collect())
        }
        Command::Slapd { options } => slapd::run(std::iter::once(OsString::from("slapd")).chain(options).collect()),
    }
}

impl Serve {
    fn options(self, arguments: &[OsString]) -> ServeOptions {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory as _;
        Ironbark::command().debug_assert();
    }

    #[test]
    fn serve_stays_in_the_foreground_unless_told() {
        let parse = |line: &str| match Ironbark::try_parse_from(line.split(' ')).unwrap().command {
            Command::Serve(serve) => serve.options(&[]),
            Command::Slapd { .. } | Command::Load(_) | Command::Own(_) => panic!("serve was asked for"),
        };
        let options = parse("ironbark serve -c x -l ldap://:1/ -l ldapi:/// --log stats,sync");
        assert_eq!(options.debug, Some(256 | 16384));
        assert_eq!(options.urls.as_deref(), Some("ldap://:1/ ldapi:///"));
        assert_eq!(parse("ironbark serve --detach").debug, None);
    }
}
