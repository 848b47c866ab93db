//! SASLprep, which SCRAM demands for names and passwords.

use std::borrow::Cow;

/// A name or a password after SASLprep (RFC 4013); unchanged if it cannot be prepared.
pub fn prepared(octets: &[u8]) -> Cow<'_, [u8]> {
    let text = std::str::from_utf8(octets).ok();
    match text.and_then(|text| stringprep::saslprep(text).ok()) {
        Some(Cow::Owned(prepared)) => Cow::Owned(prepared.into_bytes()),
        _ => Cow::Borrowed(octets),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4013 §3, and octets that are no text.
    #[test]
    fn the_rfcs_examples() {
        let soft_hyphen = "I\u{ad}X";
        assert_eq!(&*prepared(soft_hyphen.as_bytes()), b"IX");
        assert_eq!(&*prepared("\u{aa}".as_bytes()), b"a");
        assert_eq!(&*prepared("\u{2168}".as_bytes()), b"IX");
        for unchanged in [&b"user"[..], b"\x07", b"\xff"] {
            assert_eq!(&*prepared(unchanged), unchanged);
        }
    }
}
