//! Sets of octets, and what case means to them. No other grammar reads them again.

use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Hir};

/// What letters stand for.
///
/// If case is ignored, glibc compares the expression in upper case with the text in upper case. Ranges show it:
/// `[_-a]` ends before it begins, and `[a-~]` holds `_`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Case {
    /// Upper and lower case differ.
    Kept,
    /// They are the same.
    Ignored,
    /// They are the same, and only texts in upper case are matched.
    Upper,
}

impl Case {
    /// An octet as the expression means it.
    pub(super) fn meant(self, octet: u8) -> u8 {
        match self {
            Self::Kept => octet,
            Self::Ignored | Self::Upper => octet.to_ascii_uppercase(),
        }
    }

    /// Matches one octet of a text if the set has it: in upper case, unless case is kept.
    pub(super) fn one_of(self, mut set: ClassBytes) -> Hir {
        if self != Self::Kept {
            set.difference(&of(&[(b'a', b'z')]));
        }
        if self == Self::Ignored {
            set.case_fold_simple();
        }
        Hir::class(Class::Bytes(set))
    }
}

/// The octets of these ranges, both ends of each included.
pub(super) fn of(ranges: &[(u8, u8)]) -> ClassBytes {
    let ranges = ranges.iter().map(|(first, last)| ClassBytesRange::new(*first, *last));
    ClassBytes::new(ranges)
}

/// A single octet.
pub(super) fn one(octet: u8) -> ClassBytes {
    of(&[(octet, octet)])
}

/// All other octets.
pub(super) fn except(mut set: ClassBytes) -> ClassBytes {
    set.negate();
    set
}

/// The class that has this name between `[:` and `:]`, as in locale C.
pub(super) fn named(name: &[u8], case: Case) -> Option<ClassBytes> {
    let ranges: &[(u8, u8)] = match name {
        b"upper" | b"lower" if case != Case::Kept => UPPER,
        b"alnum" => &[(b'0', b'9'), (b'A', b'Z'), (b'a', b'z')],
        b"alpha" => &[(b'A', b'Z'), (b'a', b'z')],
        b"blank" => &[(b'\t', b'\t'), (b' ', b' ')],
        b"cntrl" => &[(0, 0x1f), (0x7f, 0x7f)],
        b"digit" => &[(b'0', b'9')],
        b"graph" => &[(b'!', b'~')],
        b"lower" => &[(b'a', b'z')],
        b"print" => &[(b' ', b'~')],
        b"punct" => &[(b'!', b'/'), (b':', b'@'), (b'[', b'`'), (b'{', b'~')],
        b"space" => SPACE,
        b"upper" => UPPER,
        b"xdigit" => &[(b'0', b'9'), (b'A', b'F'), (b'a', b'f')],
        _ => return None,
    };
    Some(of(ranges))
}

const UPPER: &[(u8, u8)] = &[(b'A', b'Z')];
/// `[:space:]` and `\s`.
pub(super) const SPACE: &[(u8, u8)] = &[(b'\t', b'\r'), (b' ', b' ')];
/// `\w`.
pub(super) const WORD: &[(u8, u8)] = &[(b'0', b'9'), (b'A', b'Z'), (b'_', b'_'), (b'a', b'z')];
