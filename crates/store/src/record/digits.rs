//! Numbers and hexadecimal texts, two digits to a byte: telephone and subscriber numbers, keys, serials.

/// The digits of each number below 100, and of each byte.
pub(super) const DECIMAL_PAIRS: [[u8; 2]; 100] = pairs(10);
pub(super) const HEX_PAIRS: [[u8; 2]; 256] = pairs(16);

/// The half byte at the end that stands for no digit.
const NONE: u8 = 15;

#[expect(
    clippy::indexing_slicing,
    reason = "computed by the compiler, which would not compile a panic"
)]
const fn pairs<const N: usize>(base: usize) -> [[u8; 2]; N] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut pairs = [[0; 2]; N];
    let mut number = 0;
    while number < N {
        pairs[number] = [DIGITS[number / base], DIGITS[number % base]];
        number += 1;
    }
    pairs
}

/// Appends decimal digits. Returns whether `text` has only digits; if not, the caller removes the appended bytes.
pub(super) fn pack_decimal(text: &[u8], out: &mut Vec<u8>) -> bool {
    let digit = |c: u8| c.is_ascii_digit().then(|| c - b'0');
    let (pairs, last) = text.as_chunks::<2>();
    for [high, low] in pairs {
        let (Some(high), Some(low)) = (digit(*high), digit(*low)) else {
            return false;
        };
        out.push(high << 4 | low);
    }
    match last.first().map(|&c| digit(c)) {
        None => true,
        Some(Some(last)) => {
            out.push(last << 4 | NONE);
            true
        }
        Some(None) => false,
    }
}

/// Length of the text from which [`pack_decimal`] made `bytes`.
pub(super) fn decimal_length(bytes: &[u8]) -> usize {
    let is_odd = bytes.last().is_some_and(|last| last & 15 == NONE);
    bytes.len() * 2 - usize::from(is_odd)
}

/// Appends an even number of lower-case hexadecimal digits. Returns whether `text` has nothing else.
pub(super) fn pack_hex(text: &[u8], out: &mut Vec<u8>) -> bool {
    let (pairs, odd) = text.as_chunks::<2>();
    for [high, low] in pairs {
        let (Some(high), Some(low)) = (lower_hex(*high), lower_hex(*low)) else {
            return false;
        };
        out.push(high << 4 | low);
    }
    odd.is_empty()
}

/// Restores a text. `None`: it does not fit.
pub(super) fn unpack(bytes: &[u8], text: &mut [u8]) -> Option<()> {
    let (pairs, _) = text.get_mut(..bytes.len() * 2)?.as_chunks_mut::<2>();
    for (pair, byte) in pairs.iter_mut().zip(bytes) {
        *pair = *HEX_PAIRS.get(usize::from(*byte))?;
    }
    Some(())
}

pub(super) fn lower_hex(c: u8) -> Option<u8> {
    match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    }
}
