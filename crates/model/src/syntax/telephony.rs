//! Facsimile Telephone Number, Teletex Terminal Identifier, Telex Number, Presentation Address, Protocol Information,
//! DSE Type and the quality syntaxes (RFC 4517 §3.3.11, §3.3.32, §3.3.33, RFC 1278, RFC 2252 §6, RFC 1617 §4).

use super::{
    InvalidValue, Syntax, oid, require,
    strings::{directory_string, has_only_escapes, is_printable_string},
    text,
};
use crate::Schema;

pub(super) static ROWS: &[Syntax] = &[
    Syntax::text(
        "1.3.6.1.4.1.1466.115.121.1.22",
        "Facsimile Telephone Number",
        facsimile_telephone_number,
    ),
    Syntax::text("1.3.6.1.4.1.1466.115.121.1.51", "Teletex Terminal Identifier", teletex).hidden(),
    Syntax::text("1.3.6.1.4.1.1466.115.121.1.52", "Telex Number", telex_number),
    Syntax::text(oid::PRESENTATION_ADDRESS, "Presentation Address", presentation_address).hidden(),
    Syntax::text(oid::PROTOCOL_INFORMATION, "Protocol Information", protocol_information).hidden(),
    Syntax::text("1.3.6.1.4.1.1466.115.121.1.13", "Data Quality", directory_string).hidden(),
    Syntax::text("1.3.6.1.4.1.1466.115.121.1.19", "DSA Quality", dsa_quality).hidden(),
    Syntax::text("1.3.6.1.4.1.1466.115.121.1.20", "DSE Type", dse_type).hidden(),
    Syntax::text(
        "1.3.6.1.4.1.1466.115.121.1.29",
        "Master And Shadow Access Points",
        directory_string,
    )
    .hidden(),
    Syntax::text("1.3.6.1.4.1.1466.115.121.1.55", "Modify Rights", directory_string).hidden(),
];

/// `number $ parameter $ ...`. As in slapd, any parameter is accepted: people write remarks there.
fn facsimile_telephone_number(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    require(value.split(|byte| *byte == b'$').all(is_printable_string))
}

/// `terminal $ key:value $ ...`.
fn teletex(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    const KEYS: [&[u8]; 5] = [b"graphic", b"control", b"misc", b"page", b"private"];
    let mut parts = value.split(|byte| *byte == b'$');
    require(parts.next().is_some_and(is_printable_string))?;
    require(parts.all(|part| {
        memchr::memchr(b':', part)
            .and_then(|colon| part.split_at_checked(colon))
            .is_some_and(|(key, rest)| {
                KEYS.iter().any(|known| key.eq_ignore_ascii_case(known)) && has_only_escapes(rest, &[b"24", b"5C"])
            })
    }))
}

/// `number $ country code $ answerback`. As in slapd, parts may be missing.
fn telex_number(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    let mut parts = 0;
    for part in value.split(|byte| *byte == b'$') {
        require(is_printable_string(part))?;
        parts += 1;
    }
    require(parts <= 3)
}

/// Selectors with `/`, then network addresses with `_` (RFC 1278 §4).
fn presentation_address(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    require(value.is_ascii())?;
    let mut parts: Vec<&[u8]> = value.split(|byte| *byte == b'/').collect();
    let addresses = parts.pop().unwrap_or_default();
    require(parts.len() <= 3 && parts.into_iter().all(is_selector))?;
    require(addresses.split(|byte| *byte == b'_').all(is_network_address))
}

/// `"text"`, `#digits`, `'hexadecimal'H` or nothing.
fn is_selector(selector: &[u8]) -> bool {
    match selector {
        [] => true,
        [b'"', inner @ .., b'"'] => !inner.contains(&b'"'),
        [b'#', digits @ ..] => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        [b'\'', digits @ .., b'\'', b'H'] => digits.iter().all(u8::is_ascii_hexdigit),
        _ => false,
    }
}

/// Parts with `+`, the first an authority name or number.
fn is_network_address(address: &[u8]) -> bool {
    let mut parts = address.split(|byte| *byte == b'+');
    let authority = parts.next().unwrap_or_default();
    let mut following = 0;
    let valid = parts.all(|part| {
        following += 1;
        !part.is_empty()
            && part
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'*'))
    });
    valid && following > 0 && !authority.is_empty() && authority.iter().all(u8::is_ascii_alphanumeric)
}

/// `address # profile ...`: a network address and the OIDs of its protocols.
fn protocol_information(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    let mut parts = value.split(|byte| *byte == b'#').map(<[u8]>::trim_ascii);
    require(parts.next().is_some_and(is_network_address))?;
    require(parts.all(|part| crate::schema::is_numeric_oid(part) || text(part).is_ok_and(crate::schema::is_descriptor)))
}

/// A keyword, and a description behind `#`.
fn dsa_quality(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    const KEYWORDS: [&[u8]; 5] = [
        b"DEFUNCT",
        b"EXPERIMENTAL",
        b"BEST-EFFORT",
        b"PILOT-SERVICE",
        b"FULL-SERVICE",
    ];
    let end = memchr::memchr(b'#', value).unwrap_or(value.len());
    let (keyword, description) = value.split_at_checked(end).ok_or(InvalidValue)?;
    require(
        KEYWORDS
            .iter()
            .any(|known| keyword.trim_ascii().eq_ignore_ascii_case(known))
            && text(description).is_ok(),
    )
}

/// `( bit $ bit ... )`.
fn dse_type(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    const BITS: [&[u8]; 16] = [
        b"root",
        b"glue",
        b"cp",
        b"entry",
        b"alias",
        b"subr",
        b"nssr",
        b"supr",
        b"xr",
        b"admPoint",
        b"subentry",
        b"shadow",
        b"zombie",
        b"immSupr",
        b"rhob",
        b"sa",
    ];
    let [b'(', inner @ .., b')'] = value else {
        return Err(InvalidValue);
    };
    require(inner.split(|byte| *byte == b'$').all(|bit| {
        let bit = bit.trim_ascii();
        BITS.iter().any(|known| bit.eq_ignore_ascii_case(known))
    }))
}
