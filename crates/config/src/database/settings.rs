//! The settings that only one type of database has, behind a type that hides which.

use std::{any::Any, fmt::Debug};

use ironbark_model::Schema;

use crate::{DatabaseConfig, SettingError, statement::Statement};

/// The settings of a database, as the struct of its type holds them.
pub trait DatabaseSettings: Any + Clone + PartialEq + Debug + Send + Sync {
    /// Checks what can only be said when the whole of the database has been read.
    ///
    /// # Errors
    /// The database cannot be served so.
    fn check(&self, database: &DatabaseConfig) -> Result<(), SettingError>;
}

/// How a statement changes the settings of a database.
pub type DatabaseSetter<T> = fn(&mut T, &Statement<'_>) -> Result<(), SettingError>;

/// How a value in the settings of a database is said, one string a value, without ordering prefixes.
pub type DatabaseGetter<T> = fn(&T, &Schema) -> Vec<String>;

/// Settings of which only their type of database knows more.
#[derive(Debug)]
pub(crate) struct KindSettings(Box<dyn Erased>);

/// [`DatabaseSettings`] as far as they have no type.
trait Erased: Any + Debug + Send + Sync {
    fn check(&self, database: &DatabaseConfig) -> Result<(), SettingError>;
    fn clone_boxed(&self) -> Box<dyn Erased>;
    fn is_equal(&self, other: &dyn Any) -> bool;
}

impl<T: DatabaseSettings> Erased for T {
    fn check(&self, database: &DatabaseConfig) -> Result<(), SettingError> {
        DatabaseSettings::check(self, database)
    }

    fn clone_boxed(&self) -> Box<dyn Erased> {
        Box::new(self.clone())
    }

    fn is_equal(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>() == Some(self)
    }
}

impl KindSettings {
    pub(crate) fn check(&self, database: &DatabaseConfig) -> Result<(), SettingError> {
        self.0.check(database)
    }
}

impl Clone for KindSettings {
    fn clone(&self) -> Self {
        Self(self.0.clone_boxed())
    }
}

impl PartialEq for KindSettings {
    fn eq(&self, other: &Self) -> bool {
        let other: &dyn Any = &*other.0;
        self.0.is_equal(other)
    }
}

impl DatabaseConfig {
    /// Gives it the settings of its type, with their defaults; for
    /// [`DatabaseDescriptor::begin`](super::DatabaseDescriptor).
    pub fn begin<T: DatabaseSettings + Default>(&mut self) {
        self.kind_settings = Some(KindSettings(Box::new(T::default())));
    }

    /// Whether what serves the one may go on to serve the other: same type, naming context and settings of the type.
    pub fn is_served_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.suffixes == other.suffixes && self.kind_settings == other.kind_settings
    }

    /// The settings of its type.
    ///
    /// # Errors
    /// It is of another type.
    pub fn settings<T: DatabaseSettings>(&self) -> Result<&T, SettingError> {
        let settings = self.kind_settings.as_ref().and_then(|settings| {
            let any: &dyn Any = &*settings.0;
            any.downcast_ref()
        });
        settings.ok_or_else(|| self.is_another())
    }

    /// The settings of its type, to be changed.
    ///
    /// # Errors
    /// As of [`DatabaseConfig::settings`].
    pub fn settings_mut<T: DatabaseSettings>(&mut self) -> Result<&mut T, SettingError> {
        let another = self.is_another();
        let settings = self.kind_settings.as_mut().and_then(|settings| {
            let any: &mut dyn Any = &mut *settings.0;
            any.downcast_mut()
        });
        settings.ok_or(another)
    }

    fn is_another(&self) -> SettingError {
        SettingError::Misplaced(format!("does not belong to a {} database", self.kind.name))
    }
}

/// A handler of a setting that only one type of database has: how a statement changes its settings, and
/// how their value is said, one string a value, without ordering prefixes.
///
/// `database_handler!(SockConfig, |settings, statement| ..., |settings, schema| ...)`; both may be names of functions.
#[macro_export]
macro_rules! database_handler {
    ($settings:ty, $set:expr, $get:expr $(,)?) => {
        $crate::Handler::Database {
            set: |config, statement| {
                let set: $crate::database::DatabaseSetter<$settings> = $set;
                set(config.settings_mut()?, statement)
            },
            get: |config, schema| {
                let get: $crate::database::DatabaseGetter<$settings> = $get;
                config
                    .settings()
                    .map_or_else(|_| Vec::new(), |settings| get(settings, schema))
            },
        }
    };
}

pub(crate) use database_handler;
