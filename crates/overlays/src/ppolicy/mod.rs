//! slapo-ppolicy(5): draft-behera-ldap-password-policy-10 as slapd has it.
//!
//! Binds are judged, and what comes of them recorded, in the transaction of the database's one writer, so that failures are counted
//! exactly. Time is the directory's clock.

mod bind;
mod change;
mod history;
mod locked;
mod names;
mod policy;
mod quality;
mod rules;
mod usability;

use std::sync::Arc;

use ironbark_config::overlay::PpolicyConfig;
use ironbark_directory::{
    OperationError,
    operation::{Execution, Modification, bind_policy},
    overlay::{BindAttempt, Entries, Hooks, Overlay},
};
use ironbark_ldap_proto::controls::{AccountUsability, ControlKind, PasswordPolicyError, PasswordPolicyResponse};
use ironbark_model::{Dn, Entry, ResultCode, Schema};
use ironbark_runtime::WallTime;

use self::{names::Names, policy::Policy, quality::Quality, rules::Rules};

/// The overlay.
pub struct Ppolicy {
    settings: PpolicyConfig,
    schema: Arc<Schema>,
    names: Names,
    rules: Rules,
    quality: Quality,
}

impl Ppolicy {
    /// From its settings.
    ///
    /// # Errors
    /// The schema lacks something, or the dictionary cannot be read.
    pub fn new(settings: &PpolicyConfig, schema: &Arc<Schema>) -> Result<Self, String> {
        Ok(Self {
            names: Names::of(schema)?,
            rules: Rules::new(settings, schema)?,
            quality: Quality::new(settings, schema)?,
            settings: settings.clone(),
            schema: Arc::clone(schema),
        })
    }

    /// The policy that holds for an entry; `None`: nothing is enforced.
    fn policy_for(&self, entries: Entries<'_>, entry: &Entry) -> Result<Option<Policy>, OperationError> {
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

impl Overlay for Ppolicy {
    fn name(&self) -> &'static str {
        "ppolicy"
    }

    fn hooks(&self) -> Hooks {
        Hooks {
            before_content: true,
            judges_binds: true,
            ..Hooks::default()
        }
    }

    fn judge_bind(
        &self,
        execution: &mut Execution<'_, '_>,
        attempt: &mut BindAttempt<'_>,
    ) -> Result<(), OperationError> {
        bind::judge(self, execution, attempt)
    }

    fn before_add(&self, execution: &mut Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
        change::add(self, execution, entry)
    }

    fn before_modify(
        &self,
        execution: &mut Execution<'_, '_>,
        dn: &Dn,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        change::modify(self, execution, dn, modifications)
    }

    fn stored_passwords(&self, entry: &Entry) -> Vec<Vec<u8>> {
        let values = |name| entry.attribute(name).map_or(&[][..], |held| &held.values);
        let stored = values(&self.names.password).iter().cloned();
        stored.chain(history::passwords(values(&self.names.history))).collect()
    }

    fn policy_of(&self, entries: Entries<'_>, entry: &Entry) -> Result<Option<Dn>, OperationError> {
        self.rules.choose(self, entries, entry)
    }

    fn usability(
        &self,
        entries: Entries<'_>,
        entry: &Entry,
        now: WallTime,
    ) -> Result<Option<AccountUsability>, OperationError> {
        usability::of(self, entries, entry, seconds(now))
    }
}

/// A refusal, with the control if the client has asked for it.
fn refuse(
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

/// The refusal of what is no change of the password while that must be changed.
fn refuse_restricted(execution: &Execution<'_, '_>) -> OperationError {
    bind_policy::restricted(execution.origin)
}

fn seconds(time: WallTime) -> i64 {
    time.unix_micros().div_euclid(1_000_000)
}
