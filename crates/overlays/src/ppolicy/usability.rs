//! The account usability control: tells for each found entry what a bind would result in.

use ironbark_directory::{OperationError, overlay::Entries};
use ironbark_ldap_proto::controls::AccountUsability;
use ironbark_model::Entry;

use super::{
    locked::{Lock, known_time, lock},
    names::{Names, is_true},
    policy::Policy,
    state::Ppolicy,
};

/// Until when a password can be used.
#[derive(Clone, Copy, Debug)]
struct Expiry {
    has_expired: bool,
    /// -1: never.
    seconds_left: i64,
    /// -1: not said.
    grace: i64,
}

/// `None` for entries without a password or without a policy.
pub(super) fn of(
    overlay: &Ppolicy,
    entries: Entries<'_>,
    entry: &Entry,
    now: i64,
) -> Result<Option<AccountUsability>, OperationError> {
    let names = &overlay.names;
    if entry.attribute(&names.password).is_none() {
        return Ok(None);
    }
    let Some(policy) = overlay.policy_for(entries, entry)? else {
        return Ok(None);
    };
    let expiry = expiry(names, entry, &policy, now);
    let is_idle_kept = entries.context().settings.last_bind;
    let is_locked = lock(names, entry, &policy, now, is_idle_kept) == Lock::Locked;
    if !expiry.has_expired && !is_locked {
        return Ok(Some(AccountUsability::Available(expiry.seconds_left)));
    }
    let unlocked = lockout_end(names, entry, &policy, now);
    // The same parts as in slapd: it reports a future unlocking as inactive, and does not report that a password has
    // expired.
    Ok(Some(AccountUsability::Unavailable {
        inactive: unlocked.is_some(),
        reset: policy.must_change && is_true(entry, &names.reset),
        expired: false,
        remaining_grace: if expiry.has_expired { expiry.grace } else { -1 },
        seconds_before_unlock: unlocked.map_or(-1, |end| end - now),
    }))
}

fn expiry(names: &Names, entry: &Entry, policy: &Policy, now: i64) -> Expiry {
    let mut expiry = Expiry {
        has_expired: false,
        seconds_left: -1,
        grace: -1,
    };
    let changed = known_time(entry, &names.changed_time);
    if let Some(changed) = changed.filter(|_| policy.max_age > 0) {
        let left = changed.saturating_add(policy.max_age) - now;
        expiry.seconds_left = left;
        expiry.has_expired = left <= 0;
        if policy.grace_limit > 0 && (policy.grace_expiry == 0 || left + policy.grace_expiry > 0) {
            let used = entry
                .attribute(&names.grace_use_time)
                .map_or(0, |held| held.values.len());
            expiry.grace = (policy.grace_limit - i64::try_from(used).unwrap_or(i64::MAX)).max(0);
        }
    }
    let used = known_time(entry, &names.last_success);
    if let Some(used) = used.filter(|_| policy.max_idle > 0 && !expiry.has_expired) {
        let left = used.saturating_add(policy.max_idle) - now;
        if left <= 0 {
            expiry.has_expired = true;
        } else if expiry.seconds_left == -1 || left < expiry.seconds_left {
            expiry.seconds_left = left;
        }
    }
    expiry
}

/// When the lock ends; `None`: there is none, or it does not end.
fn lockout_end(names: &Names, entry: &Entry, policy: &Policy, now: i64) -> Option<i64> {
    let locked = known_time(entry, &names.locked_time).filter(|then| *then <= now);
    if locked.is_some_and(|then| then <= 0 || policy.lockout_duration == 0) {
        return None;
    }
    let ends = [
        locked.map(|then| then.saturating_add(policy.lockout_duration)),
        known_time(entry, &names.lockout_end),
    ];
    ends.into_iter().flatten().max().filter(|end| *end > now)
}
