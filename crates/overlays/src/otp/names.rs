//! The attributes and classes that the overlay works with, resolved once.

use ironbark_config::SettingError;
use ironbark_model::{AttributeDescription, Schema, schema::ClassNumber};

/// One kind of one-time password.
pub(super) struct KindNames {
    /// In the entry of a user: its token.
    pub(super) token: AttributeDescription,
    /// The class of tokens.
    pub(super) token_class: ClassNumber,
    /// In a token: its parameters.
    pub(super) params: AttributeDescription,
    /// The class of parameters.
    pub(super) params_class: ClassNumber,
    /// In a token: the last counter or time step that was used.
    pub(super) last: AttributeDescription,
}

/// All of them.
pub(super) struct Names {
    pub(super) user_class: ClassNumber,
    pub(super) hotp: KindNames,
    pub(super) totp: KindNames,
    pub(super) secret: AttributeDescription,
    pub(super) length: AttributeDescription,
    pub(super) algorithm: AttributeDescription,
    pub(super) look_ahead: AttributeDescription,
    pub(super) period: AttributeDescription,
    pub(super) window: AttributeDescription,
    pub(super) drift: AttributeDescription,
}

impl Names {
    /// Resolves them.
    ///
    /// # Errors
    /// The schema lacks one.
    pub(super) fn of(schema: &Schema) -> Result<Self, SettingError> {
        let attribute = |name: &str| {
            let found = schema.attribute_description(name.as_bytes());
            found.map_err(|error| format!("{name}: {error}"))
        };
        let class = |name: &str| {
            let found = schema.find_object_class(name.as_bytes());
            found
                .map(|class| class.number)
                .ok_or_else(|| format!("there is no class {name}"))
        };
        let kind = |token: &str, params: &str, last: &str| {
            Ok::<_, SettingError>(KindNames {
                token: attribute(token)?,
                token_class: class(token)?,
                params: attribute(params)?,
                params_class: class(params)?,
                last: attribute(last)?,
            })
        };
        Ok(Self {
            user_class: class("oathUser")?,
            hotp: kind("oathHOTPToken", "oathHOTPParams", "oathHOTPCounter")?,
            totp: kind("oathTOTPToken", "oathTOTPParams", "oathTOTPLastTimeStep")?,
            secret: attribute("oathSecret")?,
            length: attribute("oathOTPLength")?,
            algorithm: attribute("oathHMACAlgorithm")?,
            look_ahead: attribute("oathHOTPLookAhead")?,
            period: attribute("oathTOTPTimeStepPeriod")?,
            window: attribute("oathTOTPTimeStepWindow")?,
            drift: attribute("oathTOTPTimeStepDrift")?,
        })
    }
}
