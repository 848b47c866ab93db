//! Other Mailbox, Delivery Method, Mail Preference and MHS OR Address (RFC 4517 §3.3.5, §3.3.27, RFC 1274 §9.3.7, RFC
//! 2252 §6).

use super::{
    InvalidValue, Syntax, require,
    strings::{ia5_string, is_printable_string},
};
use crate::Schema;

pub(super) static ROWS: &[Syntax] = &[
    Syntax::text("1.3.6.1.4.1.1466.115.121.1.39", "Other Mailbox", other_mailbox),
    Syntax::text("1.3.6.1.4.1.1466.115.121.1.14", "Delivery Method", delivery_method),
    Syntax::text("1.3.6.1.4.1.1466.115.121.1.32", "Mail Preference", mail_preference).hidden(),
    Syntax::text("1.3.6.1.4.1.1466.115.121.1.33", "MHS OR Address", mhs_or_address).hidden(),
];

/// `type $ mailbox`; the type may be missing, as in slapd.
fn other_mailbox(schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    require(!value.is_empty())?;
    match memchr::memchr(b'$', value).and_then(|dollar| value.split_at_checked(dollar)) {
        None => ia5_string(schema, value),
        Some((kind, mailbox)) => {
            require(is_printable_string(kind))?;
            ia5_string(schema, mailbox)
        }
    }
}

/// Methods between `$`, the preferred one first.
fn delivery_method(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    const METHODS: [&[u8]; 10] = [
        b"any",
        b"mhs",
        b"physical",
        b"telex",
        b"teletex",
        b"g3fax",
        b"g4fax",
        b"ia5",
        b"videotex",
        b"telephone",
    ];
    require(value.split(|byte| *byte == b'$').all(|method| {
        let method = method.trim_ascii();
        METHODS.iter().any(|known| method.eq_ignore_ascii_case(known))
    }))
}

fn mail_preference(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    const PREFERENCES: [&[u8]; 3] = [b"NO-LISTS", b"ANY-LIST", b"PROFESSIONAL-LISTS"];
    require(PREFERENCES.iter().any(|known| value.eq_ignore_ascii_case(known)))
}

/// `/attribute=value/...` or `attribute=value; ...` (RFC 2156 §4.1).
fn mhs_or_address(schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    ia5_string(schema, value)?;
    let separator = if value.starts_with(b"/") { b'/' } else { b';' };
    let mut parts = value
        .split(|byte| *byte == separator)
        .map(<[u8]>::trim_ascii)
        .filter(|part| !part.is_empty())
        .peekable();
    require(parts.peek().is_some() && parts.all(|part| memchr::memchr(b'=', part).is_some_and(|position| position > 0)))
}
