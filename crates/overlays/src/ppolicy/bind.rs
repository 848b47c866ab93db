//! Binds: locks, failures, expiry, and the information for the client.

use ironbark_directory::{
    Modification, ModificationKind, OperationError, ResponseControl,
    overlay::{BindAttempt, Execution},
    password,
    stamp::generalized_time,
};
use ironbark_ldap_proto::controls::{
    ControlKind, PasswordExpired, PasswordExpiring, PasswordPolicyError, PasswordPolicyResponse, PasswordPolicyWarning,
};
use ironbark_model::{AttributeDescription, Entry, ResultCode};

use super::{
    locked::{Lock, known_time, lock},
    names::is_true,
    policy::Policy,
    state::{Ppolicy, seconds},
};

/// The state of the password, as the client is told.
#[derive(Default)]
struct Findings {
    warning: Option<PasswordPolicyWarning>,
    error: Option<PasswordPolicyError>,
    has_expired: bool,
}

/// A bind under a policy.
struct Judge<'a, 'w, 'd> {
    overlay: &'a Ppolicy,
    execution: &'a Execution<'w, 'd>,
    policy: &'a Policy,
    entry: &'a Entry,
    now_micros: i64,
    now: i64,
    modifications: Vec<Modification>,
    findings: Findings,
}

/// Judges a bind: changes its result, and sets the changes to record and the information for the client.
pub(super) fn judge(
    overlay: &Ppolicy,
    execution: &Execution<'_, '_>,
    attempt: &mut BindAttempt<'_>,
) -> Result<(), OperationError> {
    let entry = attempt.entry;
    if execution.context.is_root(&entry.dn) {
        return Ok(());
    }
    let policy = overlay.policy_for(execution.entries(), entry)?;
    let now = execution.directory.clock().now();
    let mut findings = Findings::default();
    if let Some(policy) = &policy {
        let mut judge = Judge {
            overlay,
            execution,
            policy,
            entry,
            now_micros: now.unix_micros(),
            now: seconds(now),
            modifications: Vec::new(),
            findings,
        };
        judge.run(attempt);
        let Judge {
            modifications,
            findings: found,
            ..
        } = judge;
        findings = found;
        if !overlay.settings.disable_write {
            attempt.modifications.extend(modifications);
        }
    }
    tell(overlay, execution, attempt, &findings);
    Ok(())
}

/// Adds the controls of the response.
fn tell(overlay: &Ppolicy, execution: &Execution<'_, '_>, attempt: &mut BindAttempt<'_>, findings: &Findings) {
    if execution.origin.has_control(ControlKind::PasswordPolicy) {
        let is_told =
            |error: &PasswordPolicyError| *error != PasswordPolicyError::AccountLocked || overlay.settings.use_lockout;
        attempt.controls.push(ResponseControl::new(&PasswordPolicyResponse {
            warning: findings.warning,
            error: findings.error.filter(is_told),
        }));
    } else if overlay.settings.send_netscape_controls {
        if findings.error.is_some() || findings.has_expired {
            attempt.controls.push(ResponseControl::new(&PasswordExpired));
        } else if let Some(PasswordPolicyWarning::TimeBeforeExpiration(left)) = findings.warning
            && left > 0
        {
            attempt.controls.push(ResponseControl::new(&PasswordExpiring(left)));
        }
    }
}

impl Judge<'_, '_, '_> {
    fn run(&mut self, attempt: &mut BindAttempt<'_>) {
        let (names, entry) = (&self.overlay.names, self.entry);
        let is_idle_kept = self.execution.context.settings.last_bind;
        match lock(names, entry, self.policy, self.now, is_idle_kept) {
            Lock::Open => {}
            Lock::Over => self.change(ModificationKind::Delete, &names.locked_time, Vec::new()),
            Lock::Locked => {
                self.findings.error = Some(PasswordPolicyError::AccountLocked);
                attempt.verdict = Err(OperationError::code(ResultCode::INVALID_CREDENTIALS));
                return;
            }
        }
        if entry.attribute(&names.password).is_none() {
            return;
        }
        let is_wrong = |refusal: &OperationError| refusal.result_code == ResultCode::INVALID_CREDENTIALS;
        if attempt.verdict.is_ok() {
            self.succeeded(attempt);
        } else if attempt.verdict.as_ref().err().is_some_and(is_wrong) && self.policy.max_recorded_failure > 0 {
            self.failed();
        }
    }

    /// Records a wrong password, which may lock the account.
    fn failed(&mut self) {
        let (names, policy) = (&self.overlay.names, self.policy);
        let recorded = self.entry.attribute(&names.failure_time);
        let recorded = recorded.map_or(&[][..], |held| &held.values);
        let is_recent = |value: &&Vec<u8>| {
            let then = generalized_time::seconds(value).unwrap_or(-1);
            policy.failure_count_interval == 0 || self.now <= then.saturating_add(policy.failure_count_interval)
        };
        // The number of recent failures before this one.
        let count = recorded.iter().filter(is_recent).count();
        let excess = (recorded.len() + 1).saturating_sub(policy.max_recorded_failure);
        if excess > 0 {
            let oldest: Vec<_> = recorded.iter().take(excess).cloned().collect();
            self.change(ModificationKind::Delete, &names.failure_time, oldest);
        }
        let time = self.unused(recorded);
        self.change(ModificationKind::Add, &names.failure_time, vec![time]);
        if policy.max_failure > 0 && count + 1 >= policy.max_failure {
            let now = generalized_time::text(self.now).into_bytes();
            self.change(ModificationKind::Replace, &names.locked_time, vec![now]);
        } else if policy.min_delay > 0 {
            let doublings = u32::try_from(count).unwrap_or(u32::MAX).min(31);
            let wait = policy.min_delay.saturating_mul(1 << doublings).min(policy.max_delay);
            let end = generalized_time::text(self.now.saturating_add(wait)).into_bytes();
            self.change(ModificationKind::Replace, &names.lockout_end, vec![end]);
        }
    }

    /// The time with microseconds, or the next time that is not among the values: so each use is counted, even if many
    /// come at once.
    fn unused(&self, values: &[Vec<u8>]) -> Vec<u8> {
        let mut micros = self.now_micros;
        loop {
            let text = generalized_time::text_with_micros(micros).into_bytes();
            if !values.contains(&text) {
                return text;
            }
            micros += 1;
        }
    }

    /// The password is right, but it may have to be changed, or may have expired.
    fn succeeded(&mut self, attempt: &mut BindAttempt<'_>) {
        let (names, policy, entry) = (&self.overlay.names, self.policy, self.entry);
        if entry.attribute(&names.failure_time).is_some() {
            self.change(ModificationKind::Delete, &names.failure_time, Vec::new());
        }
        let changed = known_time(entry, &names.changed_time);
        let age = changed.map(|changed| self.now - changed);
        if policy.must_change && is_true(entry, &names.reset) {
            attempt.must_change_password = true;
            self.findings.error = Some(PasswordPolicyError::ChangeAfterReset);
        } else {
            self.rehash(attempt);
            if policy.max_age > 0 && age.is_some_and(|age| age > policy.max_age) {
                self.findings.has_expired = true;
                return self.use_grace(attempt, age.unwrap_or_default());
            }
        }
        if let Some(age) = age
            && policy.max_age > 0
            && policy.max_age - age < policy.expire_warning
        {
            let left = (policy.max_age - age).max(0);
            self.findings.warning = Some(PasswordPolicyWarning::TimeBeforeExpiration(left));
        }
    }

    /// An expired password may be used a few more times.
    fn use_grace(&mut self, attempt: &mut BindAttempt<'_>, age: i64) {
        let (names, policy) = (&self.overlay.names, self.policy);
        let used = self.entry.attribute(&names.grace_use_time);
        let used = used.map_or(&[][..], |held| &held.values);
        let is_over = policy.grace_expiry > 0 && age > policy.max_age.saturating_add(policy.grace_expiry);
        let left = if is_over {
            0
        } else {
            policy.grace_limit - i64::try_from(used.len()).unwrap_or(i64::MAX)
        };
        if left < 1 {
            self.findings.error = Some(PasswordPolicyError::PasswordExpired);
            attempt.verdict = Err(OperationError::code(ResultCode::INVALID_CREDENTIALS));
            return;
        }
        self.findings.warning = Some(PasswordPolicyWarning::GraceAuthenticationsRemaining(left - 1));
        let time = self.unused(used);
        self.change(ModificationKind::Add, &names.grace_use_time, vec![time]);
    }

    /// Stores the password with another scheme, if the policy says so. It remains the same password: its age and its
    /// history do not change.
    fn rehash(&mut self, attempt: &BindAttempt<'_>) {
        let names = &self.overlay.names;
        let (Some(clear), Some(scheme)) = (attempt.password, self.policy.default_hash) else {
            return;
        };
        let stored = self
            .entry
            .attribute(&names.password)
            .and_then(|held| held.values.first());
        let Some(stored) = stored.filter(|stored| password::split(stored).0 != Some(scheme)) else {
            return;
        };
        if !self.policy.rehash_on_bind || !self.execution.verify_password(stored, clear) {
            return;
        }
        match self.execution.hash_password(Some(scheme), clear) {
            Ok(hashed) => {
                self.change(ModificationKind::Delete, &names.password, vec![stored.clone()]);
                self.change(ModificationKind::Add, &names.password, vec![hashed]);
            }
            Err(_) if self.execution.is_in_vain() => {}
            Err(error) => {
                let (name, text) = (self.entry.dn.pretty(), error.diagnostic_message);
                tracing::error!(target: "any", "overlay ppolicy: hashing the password of \"{name}\" again: {text}");
            }
        }
    }

    fn change(&mut self, kind: ModificationKind, name: &AttributeDescription, values: Vec<Vec<u8>>) {
        let schema = self.execution.schema();
        self.modifications
            .push(Modification::internal(schema, kind, name, values));
    }
}
