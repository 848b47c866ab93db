//! UUID (RFC 4530 §2.1).

use super::{InvalidValue, NameForm, Syntax, oid, require};
use crate::Schema;

pub(super) static ROWS: &[Syntax] = &[Syntax::text(oid::UUID, "UUID", uuid).in_names(NameForm::Uuid)];

fn uuid(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    parse(value).map(|_| ())
}

/// The sixteen octets of `8-4-4-4-12` hexadecimal digits.
pub(crate) fn parse(value: &[u8]) -> Result<[u8; 16], InvalidValue> {
    require(value.len() == 36)?;
    let mut octets = [0; 16];
    let mut digits = 0;
    for (position, byte) in value.iter().enumerate() {
        if matches!(position, 8 | 13 | 18 | 23) {
            require(*byte == b'-')?;
            continue;
        }
        let octet = octets.get_mut(digits / 2).ok_or(InvalidValue)?;
        *octet = *octet << 4 | hex_digit(*byte)?;
        digits += 1;
    }
    Ok(octets)
}

/// The value of a hexadecimal digit.
pub(crate) fn hex_digit(byte: u8) -> Result<u8, InvalidValue> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        b'A'..=b'F' => Ok(byte - b'A' + 10),
        _ => Err(InvalidValue),
    }
}
