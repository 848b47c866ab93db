//! Whether the password of an entry may be used at all.

use ironbark_directory::stamp::generalized_time;
use ironbark_model::{AttributeDescription, Entry};

use super::{
    names::{Names, first},
    policy::Policy,
};

/// The state of a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lock {
    /// There is none.
    Open,
    /// There was one, and its time is over.
    Over,
    /// It may not be used.
    Locked,
}

/// A time of an entry: `None` if it has none, `Some(None)` if it cannot be parsed.
#[expect(clippy::option_option, reason = "none, one that is no time, or a time")]
fn time(entry: &Entry, name: &AttributeDescription) -> Option<Option<i64>> {
    first(entry, name).map(generalized_time::seconds)
}

/// Seconds since 1970, if the attribute is there and can be parsed.
pub(super) fn known_time(entry: &Entry, name: &AttributeDescription) -> Option<i64> {
    time(entry, name).flatten()
}

/// `is_idle_kept`: the database records successful binds.
pub(super) fn lock(names: &Names, entry: &Entry, policy: &Policy, now: i64, is_idle_kept: bool) -> Lock {
    // A time that cannot be parsed locks the account.
    let is_before = |name| time(entry, name).is_some_and(|then| then.is_none_or(|then| now < then));
    if is_before(&names.start_time) {
        return Lock::Locked;
    }
    if time(entry, &names.end_time).is_some_and(|then| then.is_none_or(|then| then <= now)) {
        return Lock::Locked;
    }
    if !policy.lockout {
        return Lock::Open;
    }
    if is_before(&names.lockout_end) {
        return Lock::Locked;
    }
    if policy.max_idle > 0 && is_idle_kept {
        let mut used = [&names.last_success, &names.changed_time].into_iter();
        let used = used.find_map(|name| time(entry, name)).flatten();
        if used.is_some_and(|used| now > used.saturating_add(policy.max_idle)) {
            return Lock::Locked;
        }
    }
    match time(entry, &names.locked_time) {
        None => Lock::Open,
        // The year 0000, which no clock shows, means a lock forever.
        Some(Some(then)) if then <= 0 => Lock::Locked,
        Some(Some(then)) if now < then => Lock::Open,
        Some(_) if policy.lockout_duration == 0 => Lock::Locked,
        Some(then) if now < then.unwrap_or(-1).saturating_add(policy.lockout_duration) => Lock::Locked,
        Some(_) => Lock::Over,
    }
}
