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

/// A DN of a statement's schema.
///
/// # Errors
/// The text is no DN.
pub fn parse_dn(statement: &Statement<'_>, text: &str) -> Result<Dn, SettingError> {
    Dn::parse(statement.schema, text.as_bytes()).map_err(|_| format!("invalid DN \"{text}\"").into())
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
