//! Settings of slapo-dds(5).

use std::fmt::Write as _;

use ironbark_config::{DatabaseConfig, SettingError, database::EntryPlace, overlay::OverlaySettings};

/// A day: the smallest allowed value of `dds-max-ttl`, and the default life of an entry (RFC 2589).
pub(super) const DAY_S: u64 = 86_400;
/// A year and a day.
pub(super) const MAX_TTL_S: u64 = 31_557_600;

/// How long dynamic entries live.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct DdsConfig {
    /// `dds-state`: whether the overlay does anything.
    pub(super) is_on: bool,
    /// `dds-max-ttl`, seconds.
    pub(super) max_ttl_s: u64,
    /// `dds-min-ttl`, seconds; a shorter refresh is raised to it.
    pub(super) min_ttl_s: Option<u64>,
    /// `dds-default-ttl`, seconds; `None`: `max_ttl_s`.
    pub(super) default_ttl_s: Option<u64>,
    /// `dds-interval`: seconds between two searches for expired entries.
    pub(super) interval_s: Option<u64>,
    /// `dds-tolerance`: seconds that entries are kept after they have expired.
    pub(super) tolerance_s: Option<u64>,
    /// `dds-max-dynamicObjects`; 0: any number.
    pub(super) max_objects: u32,
}

impl Default for DdsConfig {
    fn default() -> Self {
        Self {
            is_on: true,
            max_ttl_s: DAY_S,
            min_ttl_s: None,
            default_ttl_s: None,
            interval_s: None,
            tolerance_s: None,
            max_objects: 0,
        }
    }
}

impl DdsConfig {
    /// How long a new entry lives.
    pub(super) fn default_ttl_s(&self) -> u64 {
        self.default_ttl_s.unwrap_or(self.max_ttl_s)
    }
}

impl OverlaySettings for DdsConfig {
    fn looked_up(&self) -> Vec<String> {
        Vec::new()
    }

    fn check(&self, database: &DatabaseConfig, _: &mut Vec<String>) -> Result<(), SettingError> {
        if database.kind.entries == EntryPlace::Frontend {
            return Err("DDS cannot be used as global overlay".into());
        }
        if self.is_on && self.default_ttl_s() > self.max_ttl_s {
            return Err("DDS default ttl is greater than max ttl".into());
        }
        let min = self.min_ttl_s.unwrap_or_default();
        if self.is_on && min > self.default_ttl_s() {
            return Err("DDS min_ttl is greater than default or max ttl".into());
        }
        Ok(())
    }
}

/// A span of time as slapd writes it: `1d2h3m4s`, or seconds.
pub(super) fn parse_span(text: &str) -> Option<u64> {
    const UNITS: [(char, u64); 4] = [('d', DAY_S), ('h', 3_600), ('m', 60), ('s', 1)];
    let (mut total, mut rest, mut units) = (0_u64, text, &UNITS[..]);
    while !rest.is_empty() {
        let digits = rest.find(|octet: char| !octet.is_ascii_digit()).unwrap_or(rest.len());
        let (number, behind) = rest.split_at_checked(digits)?;
        let number: u64 = number.parse().ok()?;
        let Some(unit) = behind.chars().next() else {
            return total.checked_add(number);
        };
        let place = units.iter().position(|(known, _)| *known == unit)?;
        let (_, seconds) = units.get(place)?;
        total = total.checked_add(number.checked_mul(*seconds)?)?;
        units = units.get(place + 1..)?;
        rest = behind.get(1..)?;
    }
    Some(total)
}

/// The same as text.
pub(super) fn span_text(span_s: u64) -> String {
    let parts = [
        (span_s / DAY_S, 'd'),
        (span_s % DAY_S / 3_600, 'h'),
        (span_s % 3_600 / 60, 'm'),
        (span_s % 60, 's'),
    ];
    let mut text = String::new();
    for (number, unit) in parts {
        if number > 0 {
            // Writing to a string cannot fail.
            let _ = write!(text, "{number}{unit}");
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_written_as_slapd_writes_them() {
        for (text, span) in [("60", 60), ("1d", DAY_S), ("1d1h1m1s", 90_061), ("2h5", 7_205), ("", 0)] {
            assert_eq!(parse_span(text), Some(span), "{text}");
        }
        for text in ["1s1m", "-1", "1x", "d", "1d1d", "99999999999999999999", "1e"] {
            assert_eq!(parse_span(text), None, "{text}");
        }
        for (span, text) in [(0, "0s"), (DAY_S, "1d"), (90_061, "1d1h1m1s"), (3_605, "1h5s")] {
            assert_eq!(span_text(span), text);
        }
    }
}
