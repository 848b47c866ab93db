//! The database that a subcommand works on.

use std::path::PathBuf;

use clap::Args;

use ironbark_advisor::WrittenConfiguration;
use ironbark_server::Loaded;

use super::{
    chosen::{Chosen, read_configuration},
    config_database,
    options::Options,
    written::written,
};

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
        Chosen::new(&self.options()).map_err(|()| String::new())
    }

    /// The configuration itself, if cn=config is chosen.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn configuration(&self) -> Result<Option<Loaded>, String> {
        let options = self.options();
        config_database::is_chosen(&options)
            .then(|| read_configuration(&options))
            .transpose()
    }

    fn options(&self) -> Options {
        Options {
            program: "ironbark",
            config_file: self.config.clone(),
            config_directory: self.config_directory.clone(),
            number: self.number,
            suffix: self.base.clone(),
            unglued: true,
            ..Options::default()
        }
    }
}
