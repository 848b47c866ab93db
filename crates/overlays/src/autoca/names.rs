//! Attributes and classes of the overlay.

use ironbark_config::SettingError;
use ironbark_model::{AttributeDescription, Schema, schema::ClassNumber};

use super::settings::AutocaConfig;

pub(super) struct Names {
    pub(super) authority: Pair,
    pub(super) holder: Pair,
    pub(super) object_class: AttributeDescription,
    /// `None`: the schema does not have it.
    pub(super) mail: Option<AttributeDescription>,
    pub(super) address: Option<AttributeDescription>,
    pub(super) user: ClassNumber,
    /// `None`: there are no servers.
    pub(super) server: Option<ClassNumber>,
}

/// A certificate and its key, and the class of entries that have them.
pub(super) struct Pair {
    pub(super) certificate: AttributeDescription,
    pub(super) key: AttributeDescription,
    pub(super) class: ClassNumber,
    pub(super) class_name: &'static str,
}

impl Names {
    /// # Errors
    /// The schema lacks something.
    pub(super) fn of(settings: &AutocaConfig, schema: &Schema) -> Result<Self, SettingError> {
        let attribute = |name: &str| {
            let description = schema.attribute_description(name.as_bytes());
            description.map_err(|error| SettingError::from(format!("autoca: {name}: {error}")))
        };
        let class = |name: &str| {
            let class = schema.find_object_class(name.as_bytes());
            let class =
                class.ok_or_else(|| format!("autoca needs the schema core: unknown object class \"{name}\""))?;
            Ok::<_, SettingError>(class.number)
        };
        let server = match &settings.server_class {
            Some(name) => Some(class(name)?),
            None => class("ipHost").ok(),
        };
        Ok(Self {
            authority: Pair {
                certificate: attribute("cACertificate;binary")?,
                key: attribute("cAPrivateKey;binary")?,
                class: class("autoCA")?,
                class_name: "autoCA",
            },
            holder: Pair {
                certificate: attribute("userCertificate;binary")?,
                key: attribute("userPrivateKey;binary")?,
                class: class("autoCAuser")?,
                class_name: "autoCAuser",
            },
            object_class: attribute("objectClass")?,
            mail: attribute("mail").ok(),
            address: attribute("ipHostNumber").ok(),
            user: class(&settings.user_class)?,
            server,
        })
    }
}
