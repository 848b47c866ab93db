//! The settings of an overlay: a struct of the overlay's crate, behind a type that hides it.

use std::{any::Any, fmt::Debug};

use crate::{DatabaseConfig, SettingError};

/// The settings of an overlay, as its struct holds them.
pub trait OverlaySettings: Any + Clone + PartialEq + Debug + Send + Sync {
    /// The attributes that the overlay looks up by equality when an entry is written: each should have an index.
    fn looked_up(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether the overlay has an effect only in a database with entries. In a null database it gets a notice.
    fn needs_entries(&self) -> bool {
        true
    }

    /// Whether the overlay needs the log of changes and the context vector of its database.
    fn keeps_changes(&self) -> bool {
        false
    }

    /// Attributes that only the entry itself and the rootdn may read, unless an access rule names one of them, or a
    /// supertype. Subtypes count with them.
    fn secrets(&self) -> &'static [&'static str] {
        &[]
    }

    /// Makes the checks that need the whole database. Notices are full sentences, without the overlay's name.
    ///
    /// # Errors
    /// The database cannot have this overlay.
    fn check(&self, database: &DatabaseConfig, notices: &mut Vec<String>) -> Result<(), SettingError> {
        let _ = (database, notices);
        Ok(())
    }
}

/// For an overlay without settings.
impl OverlaySettings for () {}

/// Settings of a type that only their overlay knows.
#[derive(Debug)]
pub struct AnySettings(Box<dyn Erased>);

/// [`OverlaySettings`] without their type.
trait Erased: Any + Debug + Send + Sync {
    fn looked_up(&self) -> Vec<String>;
    fn needs_entries(&self) -> bool;
    fn keeps_changes(&self) -> bool;
    fn secrets(&self) -> &'static [&'static str];
    fn check(&self, database: &DatabaseConfig, notices: &mut Vec<String>) -> Result<(), SettingError>;
    fn clone_boxed(&self) -> Box<dyn Erased>;
    fn is_equal(&self, other: &dyn Any) -> bool;
}

impl<T: OverlaySettings> Erased for T {
    fn looked_up(&self) -> Vec<String> {
        OverlaySettings::looked_up(self)
    }

    fn needs_entries(&self) -> bool {
        OverlaySettings::needs_entries(self)
    }

    fn keeps_changes(&self) -> bool {
        OverlaySettings::keeps_changes(self)
    }

    fn secrets(&self) -> &'static [&'static str] {
        OverlaySettings::secrets(self)
    }

    fn check(&self, database: &DatabaseConfig, notices: &mut Vec<String>) -> Result<(), SettingError> {
        OverlaySettings::check(self, database, notices)
    }

    fn clone_boxed(&self) -> Box<dyn Erased> {
        Box::new(self.clone())
    }

    fn is_equal(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>() == Some(self)
    }
}

impl AnySettings {
    /// The defaults of a type.
    pub fn of<T: OverlaySettings + Default>() -> Self {
        Self(Box::new(T::default()))
    }

    pub(super) fn of_type<T: OverlaySettings>(&self) -> Option<&T> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    pub(super) fn of_type_mut<T: OverlaySettings>(&mut self) -> Option<&mut T> {
        let any: &mut dyn Any = &mut *self.0;
        any.downcast_mut()
    }

    pub(super) fn looked_up(&self) -> Vec<String> {
        self.0.looked_up()
    }

    pub(super) fn needs_entries(&self) -> bool {
        self.0.needs_entries()
    }

    pub(super) fn keeps_changes(&self) -> bool {
        self.0.keeps_changes()
    }

    pub(super) fn secrets(&self) -> &'static [&'static str] {
        self.0.secrets()
    }

    pub(super) fn check(&self, database: &DatabaseConfig, notices: &mut Vec<String>) -> Result<(), SettingError> {
        self.0.check(database, notices)
    }
}

impl Clone for AnySettings {
    fn clone(&self) -> Self {
        Self(self.0.clone_boxed())
    }
}

impl PartialEq for AnySettings {
    fn eq(&self, other: &Self) -> bool {
        let other: &dyn Any = &*other.0;
        self.0.is_equal(other)
    }
}
