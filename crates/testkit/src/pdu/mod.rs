//! LDAP messages as text, for scenarios about what ldap-utils cannot send: the notation of der-ascii, and the freedoms
//! of BER.
//!
//! ```text
//! SEQUENCE { INTEGER { 1 } [APPLICATION 10 PRIMITIVE] { "dc=example,dc=com" } }
//! ```
//!
//! Tags are `SEQUENCE`, `SET`, `INTEGER`, `ENUMERATED`, `BOOLEAN`, `NULL`, `OCTET_STRING`, and others in brackets:
//! `[APPLICATION 3]`, `[0 PRIMITIVE]`. Between braces are elements, and octets: `"text"` with `\"`, `\\`, `\n` and
//! `\x00`, `` `00ff` ``, a number, `TRUE`, `FALSE`. Before the brace, `long-form:2` writes the length in two octets
//! behind the first one, and `indefinite` leaves it open. `#` starts a comment. Nothing here knows the server's own
//! codec.

mod conversation;
mod read;
mod write;

pub(crate) use conversation::converse;

/// A tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tag {
    /// The two bits of the class, in place.
    class: u8,
    is_constructed: bool,
    /// At most 30: LDAP has no greater ones.
    number: u8,
}

impl Tag {
    fn of_octet(octet: u8) -> Self {
        Self {
            class: octet & 0xc0,
            is_constructed: octet & 0x20 != 0,
            number: octet & 0x1f,
        }
    }

    fn octet(self) -> u8 {
        self.class | u8::from(self.is_constructed) << 5 | self.number
    }
}

const UNIVERSAL: u8 = 0x00;
const APPLICATION: u8 = 0x40;
const CONTEXT: u8 = 0x80;

/// The tags that have names.
const NAMES: &[(&str, Tag)] = &[
    ("BOOLEAN", primitive(1)),
    ("INTEGER", primitive(2)),
    ("OCTET_STRING", primitive(4)),
    ("NULL", primitive(5)),
    ("ENUMERATED", primitive(10)),
    ("SEQUENCE", constructed(16)),
    ("SET", constructed(17)),
];

const fn primitive(number: u8) -> Tag {
    Tag {
        class: UNIVERSAL,
        is_constructed: false,
        number,
    }
}

const fn constructed(number: u8) -> Tag {
    Tag {
        class: UNIVERSAL,
        is_constructed: true,
        number,
    }
}

/// An element.
struct Element<'a> {
    tag: Tag,
    content: &'a [u8],
    /// With tag and length.
    whole: &'a [u8],
}

/// The element at the start of `octets`, if all of it is there, and what follows it.
fn first(octets: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let (tag, rest) = octets.split_first()?;
    let (length, rest) = rest.split_first()?;
    let (length, rest) = if *length < 0x80 {
        (usize::from(*length), rest)
    } else {
        let (more, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
        let append = |length: usize, octet: &u8| length << 8 | usize::from(*octet);
        (more.iter().fold(0, append), rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    let element = Element {
        tag: Tag::of_octet(*tag),
        content,
        whole: octets.get(..octets.len() - rest.len())?,
    };
    Some((element, rest))
}
