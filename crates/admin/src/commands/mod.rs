//! The subcommands, and the programs of OpenLDAP: one file or folder each.

mod advise;
mod backup;
mod config_file;
mod explain;
mod generate;
mod health;
mod init;
pub(crate) mod load;
mod restore;
pub(crate) mod slapacl;
pub(crate) mod slapadd;
pub(crate) mod slapauth;
pub(crate) mod slapcat;
pub(crate) mod slapd;
pub(crate) mod slapdn;
pub(crate) mod slapindex;
pub(crate) mod slapmodify;
pub(crate) mod slappasswd;
pub(crate) mod slapschema;
pub(crate) mod slaptest;

use std::process::ExitCode;

use clap::Subcommand;

/// A subcommand.
#[derive(Debug, Subcommand)]
pub(crate) enum Own {
    /// Make a secure new directory: configuration, database, administrator
    Init(init::Init),
    /// Write an LDIF data set of any size
    Generate(generate::Generate),
    /// Show how a search is answered: plan, candidates, time
    Explain(explain::Explain),
    /// Say which indexes would pay, and which nobody uses, from what a server has been asked
    Advise(advise::Advise),
    /// Write a configuration directory as a slapd.conf file
    ConfigFile(config_file::ConfigFile),
    /// Copy a database while the server goes on, and verify the copy
    Backup(backup::Backup),
    /// Put a verified backup in the place of a database that is missing
    Restore(restore::Restore),
    /// Ask a server for its root DSE, or check a database's files
    Health(health::Health),
}

impl Own {
    /// Runs it.
    pub(crate) fn run(&self) -> ExitCode {
        let result = match self {
            Self::Init(init) => init.run(),
            Self::Generate(generate) => generate.run(),
            Self::Explain(explain) => explain.run(),
            Self::Advise(advise) => advise.run(),
            Self::ConfigFile(config_file) => config_file.run(),
            Self::Backup(backup) => backup.run(),
            Self::Restore(restore) => restore.run(),
            Self::Health(health) => health.run(),
        };
        match result {
            Ok(()) => ExitCode::SUCCESS,
            Err(text) => {
                if !text.is_empty() {
                    eprintln!("ironbark: {text}");
                }
                ExitCode::FAILURE
            }
        }
    }
}
