//! `ironbark load`: the command line of the load generator in crate `ironbark-load`.

mod follow;
mod report;
mod run;
mod sessions;
mod show;
mod workloads;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use self::{
    report::{Changes, Report},
    workloads::WorkloadCommand,
};

/// Measure an LDAP server under load
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Load {
    #[command(subcommand)]
    command: LoadCommand,
}

const EXAMPLES: &str = "Examples:
  ironbark load search --entries 100000 -c 1,4,16,64 -o a.json --label ours
  ironbark load report a.json b.json -o report.html";

#[derive(Debug, Subcommand)]
enum LoadCommand {
    #[command(flatten)]
    Workload(Box<WorkloadCommand>),
    /// Make an HTML page of results
    Report(Report),
    /// Write an LDIF of modifications for `replay`
    Changes(Changes),
}

/// Why the exit status is not 0.
#[derive(Debug)]
enum Failure {
    /// The request cannot be carried out: status 2.
    Usage(String),
    /// The run failed, or there were unexpected answers: status 1.
    Run(String),
}

impl Load {
    /// Runs the subcommand. The command line goes into the result.
    pub(crate) fn run(self, command_line: Vec<String>) -> ExitCode {
        let result = match self.command {
            LoadCommand::Workload(workload) => workload.run(command_line),
            LoadCommand::Report(report) => report.run(),
            LoadCommand::Changes(changes) => changes.run(),
        };
        let (status, text) = match result {
            Ok(()) => return ExitCode::SUCCESS,
            Err(Failure::Usage(text)) => (2, text),
            Err(Failure::Run(text)) => (1, text),
        };
        eprintln!("ironbark load: {text}");
        ExitCode::from(status)
    }
}
