//! What a token, with its parameters, says to a one-time password.

use std::iter;

use ironbark_model::{AttributeDescription, Entry};

use super::names::Names;
use crate::codes::{Algorithm, Code, MOST_DIGITS};

/// A one-time password that is right.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Used {
    /// Its counter or time step.
    pub(super) counter: i64,
    /// How far the client's clock is off, in time steps.
    pub(super) drift: Option<i64>,
    /// The number of its digits.
    pub(super) digits: usize,
}

/// Why a token cannot be used.
pub(super) type Unusable = String;

/// How far from the expected counter or time step others are tried, whatever the parameters say: the writer does
/// nothing else meanwhile.
const FARTHEST: i64 = 1_000;

/// A token and its parameters, and what the client presents.
#[derive(Clone, Copy)]
pub(super) struct Attempt<'a> {
    pub(super) names: &'a Names,
    pub(super) token: &'a Entry,
    pub(super) params: &'a Entry,
    pub(super) presented: &'a [u8],
    /// Whether nothing may stand before the one-time password.
    pub(super) is_alone: bool,
}

/// A one-time password, with what it is compared by.
struct Expected<'a> {
    secret: &'a [u8],
    algorithm: Algorithm,
    code: Code,
    digits: usize,
}

impl<'a> Attempt<'a> {
    /// Checks it by the counter of the token (RFC 4226 §7.2, §7.4).
    ///
    /// # Errors
    /// The token or its parameters cannot be used.
    pub(super) fn by_counter(self) -> Result<Option<Used>, Unusable> {
        let names = self.names;
        let last = number(self.token, &names.hotp.last)?.unwrap_or(-1);
        let look_ahead = required(self.params, &names.look_ahead)?.min(FARTHEST);
        let Some(expected) = self.expected()? else {
            return Ok(None);
        };
        let ahead = (0..=look_ahead).filter_map(|skipped| last.checked_add(skipped + 1));
        Ok(expected.find(ahead).map(|counter| Used {
            counter,
            drift: None,
            digits: expected.digits,
        }))
    }

    /// Checks it by the time, in seconds (RFC 6238 §4.2, §5.2, §6). As in slapd, the drift that counts is that of the
    /// parameters.
    ///
    /// # Errors
    /// The token or its parameters cannot be used.
    pub(super) fn by_time(self, now_s: i64) -> Result<Option<Used>, Unusable> {
        let names = self.names;
        let last = number(self.token, &names.totp.last)?.unwrap_or(-1);
        let period = required(self.params, &names.period)?;
        let window = number(self.params, &names.window)?.unwrap_or(0).min(FARTHEST);
        let drift = number(self.params, &names.drift)?.unwrap_or(0);
        if period < 1 {
            return Err("the period of its time steps is not positive".to_owned());
        }
        let Some(expected) = self.expected()? else {
            return Ok(None);
        };
        let present = now_s.div_euclid(period);
        let Some(centre) = present.checked_add(drift) else {
            return Err("its drift is too big".to_owned());
        };
        let offsets = iter::once(0).chain((1..=window).flat_map(|offset| [-offset, offset]));
        let steps = offsets
            .filter(|_| window >= 0)
            .filter_map(|offset| centre.checked_add(offset))
            .filter(|step| *step > last);
        Ok(expected.find(steps).map(|counter| Used {
            counter,
            drift: Some(counter.saturating_sub(present)),
            digits: expected.digits,
        }))
    }

    /// The one-time password that the client presents; `None`: there is none.
    fn expected(&self) -> Result<Option<Expected<'a>>, Unusable> {
        let names = self.names;
        let digits = required(self.params, &names.length)?;
        let digits = usize::try_from(digits)
            .ok()
            .filter(|digits| (1..=MOST_DIGITS).contains(digits))
            .ok_or_else(|| format!("{digits} digits cannot be"))?;
        let algorithm = first(self.params, &names.algorithm).and_then(Algorithm::of_oid);
        let algorithm = algorithm.ok_or("its algorithm is unknown")?;
        // Everybody could make the codes of an empty secret.
        let secret = first(self.token, &names.secret).filter(|secret| !secret.is_empty());
        let secret = secret.ok_or("it has no secret")?;
        if self.is_alone && self.presented.len() != digits {
            return Ok(None);
        }
        let start = self.presented.len().checked_sub(digits);
        let code = start.and_then(|start| Code::parse(self.presented.get(start..)?));
        Ok(code.map(|code| Expected {
            secret,
            algorithm,
            code,
            digits,
        }))
    }
}

impl Expected<'_> {
    /// The last of these counters that makes the code. Negative ones make none.
    fn find(&self, counters: impl Iterator<Item = i64>) -> Option<i64> {
        let counters = counters.filter_map(|counter| u64::try_from(counter).ok());
        let found = self.algorithm.counter_of(self.secret, self.code, counters)?;
        i64::try_from(found).ok()
    }
}

/// The first value of an attribute.
pub(super) fn first<'e>(entry: &'e Entry, name: &AttributeDescription) -> Option<&'e [u8]> {
    entry.attribute(name)?.values.first().map(Vec::as_slice)
}

/// The first value as a number.
fn number(entry: &Entry, name: &AttributeDescription) -> Result<Option<i64>, Unusable> {
    let Some(value) = first(entry, name) else {
        return Ok(None);
    };
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    match number {
        Some(number) => Ok(Some(number)),
        None => Err(format!("a number of \"{}\" is too big", entry.dn.pretty())),
    }
}

/// The same where there must be one.
fn required(entry: &Entry, name: &AttributeDescription) -> Result<i64, Unusable> {
    number(entry, name)?.ok_or_else(|| format!("\"{}\" lacks a number", entry.dn.pretty()))
}
