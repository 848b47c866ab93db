//! The subcommands that OpenLDAP has no tool for.

mod advise;
mod backup;
mod config_file;
mod connect;
mod explain;
mod generate;
mod health;
mod init;
mod restore;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand};

use crate::tool::{chosen::Chosen, options::Options};

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

/// Which database of which configuration.
#[derive(Clone, Debug, Args)]
struct Target {
    /// The configuration, a slapd.conf
    #[arg(short = 'f', long = "config", value_name = "FILE")]
    config: Option<PathBuf>,
    /// The configuration, a directory
    #[arg(
        short = 'F',
        long = "config-directory",
        value_name = "DIRECTORY",
        conflicts_with = "config"
    )]
    config_directory: Option<PathBuf>,
    /// Number of the database, as slapcat -n counts
    #[arg(short = 'n', long, conflicts_with = "base")]
    number: Option<usize>,
    /// A name that the database holds
    #[arg(short = 'b', long, value_name = "DN")]
    base: Option<String>,
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

impl Target {
    /// Whether anything was said.
    fn is_given(&self) -> bool {
        self.config.is_some() || self.config_directory.is_some() || self.number.is_some() || self.base.is_some()
    }
    /// The database, without what is glued to it.
    ///
    /// # Errors
    /// An empty message: it has been printed.
    fn choose(&self) -> Result<Chosen, String> {
        let options = Options {
            program: "ironbark",
            config_file: self.config.clone(),
            config_directory: self.config_directory.clone(),
            number: self.number,
            suffix: self.base.clone(),
            unglued: true,
            ..Options::default()
        };
        Chosen::new(&options).map_err(|()| String::new())
    }
}
