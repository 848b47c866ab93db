//! Restrictions of databases that are in force in addition to the configuration, until the configuration changes them.

use std::path::PathBuf;

use ironbark_config::{DatabaseConfig, LoadedConfiguration, Operations, Restrict, database::DatabaseDescriptor};
use ironbark_model::Dn;

/// Kind, directory, and suffixes: databases of some kinds have no directory, or the default one.
type WhichDatabase = (&'static DatabaseDescriptor, PathBuf, Vec<Dn>);

/// The restrictions of one database, which override the configuration.
#[derive(Clone)]
pub(super) struct Restricted {
    database: WhichDatabase,
    /// `readonly` and `restrict` of the configuration when this was put into force. The restriction ends when they
    /// change.
    configured: (bool, Restrict),
    refused: Restrict,
}

impl Restricted {
    /// For the database with this number; `None`: there is none.
    pub(super) fn new(read: &LoadedConfiguration, number: i32, refused: Restrict) -> Option<Self> {
        let settings = match number {
            0 => &read.config,
            _ => read.databases.get(usize::try_from(number).ok()?.checked_sub(1)?)?,
        };
        Some(Self {
            database: identity(settings),
            configured: configured(settings),
            refused,
        })
    }

    /// Whether both belong to one database.
    pub(super) fn is_of_same(&self, other: &Self) -> bool {
        self.database == other.database
    }

    /// Overrides the configuration; `false` if the configuration has changed.
    pub(super) fn apply(&self, read: &mut LoadedConfiguration) -> bool {
        let mut databases = read.databases.iter_mut().chain([&mut read.config]);
        let Some(settings) = databases.find(|settings| identity(settings) == self.database) else {
            return false;
        };
        if configured(settings) != self.configured {
            return false;
        }
        settings.read_only = self.refused.operations.contains(Operations::WRITE);
        settings.restrict = self.refused.clone();
        true
    }
}

fn identity(settings: &DatabaseConfig) -> WhichDatabase {
    (settings.kind, settings.directory.clone(), settings.suffixes.clone())
}

fn configured(settings: &DatabaseConfig) -> (bool, Restrict) {
    (settings.read_only, settings.restrict.clone())
}
