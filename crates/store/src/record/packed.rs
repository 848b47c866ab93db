//! Compact forms of single values, from which the exact text is restored: entryUUID, CSN, generalizedTime to the
//! second, numbers.

use super::digits::{self, DECIMAL_PAIRS, HEX_PAIRS, lower_hex};
use crate::varint;

/// The longest text that unpacking yields.
pub(crate) const MAX_TEXT: usize = 64;

/// A compact form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Packing {
    /// Lower-case UUID with hyphens (RFC 4530): 16 bytes.
    Uuid,
    /// CSN `YYYYmmddHHMMSS.uuuuuuZ#cccccc#sss#mmmmmm`: 5 bytes of seconds, 3 of microseconds, then varints of count,
    /// server ID and modification, of which zeros at the end are left out.
    Csn,
    /// `YYYYmmddHHMMSSZ`: 5 bytes of seconds.
    Time,
    /// Decimal digits, two to a byte; 15 stands behind the last one of an odd number.
    Decimal,
    /// Lower-case hexadecimal digits, two to a byte.
    Hex,
}

/// Lengths of texts that may be packed as digits: shorter ones gain little.
const DIGITS: std::ops::RangeInclusive<usize> = 6..=MAX_TEXT;

/// Packs `text` if some form restores it exactly; appends to `out`.
pub(crate) fn pack(text: &[u8], out: &mut Vec<u8>) -> Option<Packing> {
    let known = match text.len() {
        15 => pack_time(text, out).map(|()| Packing::Time),
        36 => pack_uuid(text, out).map(|()| Packing::Uuid),
        40 => pack_csn(text, out).map(|()| Packing::Csn),
        _ => None,
    };
    if known.is_some() || !DIGITS.contains(&text.len()) {
        return known;
    }
    let start = out.len();
    for (packing, pack) in [
        (
            Packing::Decimal,
            digits::pack_decimal as fn(&[u8], &mut Vec<u8>) -> bool,
        ),
        (Packing::Hex, digits::pack_hex),
    ] {
        if pack(text, out) {
            return Some(packing);
        }
        out.truncate(start);
    }
    None
}

/// Restores a text into `text`; its length. `None`: damaged.
pub(crate) fn unpack(packing: Packing, bytes: &[u8], text: &mut [u8; MAX_TEXT]) -> Option<usize> {
    match packing {
        Packing::Uuid => {
            let (text, _) = text.split_first_chunk_mut()?;
            *text = unpack_uuid(bytes.try_into().ok()?)?;
        }
        Packing::Time => {
            let (text, _) = text.split_first_chunk_mut::<15>()?;
            let [digits @ .., zulu] = text;
            *digits = time_text(seconds(bytes)?)?;
            *zulu = b'Z';
        }
        Packing::Csn => {
            let (text, _) = text.split_first_chunk_mut()?;
            *text = unpack_csn(bytes)?;
        }
        Packing::Decimal | Packing::Hex => digits::unpack(bytes, text)?,
    }
    Some(text_length(packing, bytes))
}

/// Length of the restored text.
pub(crate) fn text_length(packing: Packing, bytes: &[u8]) -> usize {
    match packing {
        Packing::Decimal => digits::decimal_length(bytes),
        Packing::Hex => bytes.len() * 2,
        Packing::Uuid => 36,
        Packing::Csn => 40,
        Packing::Time => 15,
    }
}

fn pack_uuid(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    out.extend_from_slice(&uuid_of(text)?);
    Some(())
}

/// Where the digits of each byte of a UUID stand in its text.
const UUID_PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/// The bytes of a UUID in its text of 36 characters.
pub(crate) fn uuid_of(text: &[u8]) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.try_into().ok()?;
    if [8, 13, 18, 23].iter().any(|&at: &usize| text.get(at) != Some(&b'-')) {
        return None;
    }
    let mut bytes = [0u8; 16];
    for (byte, at) in bytes.iter_mut().zip(UUID_PLACES) {
        let digits = text.get(at..at + 2)?.first_chunk::<2>()?;
        let [high, low] = digits.map(lower_hex);
        *byte = high? << 4 | low?;
    }
    Some(bytes)
}

/// The text of a UUID.
pub(crate) fn unpack_uuid(bytes: &[u8; 16]) -> Option<[u8; 36]> {
    let mut text = [b'-'; 36];
    for (byte, at) in bytes.iter().zip(UUID_PLACES) {
        let digits = text.get_mut(at..at + 2)?;
        digits.copy_from_slice(HEX_PAIRS.get(usize::from(*byte))?);
    }
    Some(text)
}

fn hex_digit(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'a' + value - 10 }
}

fn decimal(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0u64, |value, c| {
        c.is_ascii_digit().then(|| value * 10 + u64::from(c - b'0'))
    })
}

fn hexadecimal(text: &[u8]) -> Option<u64> {
    text.iter()
        .try_fold(0u64, |value, &c| Some(value * 16 + u64::from(lower_hex(c)?)))
}

/// Days from 0000-03-01 to the first of the month (proleptic Gregorian calendar).
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month < 3 {
        (year + 399, month + 9)
    } else {
        (year + 400, month - 3)
    };
    year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1
}

fn days_in_month(year: u64, month: u64) -> u64 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// `YYYYmmddHHMMSS` as a number of seconds.
fn time_seconds(text: &[u8]) -> Option<u64> {
    let part = |from: usize, to: usize| decimal(text.get(from..to)?);
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second) = (part(8, 10)?, part(10, 12)?, part(12, 14)?);
    let sound = (1..=12).contains(&month)
        && day >= 1
        && day <= days_in_month(year, month)
        && hour < 24
        && minute < 60
        && second < 60;
    sound.then(|| days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// `YYYYmmddHHMMSS`.
fn time_text(seconds: u64) -> Option<[u8; 14]> {
    let day_number = seconds / 86_400;
    let second = seconds % 86_400;
    // 146,097 days are 400 years.
    let era = day_number / 146_097;
    let in_era = day_number % 146_097;
    let year_of_era = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = (year_of_era + era * 400 + u64::from(month < 3)).checked_sub(400)?;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    // The formatting machinery would take most of the time that an answer spends on its timestamps.
    let mut text = [0; 14];
    for (pair, number) in text
        .chunks_exact_mut(2)
        .zip([year / 100, year % 100, month, day, hour, minute, second])
    {
        pair.copy_from_slice(DECIMAL_PAIRS.get(usize::try_from(number).ok()?)?);
    }
    Some(text)
}

fn put_seconds(seconds: u64, out: &mut Vec<u8>) {
    let [_, _, _, low @ ..] = seconds.to_be_bytes();
    out.extend_from_slice(&low);
}

fn seconds(bytes: &[u8]) -> Option<u64> {
    (bytes.len() == 5).then(|| bytes.iter().fold(0, |value, &b| (value << 8) | u64::from(b)))
}

fn pack_time(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let seconds = time_seconds(text.strip_suffix(b"Z")?)?;
    put_seconds(seconds, out);
    Some(())
}

/// Seconds since 0000-03-01 less 400 years, microseconds, and count, server ID and modification of a CSN's text.
pub(crate) fn csn_parts(text: &[u8]) -> Option<(u64, u64, [u64; 3])> {
    let separators = [(14, b'.'), (21, b'Z'), (22, b'#'), (29, b'#'), (33, b'#')];
    if text.len() != 40 || separators.iter().any(|&(at, c)| text.get(at) != Some(&c)) {
        return None;
    }
    let seconds = time_seconds(text.get(..14)?)?;
    let micros = decimal(text.get(15..21)?)?;
    let numbers = [
        hexadecimal(text.get(23..29)?)?,
        hexadecimal(text.get(30..33)?)?,
        hexadecimal(text.get(34..40)?)?,
    ];
    Some((seconds, micros, numbers))
}

/// The text of a CSN. `None`: a part is too great for its digits.
pub(crate) fn csn_text(seconds: u64, micros: u64, [count, server, modification]: [u64; 3]) -> Option<[u8; 40]> {
    let mut text = *b"YYYYmmddHHMMSS.uuuuuuZ#cccccc#sss#mmmmmm";
    let (day_and_time, _) = text.split_first_chunk_mut()?;
    *day_and_time = time_text(seconds)?;
    put_digits(text.get_mut(15..21)?, micros, 10)?;
    put_digits(text.get_mut(23..29)?, count, 16)?;
    put_digits(text.get_mut(30..33)?, server, 16)?;
    put_digits(text.get_mut(34..40)?, modification, 16)?;
    Some(text)
}

fn pack_csn(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (seconds, micros, numbers) = csn_parts(text)?;
    put_seconds(seconds, out);
    let [_, _, _, _, _, low @ ..] = micros.to_be_bytes();
    out.extend_from_slice(&low);
    let used = numbers.iter().rposition(|&n| n != 0).map_or(0, |at| at + 1);
    for &number in numbers.iter().take(used) {
        varint::put(out, number);
    }
    Some(())
}

fn unpack_csn(bytes: &[u8]) -> Option<[u8; 40]> {
    let (time, rest) = bytes.split_at_checked(5)?;
    let (micros, mut rest) = rest.split_at_checked(3)?;
    let micros = micros.iter().fold(0u64, |value, &b| (value << 8) | u64::from(b));
    let mut number = || {
        if rest.is_empty() {
            Some(0)
        } else {
            varint::take(&mut rest)
        }
    };
    let numbers = [number()?, number()?, number()?];
    csn_text(seconds(time)?, micros, numbers)
}

/// Fills `out` with the digits of a number. `None`: the number has more digits.
fn put_digits(out: &mut [u8], mut number: u64, base: u64) -> Option<()> {
    for place in out.iter_mut().rev() {
        *place = hex_digit(u8::try_from(number % base).ok()?);
        number /= base;
    }
    (number == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round_trip(text: &str) -> Option<usize> {
        let mut packed = Vec::new();
        let packing = pack(text.as_bytes(), &mut packed)?;
        let mut restored = [0; MAX_TEXT];
        let length = unpack(packing, &packed, &mut restored).unwrap();
        assert_eq!(std::str::from_utf8(&restored[..length]).unwrap(), text);
        assert_eq!(length, text_length(packing, &packed));
        Some(packed.len())
    }

    #[test]
    fn usual_values_are_packed() {
        assert_eq!(round_trip("597ae2f6-16a6-1027-98f4-d28b5365dc14"), Some(16));
        assert_eq!(round_trip("20261121214300Z"), Some(5));
        assert_eq!(round_trip("00000101000000Z"), Some(5));
        assert_eq!(round_trip("20000229235959Z"), Some(5));
        assert_eq!(round_trip("20261121214300.123456Z#000000#000#000000"), Some(8));
        assert_eq!(round_trip("20261121214300.123456Z#000001#001#00000f"), Some(11));
    }

    #[test]
    fn digits_take_half_a_byte() {
        assert_eq!(round_trip("262015443499692"), Some(8));
        assert_eq!(round_trip("493708298532"), Some(6));
        assert_eq!(round_trip("000000"), Some(3));
        assert_eq!(round_trip("a2352c66577cb16bb3f509b77e45b416"), Some(16));
        assert_eq!(round_trip("99999999999999"), Some(7));
        // Time and UUID are recognized by their separators, not by their lengths.
        assert_eq!(round_trip("999999999999999"), Some(8));
        assert_eq!(round_trip(&"7".repeat(36)), Some(18));
        assert_eq!(round_trip(&"f0".repeat(32)), Some(32));
    }

    #[test]
    fn what_would_not_come_back_is_left_alone() {
        for text in [
            "597AE2F6-16a6-1027-98f4-d28b5365dc14",
            "597ae2f6+16a6-1027-98f4-d28b5365dc14",
            "20260229000000Z",
            "20261121214360Z",
            "20261121214300z",
            "20261121214300.123456Z#00000A#000#000000",
            "20261121214300.12345xZ#000000#000#000000",
            "12345",
            "+4912345",
            "1234567 ",
            "abcdef0",
            "ABCDEF01",
            "12345678901234567890123456789012345678901234567890123456789012345",
        ] {
            assert_eq!(round_trip(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_day_comes_back(y in 0u32..10_000, m in 1u32..=12, d in 1u32..=31, s in 0u32..86_400) {
            let text = format!("{y:04}{m:02}{d:02}{:02}{:02}{:02}Z", s / 3600, s / 60 % 60, s % 60);
            let packed = round_trip(&text);
            prop_assert_eq!(packed.is_some(), u64::from(d) <= days_in_month(u64::from(y), u64::from(m)));
        }
        #[test]
        fn hostile_bytes_are_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut text = [0; MAX_TEXT];
            for packing in [Packing::Uuid, Packing::Csn, Packing::Time, Packing::Decimal, Packing::Hex] {
                let _ = unpack(packing, &bytes, &mut text);
            }
        }
    }
}
