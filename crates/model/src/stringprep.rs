//! String preparation for matching (RFC 4518): transcode, map, normalize, prohibit, insignificant characters.
//!
//! The prepared form is the compact form that slapd stores: outer spaces are removed, and an inner run of spaces
//! becomes one space. (RFC 4518 §2.6.1 writes one outer and two inner spaces.) Two strings have equal compact forms
//! exactly when they have equal RFC forms. A string without any other character than spaces becomes one space.
//! Unassigned code points are allowed: the table of RFC 3454 §A.1 is that of Unicode 3.2, and people store newer
//! characters. RFC 4518 §2.5 needs no bidirectional check.

use smallvec::SmallVec;
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, char::is_combining_mark, is_nfkc_quick};

use crate::syntax::InvalidValue;

mod tables;

/// Whether letters are folded (RFC 4518 §2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Case {
    /// As written.
    Exact,
    /// Folded (RFC 3454 Table B.2).
    Ignore,
}

/// Which characters are insignificant (RFC 4518 §2.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Insignificant {
    /// Outer spaces and repeated inner spaces of a whole string.
    Spaces,
    /// The same in the part before the first asterisk: trailing spaces count as one.
    SpacesInitial,
    /// The same between asterisks: leading and trailing spaces count as one each.
    SpacesAny,
    /// The same after the last asterisk: leading spaces count as one.
    SpacesFinal,
    /// All spaces (`numericString`, RFC 4518 §2.6.2).
    AllSpaces,
    /// All spaces and hyphens (`telephoneNumber`, RFC 4518 §2.6.3).
    SpacesAndHyphens,
}

impl Insignificant {
    /// Whether single spaces between other characters are significant.
    fn is_of_spaces(self) -> bool {
        !matches!(self, Self::AllSpaces | Self::SpacesAndHyphens)
    }

    fn keeps_leading(self) -> bool {
        matches!(self, Self::SpacesAny | Self::SpacesFinal)
    }

    fn keeps_trailing(self) -> bool {
        matches!(self, Self::SpacesAny | Self::SpacesInitial)
    }
}

/// Whether prohibited code points (RFC 4518 §2.4) are an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prohibited {
    /// Assertions: the result is Undefined.
    Refused,
    /// Stored values and names. slapd accepts them, so existing data must load. No assertion ever equals them.
    Kept,
}

/// Appends the prepared form of `value`. For ASCII it allocates nothing, except that `out` may grow.
///
/// # Errors
/// Not UTF-8, or a prohibited code point; `out` is then as it was.
pub fn prepare(
    value: &[u8],
    case: Case,
    insignificant: Insignificant,
    prohibited: Prohibited,
    out: &mut Vec<u8>,
) -> Result<(), InvalidValue> {
    let start = out.len();
    if insignificant.is_of_spaces() && is_prepared_but_for_case(value) {
        out.extend_from_slice(value);
        if let (Case::Ignore, Some(appended)) = (case, out.get_mut(start..)) {
            appended.make_ascii_lowercase();
        }
        return Ok(());
    }
    let mut spaces = Spaces::new(insignificant, start);
    if value.is_ascii() {
        prepare_ascii(value, case, &mut spaces, out);
    } else {
        let text = std::str::from_utf8(value).map_err(|_| InvalidValue)?;
        if prohibited == Prohibited::Refused && text.chars().any(tables::is_prohibited) {
            return Err(InvalidValue);
        }
        let mapped = text.chars().filter_map(tables::map);
        let folded: SmallVec<[char; 128]> = match case {
            Case::Exact => mapped.collect(),
            Case::Ignore => mapped.flat_map(tables::fold).collect(),
        };
        let folded = folded.iter().copied();
        match case {
            // Nearly all text takes this way.
            _ if is_nfkc(folded.clone()) => spaces.push_all(folded, out),
            Case::Exact => spaces.push_all(folded.nfkc(), out),
            // Table B.2 is simple folding plus folding of the NFKC form (`U+2121` is "tel").
            Case::Ignore => {
                let normal: SmallVec<[char; 128]> = folded.nfkc().collect();
                let normal = normal.iter().copied();
                if normal.clone().all(|character| tables::fold(character).eq([character])) {
                    spaces.push_all(normal, out);
                } else {
                    spaces.push_all(normal.flat_map(tables::fold).nfkc(), out);
                }
            }
        }
    }
    spaces.finish(out);
    Ok(())
}

/// Whether a value is prepared except for the case of letters: printable ASCII without outer or repeated spaces.
fn is_prepared_but_for_case(value: &[u8]) -> bool {
    let (Some(first), Some(last)) = (value.first(), value.last()) else {
        return false;
    };
    *first != b' '
        && *last != b' '
        // The loop has no early exit, so that it handles many bytes at a time.
        && value.iter().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~'))
        && (memchr::memchr(b' ', value).is_none() || !value.windows(2).any(|pair| pair == b"  "))
}

/// Whether a text is certainly unchanged by NFKC.
fn is_nfkc(text: impl Iterator<Item = char>) -> bool {
    is_nfkc_quick(text) == IsNormalized::Yes
}

fn prepare_ascii(value: &[u8], case: Case, spaces: &mut Spaces, out: &mut Vec<u8>) {
    out.reserve(value.len());
    for byte in value {
        match byte {
            b'\t'..=b'\r' | b' ' => spaces.space(),
            0..=0x1f | 0x7f => {}
            b'-' if spaces.insignificant == Insignificant::SpacesAndHyphens => {}
            _ => {
                spaces.settle(out);
                out.push(match case {
                    Case::Exact => *byte,
                    Case::Ignore => byte.to_ascii_lowercase(),
                });
            }
        }
    }
}

/// Handles insignificant spaces as a small state machine.
struct Spaces {
    insignificant: Insignificant,
    start: usize,
    pending: bool,
}

impl Spaces {
    fn new(insignificant: Insignificant, start: usize) -> Self {
        Self {
            insignificant,
            start,
            pending: false,
        }
    }

    fn space(&mut self) {
        self.pending = self.insignificant.is_of_spaces();
    }

    /// Writes the space that is still pending before a character.
    fn settle(&mut self, out: &mut Vec<u8>) {
        if self.pending && (out.len() > self.start || self.insignificant.keeps_leading()) {
            out.push(b' ');
        }
        self.pending = false;
    }

    fn push_all(&mut self, characters: impl Iterator<Item = char>, out: &mut Vec<u8>) {
        let mut characters = characters.peekable();
        let mut buffer = [0; 4];
        while let Some(character) = characters.next() {
            // A space with combining marks is not a space (RFC 4518 §2.6.1).
            if character == ' ' && !characters.peek().is_some_and(|next| is_combining_mark(*next)) {
                self.space();
            } else if self.insignificant == Insignificant::SpacesAndHyphens && tables::is_hyphen(character) {
                // The character is dropped.
            } else {
                self.settle(out);
                out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        if out.len() == self.start {
            // Only spaces, or nothing that is left: characters that are mapped to nothing (§2.2) are gone before §2.6.
            if self.insignificant.is_of_spaces() {
                out.push(b' ');
            }
        } else if self.pending && self.insignificant.keeps_trailing() {
            out.push(b' ');
        }
    }
}

#[cfg(test)]
mod tests;
