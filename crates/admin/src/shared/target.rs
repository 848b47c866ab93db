//! The database that a subcommand works on.

use std::path::PathBuf;

use clap::Args;

use ironbark_advisor::WrittenConfiguration;

use super::{chosen::Chosen, options::Options, written::written};

/// A database of a configuration.
#[derive(Clone, Debug, Args)]
pub(crate) struct Target {
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
    pub(crate) number: Option<usize>,
    /// A name that the database holds
    #[arg(short = 'b', long, value_name = "DN")]
    pub(crate) base: Option<String>,
}

impl Target {
    /// Whether any option was given.
    pub(crate) fn is_given(&self) -> bool {
        self.config.is_some() || self.config_directory.is_some() || self.number.is_some() || self.base.is_some()
    }
    /// The configuration as it is written.
    ///
    /// # Errors
    /// The message for the user.
    pub(crate) fn written(&self) -> Result<WrittenConfiguration, String> {
        written(self.config.as_deref(), self.config_directory.as_deref())
    }

    /// The database, without those glued to it.
    ///
    /// # Errors
    /// An empty message: the error has been printed.
    pub(crate) fn choose(&self) -> Result<Chosen, String> {
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
