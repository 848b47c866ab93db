//! The overlay's settings, ready for use.

use std::sync::Arc;

use ironbark_config::SettingError;
use ironbark_directory::{
    OperationError,
    overlay::{Entries, Execution},
    restricted,
};
use ironbark_ldap_proto::controls::{ControlKind, PasswordPolicyError, PasswordPolicyResponse};
use ironbark_model::{Dn, Entry, ResultCode, Schema};
use ironbark_runtime::WallTime;

use super::settings::PpolicyConfig;
use super::{names::Names, policy::Policy, quality::Quality, rules::Rules};

/// The overlay.
pub struct Ppolicy {
    pub(super) settings: PpolicyConfig,
    pub(super) schema: Arc<Schema>,
    pub(super) names: Names,
    pub(super) rules: Rules,
    pub(super) quality: Quality,
}

impl Ppolicy {
    /// Makes it from its settings.
    ///
    /// # Errors
    /// The schema lacks something, or the dictionary cannot be read.
    pub fn new(settings: &PpolicyConfig, schema: &Arc<Schema>) -> Result<Self, SettingError> {
        Ok(Self {
            names: Names::of(schema)?,
            rules: Rules::new(settings, schema)?,
            quality: Quality::new(settings, schema)?,
            settings: settings.clone(),
            schema: Arc::clone(schema),
        })
    }

    /// The policy that applies to an entry; `None`: nothing is enforced.
    pub(super) fn policy_for(&self, entries: Entries<'_>, entry: &Entry) -> Result<Option<Policy>, OperationError> {
        let named = entry.attribute(&self.names.policy_subentry);
        let name = match named.and_then(|held| held.values.first()) {
            Some(value) => Dn::parse(&self.schema, value).ok(),
            None => self.rules.choose(self, entries, entry)?,
        };
        let Some(name) = name else { return Ok(None) };
        let found = entries
            .find(&name)?
            .filter(|found| self.names.is_policy(&self.schema, found));
        Ok(found.and_then(|found| Policy::read(self, &found)))
    }
}

/// A refusal, with the control if the client asked for it.
pub(super) fn refuse(
    execution: &Execution<'_, '_>,
    code: ResultCode,
    text: impl Into<std::borrow::Cow<'static, str>>,
    error: Option<PasswordPolicyError>,
) -> OperationError {
    let refusal = OperationError::new(code, text);
    if !execution.origin.has_control(ControlKind::PasswordPolicy) {
        return refusal;
    }
    refusal.with_control(&PasswordPolicyResponse { warning: None, error })
}

/// The refusal of other operations while the password must be changed.
pub(super) fn refuse_restricted(execution: &Execution<'_, '_>) -> OperationError {
    restricted(execution.origin)
}

pub(super) fn seconds(time: WallTime) -> i64 {
    time.unix_micros().div_euclid(1_000_000)
}
