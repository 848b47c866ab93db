//! NIS Netgroup Triple and Boot Parameter (RFC 2307 §2.4).

use super::{InvalidValue, Syntax, require};
use crate::Schema;

pub(super) static ROWS: &[Syntax] = &[
    Syntax::text("1.3.6.1.1.1.0.0", "RFC2307 NIS Netgroup Triple", netgroup_triple),
    Syntax::text("1.3.6.1.1.1.0.1", "RFC2307 Boot Parameter", boot_parameter),
];

/// `(host,user,domain)`, each part possibly empty or `-`.
fn netgroup_triple(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    let [b'(', inner @ .., b')'] = value else {
        return Err(InvalidValue);
    };
    let mut parts = 0;
    for part in inner.split(|byte| *byte == b',') {
        parts += 1;
        require(part.iter().all(|byte| is_key_character(*byte)))?;
    }
    require(parts == 3)
}

/// `key=server:path`.
fn boot_parameter(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    let equals = memchr::memchr(b'=', value).ok_or(InvalidValue)?;
    let (key, rest) = value.split_at_checked(equals).ok_or(InvalidValue)?;
    let rest = rest.get(1..).unwrap_or_default();
    let colon = memchr::memchr(b':', rest).ok_or(InvalidValue)?;
    let (server, path) = rest.split_at_checked(colon).ok_or(InvalidValue)?;
    let path = path.get(1..).unwrap_or_default();
    let is_key = |text: &[u8]| !text.is_empty() && text.iter().all(|byte| is_key_character(*byte));
    require(is_key(key) && is_key(server) && path.is_ascii())
}

fn is_key_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b';' | b'$' | b'@' | b'/' | b' ')
}
