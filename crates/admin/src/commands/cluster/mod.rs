//! `ironbark cluster`: how a cluster is doing.

mod begin;
mod status;

use clap::{Args, Subcommand};

use ironbark_config::{DatabaseConfig, cluster::ClusterConfig};
use ironbark_model::Dn;

use crate::shared::{chosen::Chosen, target::Target};

/// Options of `ironbark cluster`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Cluster {
    #[command(subcommand)]
    command: ClusterCommand,
}

const EXAMPLES: &str = "Examples:
  ironbark cluster status -f directory/slapd.conf
  ironbark cluster begin -f directory/slapd.conf";

#[derive(Debug, Subcommand)]
enum ClusterCommand {
    /// Show the log, the members of etcd, and the servers with what each one has
    #[command(after_help = "Examples:\n  ironbark cluster status -f directory/slapd.conf")]
    Status {
        #[command(flatten)]
        target: Target,
    },
    /// Let the log in etcd begin with the database: after etcd has lost its data, or a backup was restored. With `-n
    /// 0`, put the configuration of this server there
    #[command(after_help = "Examples:\n  ironbark cluster begin -f directory/slapd.conf")]
    Begin {
        #[command(flatten)]
        target: Target,
        /// Delete the log that is there. All servers must have been stopped. With `-n 0`, replace the configuration
        /// of all servers, which need not be stopped
        #[arg(long)]
        replace_log: bool,
    },
}

/// The first suffix and the cluster of a database.
fn member(settings: &DatabaseConfig) -> Result<(&Dn, &ClusterConfig), String> {
    let suffix = settings.suffixes.first().ok_or("the database has no suffix")?;
    let config = settings
        .cluster
        .as_ref()
        .ok_or_else(|| format!("{}: the database is part of no cluster", suffix.pretty()))?;
    Ok((suffix, config))
}

/// The settings of the chosen database.
fn settings(chosen: &Chosen) -> Result<&DatabaseConfig, String> {
    let (_, settings) = chosen.databases().next().ok_or("no database")?;
    Ok(settings)
}

impl Cluster {
    pub(super) fn run(&self) -> Result<(), String> {
        match &self.command {
            ClusterCommand::Status { target } => status::run(target),
            ClusterCommand::Begin { target, replace_log } => begin::run(target, *replace_log),
        }
    }
}
