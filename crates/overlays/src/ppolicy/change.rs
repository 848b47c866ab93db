//! Changes of passwords: who may make them, when, and the state that they leave behind.

use ironbark_directory::{
    Authority, Modification, ModificationKind, OperationError,
    overlay::{Execution, Passwords},
    password,
    stamp::generalized_time,
};
use ironbark_ldap_proto::controls::PasswordPolicyError;
use ironbark_model::{Attribute, AttributeDescription, Dn, Entry, ResultCode, schema::Usage};
use ironbark_store::Location;

use super::{
    history::{self, History},
    locked::known_time,
    names::{first, is_true},
    policy::Policy,
    state::{Ppolicy, refuse, refuse_restricted, seconds},
};

const ONE_VALUE: &str = "Password policy only allows one password value";
const LOW_QUALITY: &str = "Password fails quality checking policy";

/// A new entry with a password.
pub(super) fn add(overlay: &Ppolicy, execution: &Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
    let names = &overlay.names;
    let Some(held) = entry.attribute(&names.password) else {
        return Ok(());
    };
    let [presented] = &held.values[..] else {
        return Err(OperationError::new(ResultCode::CONSTRAINT_VIOLATION, ONE_VALUE));
    };
    let policy = overlay.policy_for(execution.entries(), entry)?.unwrap_or_else(nothing);
    if policy.check_quality > 0 && !execution.may_manage_attribute(entry, &names.password) {
        check_quality(overlay, execution, &policy, presented, entry)?;
    }
    if overlay.settings.hash_cleartext && password::split(presented).0.is_none() {
        let hashed = execution.hash_password(policy.default_hash, presented)?;
        entry.set_values(&names.password, vec![hashed]);
    }
    if (policy.max_age > 0 || policy.min_age > 0) && entry.attribute(&names.changed_time).is_none() {
        let now = generalized_time::text(seconds(execution.directory.clock().now()));
        entry.attributes.push(Attribute {
            description: names.changed_time.clone(),
            values: vec![now.into_bytes()],
        });
    }
    Ok(())
}

/// The policy where none applies.
fn nothing() -> Policy {
    Policy {
        allow_user_change: true,
        ..Policy::default()
    }
}

fn check_quality(
    overlay: &Ppolicy,
    execution: &Execution<'_, '_>,
    policy: &Policy,
    presented: &[u8],
    entry: &Entry,
) -> Result<(), OperationError> {
    overlay
        .quality
        .check(&overlay.schema, policy, presented, entry)
        .map_err(|(error, text)| {
            let text = if text.is_empty() { LOW_QUALITY.into() } else { text };
            refuse(execution, ResultCode::CONSTRAINT_VIOLATION, text, Some(error))
        })
}

/// The parts of a modify request that matter to the policy.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a thing of its own that a request does"
)]
struct Request {
    /// The kind of the last change of the password.
    last_kind: Option<ModificationKind>,
    /// The position of the change that adds a password.
    added: Option<usize>,
    /// The position of the change that deletes a password value.
    deleted: Option<usize>,
    /// Whether the deletion comes before the addition.
    is_delete_and_add: bool,
    /// Whether other user attributes change.
    changes_others: bool,
    sets_reset: bool,
    sets_changed_time: bool,
    sets_history: bool,
    unlocks: bool,
}

impl Request {
    fn read(
        overlay: &Ppolicy,
        execution: &Execution<'_, '_>,
        modifications: &[Modification],
    ) -> Result<Self, OperationError> {
        let (names, schema) = (&overlay.names, execution.schema());
        let mut request = Self::default();
        for (place, change) in modifications.iter().enumerate() {
            let (name, kind) = (&change.description, change.kind);
            let is_delete = kind == ModificationKind::Delete;
            if *name == names.password {
                request.last_kind = Some(kind);
                if is_delete && !change.values.is_empty() {
                    request.deleted = request.deleted.or(Some(place));
                } else if !is_delete && !change.values.is_empty() {
                    request.is_delete_and_add |= request.deleted.is_some();
                    if change.values.len() > 1 || request.added.replace(place).is_some() {
                        let code = ResultCode::CONSTRAINT_VIOLATION;
                        return Err(refuse(execution, code, ONE_VALUE, None));
                    }
                }
            } else if change.authority != Authority::Server
                && schema.attribute_type(name.attribute_type).usage == Usage::UserApplications
            {
                request.changes_others = true;
            }
            request.sets_reset |= *name == names.reset && !is_delete;
            request.sets_changed_time |= *name == names.changed_time;
            request.sets_history |= *name == names.history;
            request.unlocks |= *name == names.locked_time && is_delete;
        }
        Ok(request)
    }

    /// Whether the request deletes this attribute itself.
    fn deletes(modifications: &[Modification], name: &AttributeDescription) -> bool {
        let mut changes = modifications.iter();
        changes.any(|change| change.description == *name && change.kind == ModificationKind::Delete)
    }
}

/// A change of an entry.
struct Change<'a, 'w, 'd> {
    overlay: &'a Ppolicy,
    execution: &'a Execution<'w, 'd>,
    policy: Policy,
    entry: Entry,
    request: Request,
    passwords: Option<Passwords>,
    is_manager: bool,
    now: i64,
}

/// Judges a modify request, or a password modify operation, and adds the state to be recorded.
pub(super) fn modify(
    overlay: &Ppolicy,
    execution: &mut Execution<'_, '_>,
    dn: &Dn,
    modifications: &mut Vec<Modification>,
) -> Result<(), OperationError> {
    let Location::Entry(id) = execution.view().locate(dn)? else {
        return Ok(());
    };
    if overlay.settings.disable_write {
        return Ok(());
    }
    let request = Request::read(overlay, execution, modifications)?;
    let origin = &execution.origin;
    if origin.is_restricted() && (request.changes_others || !origin.is_restricted_to(dn)) {
        return Err(refuse_restricted(execution));
    }
    if request.last_kind.is_none() && !request.unlocks {
        // Reading a big group would cost more than changing it.
        return Ok(());
    }
    let entry = execution.entry(id)?;
    let policy = overlay.policy_for(execution.entries(), &entry)?;
    let has_policy = policy.is_some();
    let change = Change {
        is_manager: execution.may_manage_attribute(&entry, &overlay.names.password),
        passwords: execution.passwords.clone(),
        now: seconds(execution.directory.clock().now()),
        policy: policy.unwrap_or_else(nothing),
        overlay,
        execution,
        entry,
        request,
    };
    let mut is_remembered = change.request.last_kind.is_some();
    if is_remembered && has_policy && !change.is_manager {
        change.check_user()?;
        if change.request.added.is_some() {
            change.check(modifications)?;
        } else {
            is_remembered = false;
        }
    }
    if !is_remembered {
        change.forget_failures_of_unlocked(modifications);
        return Ok(());
    }
    change.remember(modifications)?;
    let (account, origin) = (&change.entry.dn, &execution.origin);
    // The account must have changed it itself: another identity (RFC 4370) may be bound by no policy.
    let is_own = *account == origin.identity.dn && origin.is_restricted_to(account);
    execution.lifts_restriction |= is_own;
    Ok(())
}

impl Change<'_, '_, '_> {
    fn refuse(&self, code: ResultCode, text: &'static str, error: PasswordPolicyError) -> OperationError {
        refuse(self.execution, code, text, Some(error))
    }

    /// `pwdAllowUserChange` restricts only the user.
    fn check_user(&self) -> Result<(), OperationError> {
        if self.policy.allow_user_change || self.entry.dn != self.execution.origin.identity.dn {
            return Ok(());
        }
        Err(self.refuse(
            ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "User alteration of password is not allowed",
            PasswordPolicyError::PasswordModNotAllowed,
        ))
    }

    /// Checks a new password, unless a manager sets it.
    fn check(&self, modifications: &mut [Modification]) -> Result<(), OperationError> {
        let mut deleted = self.request.deleted;
        let old = self.passwords.as_ref().and_then(|passwords| passwords.old.as_ref());
        // A password modify operation with the old password has verified it already.
        let is_old_verified = old.is_some();
        if self.policy.safe_modify && !is_old_verified && !self.request.is_delete_and_add {
            return Err(self.refuse(
                ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
                "Must supply old password to be changed as well as new one",
                PasswordPolicyError::MustSupplyOldPassword,
            ));
        }
        self.check_age()?;
        let stored = first(&self.entry, &self.overlay.names.password);
        if is_old_verified {
            deleted = None;
        }
        if let (Some(place), Some(stored)) = (deleted, stored) {
            self.match_deleted(modifications, place, stored)?;
        }
        let presented = match (&self.passwords, self.request.added) {
            (Some(passwords), _) => passwords.new.clone(),
            (None, Some(place)) => modifications
                .get(place)
                .and_then(|change| change.values.first())
                .cloned()
                .unwrap_or_default(),
            (None, None) => return Ok(()),
        };
        if self.policy.check_quality > 0 {
            check_quality(self.overlay, self.execution, &self.policy, &presented, &self.entry)?;
        }
        self.check_reuse(stored, &presented)
    }

    /// Checks `pwdMinAge`, except for a password that must be changed.
    fn check_age(&self) -> Result<(), OperationError> {
        let names = &self.overlay.names;
        if self.policy.min_age == 0 || is_true(&self.entry, &names.reset) {
            return Ok(());
        }
        match known_time(&self.entry, &names.changed_time) {
            Some(changed) if self.now - changed < self.policy.min_age => Err(self.refuse(
                ResultCode::CONSTRAINT_VIOLATION,
                "Password is too young to change",
                PasswordPolicyError::PasswordTooYoung,
            )),
            _ => Ok(()),
        }
    }

    /// A request that deletes the old password names it in the clear: replaces it by the stored value.
    fn match_deleted(
        &self,
        modifications: &mut [Modification],
        place: usize,
        stored: &[u8],
    ) -> Result<(), OperationError> {
        let Some(deletion) = modifications.get_mut(place) else {
            return Ok(());
        };
        let presented = deletion.values.first().map_or(&[][..], Vec::as_slice);
        if !self.execution.verify_password(stored, presented) {
            return Err(self.refuse(
                ResultCode::UNWILLING_TO_PERFORM,
                "Must supply correct old password to change to new one",
                PasswordPolicyError::MustSupplyOldPassword,
            ));
        }
        let authority = deletion.authority;
        *deletion = Modification {
            authority,
            ..self.internal(
                ModificationKind::Delete,
                &self.overlay.names.password,
                vec![stored.to_vec()],
            )
        };
        Ok(())
    }

    fn check_reuse(&self, stored: Option<&[u8]>, presented: &[u8]) -> Result<(), OperationError> {
        let Some(stored) = stored.filter(|_| self.policy.in_history > 0) else {
            return Ok(());
        };
        let reused = |text| {
            self.refuse(
                ResultCode::CONSTRAINT_VIOLATION,
                text,
                PasswordPolicyError::PasswordInHistory,
            )
        };
        let verify = |stored: &[u8]| self.execution.verify_password(stored, presented);
        if verify(stored) {
            return Err(reused("Password is not being changed from existing value"));
        }
        if self.history().last(self.policy.in_history).any(verify) {
            return Err(reused("Password is in history of old passwords"));
        }
        Ok(())
    }

    fn history(&self) -> History<'_> {
        let held = self.entry.attribute(&self.overlay.names.history);
        History::of(held.map_or(&[][..], |held| &held.values))
    }

    /// Adds the other changes that come with the password's change.
    fn remember(&self, modifications: &mut Vec<Modification>) -> Result<(), OperationError> {
        let (names, request) = (&self.overlay.names, &self.request);
        if !request.sets_changed_time {
            if request.last_kind == Some(ModificationKind::Delete) {
                self.remove(modifications, &names.changed_time);
            } else {
                let now = generalized_time::text(self.now).into_bytes();
                modifications.push(self.internal(ModificationKind::Replace, &names.changed_time, vec![now]));
            }
        }
        for name in [&names.grace_use_time, &names.locked_time, &names.failure_time] {
            if !Request::deletes(modifications, name) {
                self.remove(modifications, name);
            }
        }
        if !request.sets_reset {
            if self.policy.must_change && self.is_manager {
                let values = vec![b"TRUE".to_vec()];
                modifications.push(self.internal(ModificationKind::Replace, &names.reset, values));
            } else {
                self.remove(modifications, &names.reset);
            }
        }
        if !Request::deletes(modifications, &names.last_success) {
            self.remove(modifications, &names.last_success);
        }
        if !request.sets_history {
            self.remember_former(modifications);
        }
        self.hash(modifications)
    }

    /// Adds the stored password to the history and removes the oldest one.
    fn remember_former(&self, modifications: &mut Vec<Modification>) {
        let names = &self.overlay.names;
        if self.policy.in_history == 0 {
            return self.remove(modifications, &names.history);
        }
        if self.request.added.is_some() {
            let excess = self.history().excess(self.policy.in_history);
            if !excess.is_empty() {
                modifications.push(self.internal(ModificationKind::Delete, &names.history, excess));
            }
        }
        if let Some(stored) = first(&self.entry, &names.password) {
            let values = vec![history::value(self.now, stored)];
            modifications.push(self.internal(ModificationKind::AddIfAbsent, &names.history, values));
        }
    }

    /// `ppolicy_hash_cleartext`; a password modify operation delivers its password hashed.
    fn hash(&self, modifications: &mut [Modification]) -> Result<(), OperationError> {
        if !self.overlay.settings.hash_cleartext || self.passwords.is_some() {
            return Ok(());
        }
        let added = self.request.added.and_then(|place| modifications.get_mut(place));
        let Some(added) = added else { return Ok(()) };
        let Some(clear) = added.values.first().filter(|value| password::split(value).0.is_none()) else {
            return Ok(());
        };
        let hashed = self.execution.hash_password(self.policy.default_hash, clear)?;
        *added = Modification {
            authority: added.authority,
            ..self.internal(added.kind, &self.overlay.names.password, vec![hashed])
        };
        Ok(())
    }

    /// An account that is unlocked by hand begins without failures.
    fn forget_failures_of_unlocked(&self, modifications: &mut Vec<Modification>) {
        let name = &self.overlay.names.failure_time;
        if self.request.unlocks && !Request::deletes(modifications, name) {
            self.remove(modifications, name);
        }
    }

    /// Deletes an attribute if the entry has it.
    fn remove(&self, modifications: &mut Vec<Modification>, name: &AttributeDescription) {
        if self.entry.attribute(name).is_some() {
            modifications.push(self.internal(ModificationKind::Delete, name, Vec::new()));
        }
    }

    fn internal(&self, kind: ModificationKind, name: &AttributeDescription, values: Vec<Vec<u8>>) -> Modification {
        Modification::internal(self.execution.schema(), kind, name, values)
    }
}
