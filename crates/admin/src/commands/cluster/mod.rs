//! `ironbark cluster`: how a cluster is doing.

mod status;

use clap::{Args, Subcommand};

use crate::shared::target::Target;

/// Options of `ironbark cluster`.
#[derive(Debug, Args)]
pub(crate) struct Cluster {
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Debug, Subcommand)]
enum ClusterCommand {
    /// Show the log, the members of etcd, and the servers with what each one has
    Status {
        #[command(flatten)]
        target: Target,
    },
}

impl Cluster {
    pub(super) fn run(&self) -> Result<(), String> {
        match &self.command {
            ClusterCommand::Status { target } => status::run(target),
        }
    }
}
