//! Hexadecimal digits, in which the MD5 mechanisms write their digests.

use std::fmt::Write as _;

/// Lower-case hexadecimal digits, two for each octet.
pub fn hex(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len() * 2);
    for octet in octets {
        // Writing to a string cannot fail.
        let _ = write!(text, "{octet:02x}");
    }
    text
}
