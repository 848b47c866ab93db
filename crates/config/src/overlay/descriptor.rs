//! The description of an overlay, and one `overlay` line with its settings.

use ironbark_model::schema::Source;

use super::settings::{AnySettings, OverlaySettings};
use crate::{SettingError, setting::Setting, statement::Kept};

/// Everything that configuration needs to know about an overlay. It stands beside the overlay's struct.
#[derive(Debug)]
pub struct OverlayDescriptor {
    /// The name in `overlay`.
    pub name: &'static str,
    /// Further names that `moduleload` may use, in the form of [`crate::parts::module_name`].
    pub modules: &'static [&'static str],
    /// How often a database may have it.
    pub occurrence: Occurrence,
    /// The object class of its entry in cn=config. `None`: it has no settings, and its entry is an olcOverlayConfig.
    pub class: Option<OverlayClass>,
    /// Its settings, in the order of the class: a converted configuration prints the attributes in this order, as slapd
    /// does.
    pub settings: &'static [Setting],
    /// OIDs of request controls that only it knows. Access rules and `restrictop` may name them whether a database has
    /// the overlay or not.
    pub controls: &'static [&'static str],
    /// The settings of an overlay without any statement.
    pub fresh: fn() -> AnySettings,
    /// Schema definitions in the form of a `.schema` file. They are always known; cn=Subschema shows them when the
    /// overlay, or the module of its name, is loaded. Those behind the line [`OverlayDescriptor::LATER`] may need
    /// definitions of the configuration, and are known if these are there.
    pub schema: &'static str,
    /// The text of the reference page before its settings, in full sentences; may be empty.
    pub introduction: &'static str,
}

impl OverlayDescriptor {
    /// Separates the definitions in [`Self::schema`].
    pub const LATER: &str = "# Behind the definitions of the configuration, if these have what is needed:\n";

    /// The definitions that need nothing else, and the others.
    pub(crate) fn definitions(&self) -> (&'static str, &'static str) {
        self.schema.split_once(Self::LATER).unwrap_or((self.schema, ""))
    }
}

/// How often a database may have an overlay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Occurrence {
    /// Once.
    Once,
    /// Any number of times.
    Many,
}

/// The object class of an overlay's entry in cn=config. Required and allowed attributes are those of its settings.
#[derive(Clone, Copy, Debug)]
pub struct OverlayClass {
    /// Names, the usual one first.
    pub names: &'static [&'static str],
    /// The part of the OID behind the arc of slapd's object classes of cn=config, for example `3.11.1`.
    pub oid: &'static str,
}

/// An overlay equals only itself.
impl PartialEq for OverlayDescriptor {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

/// One `overlay` line and its settings.
#[derive(Clone, PartialEq, Debug)]
pub struct OverlayConfig {
    /// The line.
    pub location: Source,
    descriptor: &'static OverlayDescriptor,
    settings: AnySettings,
    /// `olcDisabled`: a complete configuration has no such overlays.
    pub(crate) is_disabled: bool,
    /// Statements without meaning here.
    pub(crate) kept: Kept,
}

impl OverlayConfig {
    /// An overlay with its defaults.
    pub fn new(descriptor: &'static OverlayDescriptor, location: Source) -> Self {
        Self {
            location,
            descriptor,
            settings: (descriptor.fresh)(),
            is_disabled: false,
            kept: Kept::default(),
        }
    }

    /// Which overlay it is.
    pub fn descriptor(&self) -> &'static OverlayDescriptor {
        self.descriptor
    }

    /// The name in `overlay`.
    pub fn name(&self) -> &'static str {
        self.descriptor.name
    }

    /// Whether another line has the same overlay with the same settings.
    pub fn is_like(&self, other: &Self) -> bool {
        self.descriptor == other.descriptor && self.settings == other.settings
    }

    /// Its settings.
    ///
    /// # Errors
    /// It is another overlay; the settings of that one have another type.
    pub fn settings<T: OverlaySettings>(&self) -> Result<&T, SettingError> {
        let settings = self.settings.of_type();
        settings.ok_or_else(|| self.is_another())
    }

    /// Its settings, to be changed.
    ///
    /// # Errors
    /// As of [`OverlayConfig::settings`].
    pub fn settings_mut<T: OverlaySettings>(&mut self) -> Result<&mut T, SettingError> {
        let another = self.is_another();
        self.settings.of_type_mut().ok_or(another)
    }

    /// Whether it needs the log of changes and the context vector of its database.
    pub(crate) fn keeps_changes(&self) -> bool {
        self.settings.keeps_changes()
    }

    /// Attributes that are kept from everybody but the entry itself and the rootdn: [`OverlaySettings::secrets`].
    ///
    /// [`OverlaySettings::secrets`]: super::OverlaySettings::secrets
    pub fn secrets(&self) -> &'static [&'static str] {
        if self.is_disabled { &[] } else { self.settings.secrets() }
    }

    /// Its settings, whatever their type.
    pub(crate) fn any_settings(&self) -> &AnySettings {
        &self.settings
    }

    fn is_another(&self) -> SettingError {
        SettingError::Misplaced(format!("belongs to another overlay than {}", self.name()))
    }
}
