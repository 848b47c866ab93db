//! The escapes of both forms of a DN.

use smallvec::SmallVec;

/// Whether a byte is escaped at every place.
fn special(byte: u8) -> bool {
    SPECIAL.get(usize::from(byte)).is_some_and(|special| *special)
}

/// A table look-up is faster than nine comparisons, and every octet of every name is checked.
#[expect(
    clippy::indexing_slicing,
    reason = "an octet is within the table, and a constant is made by the compiler"
)]
static SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut special = b",+\"\\<>;=\0".as_slice();
    while let [first, rest @ ..] = special {
        table[*first as usize] = true;
        special = rest;
    }
    table
};

/// Whether a byte ends a value without escapes (RFC 4514 §3). These are the escaped bytes except `=`.
pub(super) fn ends_plain_text(byte: u8) -> bool {
    special(byte) && byte != b'='
}

fn needs_escape(value: &[u8]) -> bool {
    value.first().is_some_and(|&b| b == b'#' || is_space(b))
        || value.last().is_some_and(|&b| is_space(b))
        || value.iter().any(|&b| special(b))
}

/// Whether the parser takes this byte for a space around a value.
pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Whether the byte at `index` of a value of `length` bytes is escaped.
fn escaped_at(byte: u8, index: usize, length: usize) -> bool {
    special(byte) || (is_space(byte) && (index == 0 || index + 1 == length)) || (byte == b'#' && index == 0)
}

fn pair(byte: u8) -> [u8; 3] {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or_default();
    [b'\\', digit(byte >> 4), digit(byte & 15)]
}

/// Appends a value to the pretty form.
pub(super) fn push_pretty(out: &mut String, value: &str) {
    if !needs_escape(value.as_bytes()) {
        out.push_str(value);
        return;
    }
    for (index, character) in value.char_indices() {
        match u8::try_from(character) {
            Ok(byte) if character.is_ascii() && escaped_at(byte, index, value.len()) => {
                out.extend(pair(byte).map(char::from));
            }
            _ => out.push(character),
        }
    }
}

/// Escapes what was appended to a normal form from `start` on.
pub(super) fn escape_tail(out: &mut Vec<u8>, start: usize) {
    let tail = out.get(start..).unwrap_or_default();
    if !needs_escape(tail) {
        return;
    }
    let value: SmallVec<[u8; 256]> = SmallVec::from_slice(tail);
    out.truncate(start);
    for (index, &byte) in value.iter().enumerate() {
        if escaped_at(byte, index, value.len()) {
            out.extend_from_slice(&pair(byte));
        } else {
            out.push(byte);
        }
    }
}
