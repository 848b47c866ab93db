//! Values with a place before them: `{1}mdb` of types with `X-ORDERED` (draft-chu-ldap-xordered-00).

/// What stands behind the `{n}` of a normal form. `None`: it has no such number.
#[inline]
pub(crate) fn behind_number(value: &[u8]) -> Option<&[u8]> {
    number(value.strip_prefix(b"{")?)
}

/// The same behind `{`.
#[cold]
fn number(rest: &[u8]) -> Option<&[u8]> {
    let end = rest.iter().position(|byte| *byte == b'}')?;
    let (number, rest) = rest.split_at(end);
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    rest.strip_prefix(b"}").filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_in_braces_is_a_place() {
        for (value, rest) in [
            ("{1}mdb", Some("mdb")),
            ("{-1}frontend", Some("frontend")),
            ("{12}{3}x", Some("{3}x")),
            ("{0}", Some("")),
            ("mdb", None),
            ("{}mdb", None),
            ("{-}mdb", None),
            ("{1mdb", None),
            ("{a}mdb", None),
            ("{1-}mdb", None),
        ] {
            assert_eq!(behind_number(value.as_bytes()), rest.map(str::as_bytes), "{value}");
        }
    }
}
