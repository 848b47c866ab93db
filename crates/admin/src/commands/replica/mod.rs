//! `ironbark replica`: how servers that follow each other are doing, and what their administrators do about it.

mod forget_sid;
mod status;

use std::time::Duration;

use clap::{Args, Subcommand};

use crate::shared::access_options::AccessOptions;

/// Options of `ironbark replica`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Replica {
    #[command(subcommand)]
    command: ReplicaCommand,
}

const EXAMPLES: &str = "Examples:
  ironbark replica status ldap://a/ ldap://b/ -Z --ca-file ca.crt
  ironbark replica forget-sid 3 ldap://a/ -D cn=admin,dc=example,dc=com -W";

#[derive(Debug, Subcommand)]
enum ReplicaCommand {
    /// Show which server follows which, how far each one is, and what went wrong
    #[command(after_help = "Examples:\n  ironbark replica status ldap://a/ ldap://b/ -D cn=admin,dc=example,dc=com -W")]
    Status {
        /// The servers
        #[arg(required = true, value_name = "URL")]
        urls: Vec<String>,
        #[command(flatten)]
        access: Box<AccessOptions>,
        /// Show it again every so many seconds, until interrupted
        #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2")]
        watch: Option<u64>,
        /// Exit with 1 if a server is behind by more than so many seconds, too
        #[arg(long, value_name = "SECONDS", conflicts_with = "watch")]
        max_lag: Option<u64>,
    },
    /// Take a server that is no more out of the contextCSN of a database
    #[command(after_help = "Examples:\n  ironbark replica forget-sid 3 ldap://a/ -D cn=admin,dc=example,dc=com -W")]
    ForgetSid {
        /// ID of the server, as serverID has it
        #[arg(value_parser = clap::value_parser!(u16).range(0..=4095))]
        sid: u16,
        /// The server whose contextCSN is changed; a URL may name the base
        url: String,
        /// The naming context [default: the only one]
        #[arg(short = 'b', long, value_name = "DN")]
        base: Option<String>,
        #[command(flatten)]
        access: Box<AccessOptions>,
    },
}

impl Replica {
    pub(super) fn run(&self) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        match &self.command {
            ReplicaCommand::Status {
                urls,
                access,
                watch,
                max_lag,
            } => {
                let (settings, watch) = (
                    access.settings()?,
                    watch.map(|seconds| Duration::from_secs(seconds.max(1))),
                );
                let max_lag = max_lag.map(Duration::from_secs);
                runtime.block_on(status::run(urls, &settings, watch, max_lag))
            }
            ReplicaCommand::ForgetSid { sid, url, base, access } => {
                runtime.block_on(forget_sid::run(*sid, url, base.as_deref(), &access.settings()?))
            }
        }
    }
}
