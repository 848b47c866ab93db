//! `saslname` (RFC 5802 §7): a name in which `=2C` and `=3D` stand for comma and equals sign.

use super::ScramError;

pub(super) fn escaped(name: &str) -> String {
    name.replace('=', "=3D").replace(',', "=2C")
}

/// # Errors
/// [`ScramError::Name`]: another escape, an empty name, or a zero.
pub(super) fn unescaped(text: &str) -> Result<String, ScramError> {
    let mut name = String::with_capacity(text.len());
    let mut parts = text.split('=');
    name.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (character, rest) = match (part.strip_prefix("2C"), part.strip_prefix("3D")) {
            (Some(rest), _) => (',', rest),
            (None, Some(rest)) => ('=', rest),
            (None, None) => return Err(ScramError::Name),
        };
        name.push(character);
        name.push_str(rest);
    }
    if name.is_empty() || name.contains('\0') {
        Err(ScramError::Name)
    } else {
        Ok(name)
    }
}
