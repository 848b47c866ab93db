//! Control: the controls of requests in slapd's access log, as `{0}{1.2.3 criticality TRUE controlValue "00ff"}`.

use super::{InvalidValue, Syntax, oid, require, text};
use crate::Schema;

pub(super) static ROWS: &[Syntax] = &[Syntax::text(oid::LOGGED_CONTROL, "Control", control).hidden()];

fn control(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    let value = text(value)?.trim();
    let inner = inner(value).ok_or(InvalidValue)?;
    let mut words = inner.split_ascii_whitespace();
    let oid = words.next().ok_or(InvalidValue)?;
    require(oid.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))?;
    while let Some(word) = words.next() {
        let argument = words.next().ok_or(InvalidValue)?;
        match word {
            "criticality" => require(matches!(argument, "TRUE" | "FALSE"))?,
            "controlValue" => {
                let digits = argument.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
                let digits = digits.ok_or(InvalidValue)?;
                require(digits.len() % 2 == 0 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
            }
            _ => return Err(InvalidValue),
        }
    }
    Ok(())
}

/// What is inside the braces, behind a number in braces.
pub(crate) fn inner(value: &str) -> Option<&str> {
    let numbered = value.strip_prefix('{')?.split_once('}');
    let value = match numbered {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) && rest.starts_with('{') => rest,
        _ => value,
    };
    value.strip_prefix('{')?.strip_suffix('}')
}
