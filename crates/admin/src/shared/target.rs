//! The database that a subcommand works on.

use clap::Args;

use ironbark_advisor::WrittenConfiguration;
use ironbark_server::Loaded;

use super::{
    chosen::{Chosen, read_configuration},
    config_database,
    config_options::ConfigOptions,
    options::Options,
    written::written,
};

/// A database of a configuration.
#[derive(Clone, Debug, Args)]
pub(crate) struct Target {
    #[command(flatten)]
    config: ConfigOptions,
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
        self.config.is_given() || self.number.is_some() || self.base.is_some()
    }

    /// The configuration as it is written.
    ///
    /// # Errors
    /// The message for the user.
    pub(crate) fn written(&self) -> Result<WrittenConfiguration, String> {
        let config = self.config.or_new();
        written(config.config.as_deref(), config.config_directory.as_deref())
    }

    /// The database, without those glued to it.
    ///
    /// # Errors
    /// An empty message: the error has been printed.
    pub(crate) fn choose(&self) -> Result<Chosen, String> {
        Chosen::new(&self.options(self.config.or_new_aloud())).map_err(|()| String::new())
    }

    /// The configuration itself, if cn=config is chosen.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn configuration(&self) -> Result<Option<Loaded>, String> {
        let options = self.options(self.config.or_new());
        config_database::is_chosen(&options)
            .then(|| read_configuration(&options))
            .transpose()
    }

    fn options(&self, config: ConfigOptions) -> Options {
        Options {
            program: "ironbark",
            config_file: config.config,
            config_directory: config.config_directory,
            number: self.number,
            suffix: self.base.clone(),
            unglued: true,
            ..Options::default()
        }
    }
}
