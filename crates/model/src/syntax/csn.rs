//! Change sequence numbers and the server identifiers in them, as OpenLDAP writes them
//! (`20240131120000.123456Z#000000#001#000000`: time, count, server, modification).

use super::{InvalidValue, Syntax, oid, require, time::Time, uuid::hex_digit};
use crate::Schema;

pub(super) static ROWS: &[Syntax] = &[
    Syntax::text(oid::CSN, "CSN", csn).hidden(),
    Syntax::text(oid::CSN_SID, "CSN SID", sid).hidden(),
];

fn csn(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    Csn::parse(value).map(|_| ())
}

fn sid(_: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
    require(value.len() == 3 && value.iter().all(|digit| hex_digit(*digit).is_ok()))
}

/// The parts of a CSN.
pub(crate) struct Csn<'a> {
    /// `YYYYMMDDHHMMSS`.
    pub(crate) second: [u8; 14],
    /// Six digits.
    pub(crate) microsecond: &'a [u8],
    pub(crate) count: u32,
    pub(crate) sid: u32,
    pub(crate) modification: u32,
}

impl<'a> Csn<'a> {
    /// Reads three forms: the present one; that of OpenLDAP 2.3 (no fraction, two digits of server); that of 2.1 and
    /// 2.2 (`2004013112:00:00Z#0x0001#0#0000`).
    pub(crate) fn parse(value: &'a [u8]) -> Result<Self, InvalidValue> {
        let mut parts = value.split(|byte| *byte == b'#');
        let (Some(time), Some(count), Some(sid), Some(modification), None) =
            (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(InvalidValue);
        };
        let (second, microsecond) = read_time(time)?;
        let digits = |text: &[u8], lengths: &[usize]| {
            let text = text.strip_prefix(b"0x").unwrap_or(text);
            require(lengths.contains(&text.len()))?;
            text.iter().try_fold(0, |number, digit| {
                Ok::<_, InvalidValue>(number << 4 | u32::from(hex_digit(*digit)?))
            })
        };
        Ok(Self {
            second,
            microsecond,
            count: digits(count, &[6, 4])?,
            sid: digits(sid, &[3, 2, 1])?,
            modification: digits(modification, &[6, 4])?,
        })
    }
}

fn read_time(time: &[u8]) -> Result<([u8; 14], &[u8]), InvalidValue> {
    const NO_FRACTION: &[u8] = b"000000";
    let mut second = [0; 14];
    let fraction = match time {
        [rest @ .., b'Z'] if rest.len() == 21 => {
            let (digits, fraction) = rest.split_at_checked(14).ok_or(InvalidValue)?;
            second.copy_from_slice(digits);
            fraction.strip_prefix(b".").ok_or(InvalidValue)?
        }
        [rest @ .., b'Z'] if rest.len() == 14 => {
            second.copy_from_slice(rest);
            NO_FRACTION
        }
        [rest @ .., b'Z'] if rest.len() == 16 => {
            let mut digits = rest.iter().enumerate().filter_map(|(position, byte)| match position {
                10 | 13 => None,
                _ => Some(*byte),
            });
            require(rest.get(10) == Some(&b':') && rest.get(13) == Some(&b':'))?;
            second.fill_with(|| digits.next().unwrap_or(b'0'));
            NO_FRACTION
        }
        _ => return Err(InvalidValue),
    };
    require(fraction.iter().all(u8::is_ascii_digit))?;
    let mut checked = [b'Z'; 15];
    if let Some(start) = checked.first_chunk_mut::<14>() {
        *start = second;
    }
    Time::parse(&checked)?;
    Ok((second, fraction))
}
