//! Common kinds of values: how their text is read and printed.

use std::{fmt::Write as _, path::PathBuf};

use ironbark_model::Dn;

use crate::{SettingError, statement::Statement};

/// A field type that a row can fill without code of its own.
pub trait Value: Sized {
    /// From the arguments.
    ///
    /// # Errors
    /// They are no value of this type.
    fn parse(statement: &Statement<'_>) -> Result<Self, SettingError>;
    /// The values in force.
    fn text(&self) -> Vec<String>;
}

/// slapd's integers: decimal, `0x` hexadecimal, `0` octal.
pub fn parse_u64(text: &str) -> Option<u64> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (text.get(2..)?, 16),
        [b'0', _, ..] => (text.get(1..)?, 8),
        _ => (text, 10),
    };
    // `from_str_radix` would accept a sign.
    digits
        .bytes()
        .all(|digit| digit.is_ascii_alphanumeric())
        .then_some(())?;
    u64::from_str_radix(digits, radix).ok()
}

/// [`parse_u64`], for numbers of 32 bits.
pub fn parse_u32(text: &str) -> Option<u32> {
    parse_u64(text).and_then(|number| u32::try_from(number).ok())
}

/// slapd's `int`: as [`parse_u64`], with a sign if there is one, and 32 bits.
pub fn parse_i32(text: &str) -> Option<i32> {
    let (is_negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, text.get(1..)?),
        [b'+', ..] => (false, text.get(1..)?),
        _ => (false, text),
    };
    let number = i64::try_from(parse_u64(digits)?).ok()?;
    i32::try_from(if is_negative { -number } else { number }).ok()
}

/// `on`, `true`, `yes`, `off`, `false`, `no`, in any case.
pub fn parse_bool(text: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    if is(&["on", "true", "yes"]) {
        Some(true)
    } else if is(&["off", "false", "no"]) {
        Some(false)
    } else {
        None
    }
}

/// A switch as slapd prints it: `TRUE` or `FALSE`.
pub fn bool_text(value: bool) -> String {
    if value { "TRUE" } else { "FALSE" }.to_owned()
}

/// A span of time as slapd writes it: `1d2h3m4s`, or seconds.
pub fn parse_span(text: &str) -> Option<u64> {
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

/// A span of time as slapd prints it.
pub fn span_text(span_s: u64) -> String {
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

/// Seconds of a day.
const DAY_S: u64 = 86_400;

/// A DN of a statement's schema.
///
/// # Errors
/// The text is no DN.
pub fn parse_dn(statement: &Statement<'_>, text: &str) -> Result<Dn, SettingError> {
    Dn::parse(statement.schema, text.as_bytes()).map_err(|_| format!("invalid DN \"{text}\"").into())
}

/// The URL of a referral, as it was written. As in slapd, it need not be one of LDAP.
pub(crate) fn parse_referral(statement: &Statement<'_>) -> Result<String, SettingError> {
    let url = statement.one()?;
    let has_scheme = ["ldap://", "ldaps://", "ldapi://"].iter().any(|scheme| {
        url.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    if !has_scheme {
        statement.notice(format!(
            "\"{url}\" is no LDAP URL: clients get it as it is, and may not follow it"
        ));
    }
    Ok(url.to_owned())
}

/// An octal number with the leading zero that slapd prints.
pub(crate) fn octal_text(value: u32) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(text, "0{value:o}");
    text
}

impl Value for u32 {
    fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        let text = statement.one()?;
        parse_u32(text).ok_or_else(|| format!("unable to parse \"{text}\" as unsigned int").into())
    }
    fn text(&self) -> Vec<String> {
        vec![self.to_string()]
    }
}

impl Value for i32 {
    fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        let text = statement.one()?;
        parse_i32(text).ok_or_else(|| format!("unable to parse \"{text}\" as int").into())
    }
    fn text(&self) -> Vec<String> {
        vec![self.to_string()]
    }
}

impl Value for Option<i32> {
    fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        i32::parse(statement).map(Some)
    }
    fn text(&self) -> Vec<String> {
        self.iter().map(i32::to_string).collect()
    }
}

impl Value for Option<u32> {
    fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        u32::parse(statement).map(Some)
    }
    fn text(&self) -> Vec<String> {
        self.iter().map(u32::to_string).collect()
    }
}

impl Value for u64 {
    fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        let text = statement.one()?;
        parse_u64(text).ok_or_else(|| format!("unable to parse \"{text}\" as unsigned long").into())
    }
    fn text(&self) -> Vec<String> {
        vec![self.to_string()]
    }
}

impl Value for Option<u64> {
    fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        u64::parse(statement).map(Some)
    }
    fn text(&self) -> Vec<String> {
        self.iter().map(u64::to_string).collect()
    }
}

impl Value for bool {
    fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        let text = statement.one()?;
        parse_bool(text).ok_or_else(|| format!("invalid value \"{text}\": on or off expected").into())
    }
    fn text(&self) -> Vec<String> {
        vec![bool_text(*self)]
    }
}

impl Value for PathBuf {
    fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        // LDIF with a tab behind the colon has the tab in the value.
        let text = statement.one()?.trim_start_matches([' ', '\t']);
        if text.is_empty() {
            Err(format!("empty {} argument", statement.grammar).into())
        } else {
            Ok(Self::from(text))
        }
    }
    fn text(&self) -> Vec<String> {
        vec![self.to_string_lossy().into_owned()]
    }
}

impl Value for Option<PathBuf> {
    fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        PathBuf::parse(statement).map(Some)
    }
    fn text(&self) -> Vec<String> {
        self.iter().flat_map(PathBuf::text).collect()
    }
}

impl Value for Option<Dn> {
    fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        // slapd reads a DN keyword without argument as the empty DN.
        parse_dn(statement, statement.optional()?.unwrap_or_default()).map(Some)
    }
    fn text(&self) -> Vec<String> {
        self.iter().map(|dn| dn.pretty().to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_int_may_have_a_sign() {
        for (text, number) in [
            ("-1", -1),
            ("+5", 5),
            ("-0x10", -16),
            ("010", 8),
            ("0", 0),
            ("2147483647", i32::MAX),
            ("-2147483648", i32::MIN),
        ] {
            assert_eq!(parse_i32(text), Some(number), "{text}");
        }
        for text in ["", "-", "--1", "+-1", "1s", "2147483648", "-2147483649"] {
            assert_eq!(parse_i32(text), None, "{text}");
        }
    }

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
