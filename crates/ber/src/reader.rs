//! A cursor over the elements of a slice.

use crate::{BerError, ErrorKind, Header, Tlv, tags};

/// Reads elements one after the other; borrows everything, allocates nothing.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// Offset of `rest` in the outermost slice.
    position: usize,
}

impl<'a> Reader<'a> {
    /// Reads `data` from its start.
    #[inline]
    pub const fn new(data: &'a [u8]) -> Self {
        Self {
            rest: data,
            position: 0,
        }
    }

    /// Whether everything has been read.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Offset of the next octet in the outermost slice.
    #[inline]
    pub const fn position(&self) -> usize {
        self.position
    }

    /// What has not been read yet.
    #[inline]
    pub const fn remaining(&self) -> &'a [u8] {
        self.rest
    }

    /// The first identifier octet of the next element.
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// An error of this kind at the next octet.
    pub const fn error(&self, kind: ErrorKind) -> BerError {
        BerError {
            position: self.position,
            kind,
        }
    }

    /// Reads an element of any tag.
    pub fn read_any(&mut self) -> Result<Tlv<'a>, BerError> {
        let (header, content, encoded) = self.take()?;
        Ok(Tlv {
            class: header.tag.class,
            constructed: header.tag.constructed,
            number: header.tag.number,
            content: content.rest,
            encoded,
        })
    }

    /// Skips an element of any tag.
    pub fn skip(&mut self) -> Result<(), BerError> {
        self.take().map(|_| ())
    }

    /// Reads the content of an element that must have this one-octet identifier.
    #[inline]
    pub fn element(&mut self, identifier: u8) -> Result<&'a [u8], BerError> {
        self.nested(identifier).map(|content| content.rest)
    }

    /// Reads the content of the next element if it has this one-octet identifier.
    #[inline]
    pub fn optional(&mut self, identifier: u8) -> Result<Option<&'a [u8]>, BerError> {
        if self.peek() == Some(identifier) {
            self.element(identifier).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Reads an element that must have this one-octet identifier and gives a reader of its content.
    #[inline]
    pub fn nested(&mut self, identifier: u8) -> Result<Reader<'a>, BerError> {
        match self.peek() {
            Some(found) if found == identifier => {}
            Some(_) => return Err(self.error(ErrorKind::UnexpectedTag)),
            None => return Err(self.error(ErrorKind::Truncated)),
        }
        // The short form of the length, which nearly all elements have.
        if let [_, length @ 0..=0x7f, tail @ ..] = self.rest {
            let length = usize::from(*length);
            let Some((content, rest)) = tail.split_at_checked(length) else {
                return Err(self.error(ErrorKind::Truncated));
            };
            let start = self.position + 2;
            self.rest = rest;
            self.position = start + length;
            return Ok(Reader {
                rest: content,
                position: start,
            });
        }
        self.take().map(|(_, content, _)| content)
    }

    /// Reads an element of any tag: first identifier octet and a reader of its content.
    #[inline]
    pub fn nested_any(&mut self) -> Result<(u8, Reader<'a>), BerError> {
        self.take().map(|(header, content, _)| (header.identifier, content))
    }

    /// Reads an OCTET STRING.
    #[inline]
    pub fn octet_string(&mut self) -> Result<&'a [u8], BerError> {
        self.element(tags::OCTET_STRING)
    }

    /// Reads a SEQUENCE.
    #[inline]
    pub fn sequence(&mut self) -> Result<Reader<'a>, BerError> {
        self.nested(tags::SEQUENCE)
    }

    /// Reads an integer with this identifier (INTEGER, ENUMERATED or an implicit tag) that fits 64 bits.
    pub fn integer_i64(&mut self, identifier: u8) -> Result<i64, BerError> {
        self.nested(identifier)?.integer_content()
    }

    /// Reads all that remains as the content octets of an INTEGER that fits 64 bits.
    pub fn integer_content(self) -> Result<i64, BerError> {
        let fault = self.error(ErrorKind::BadInteger);
        let Some(first) = self.peek() else {
            return Err(fault);
        };
        let (sign, redundant) = if first & 0x80 == 0 { (0i64, 0x00) } else { (-1, 0xff) };
        // Leading octets that only repeat the sign are tolerated like long lengths.
        let mut octets = self.rest;
        while let [lead, tail @ ..] = octets
            && let [next, ..] = tail
            && octets.len() > 8
            && *lead == redundant
            && (next ^ redundant) & 0x80 == 0
        {
            octets = tail;
        }
        if octets.len() > 8 {
            return Err(fault);
        }
        Ok(octets.iter().fold(sign, |value, octet| value << 8 | i64::from(*octet)))
    }

    /// Reads an integer with this identifier (INTEGER, ENUMERATED or an implicit tag) that fits 32 bits.
    #[inline]
    pub fn integer_i32(&mut self, identifier: u8) -> Result<i32, BerError> {
        // One octet after a short length: message IDs, scopes, limits, result codes.
        if let [tag, 1, value, rest @ ..] = self.rest
            && *tag == identifier
        {
            self.rest = rest;
            self.position += 3;
            return Ok(i32::from(value.cast_signed()));
        }
        let before = *self;
        let value = self.integer_i64(identifier)?;
        i32::try_from(value).map_err(|_| before.error(ErrorKind::BadInteger))
    }

    /// Reads an INTEGER that fits 32 bits.
    #[inline]
    pub fn integer(&mut self) -> Result<i32, BerError> {
        self.integer_i32(tags::INTEGER)
    }

    /// Reads an ENUMERATED that fits 32 bits.
    #[inline]
    pub fn enumerated(&mut self) -> Result<i32, BerError> {
        self.integer_i32(tags::ENUMERATED)
    }

    /// Reads a boolean with this identifier (BOOLEAN or an implicit tag). Any octet but zero is true.
    pub fn boolean_of(&mut self, identifier: u8) -> Result<bool, BerError> {
        let content = self.nested(identifier)?;
        match content.rest {
            [value] => Ok(*value != 0),
            _ => Err(content.error(ErrorKind::BadBoolean)),
        }
    }

    /// Reads a BOOLEAN; any octet but zero is true.
    #[inline]
    pub fn boolean(&mut self) -> Result<bool, BerError> {
        self.boolean_of(tags::BOOLEAN)
    }

    /// Succeeds when everything has been read.
    #[inline]
    pub const fn finish(&self) -> Result<(), BerError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.error(ErrorKind::TrailingData))
        }
    }

    fn take(&mut self) -> Result<(Header, Reader<'a>, &'a [u8]), BerError> {
        let header = match Header::parse(self.rest) {
            Ok(Some(header)) => header,
            Ok(None) => return Err(self.error(ErrorKind::Truncated)),
            Err(kind) => return Err(self.error(kind)),
        };
        let split = header
            .header_length
            .checked_add(header.content_length)
            .and_then(|total| self.rest.split_at_checked(total));
        let Some((encoded, rest)) = split else {
            return Err(self.error(ErrorKind::Truncated));
        };
        let content = Reader {
            rest: encoded.get(header.header_length..).unwrap_or_default(),
            position: self.position + header.header_length,
        };
        self.rest = rest;
        self.position += encoded.len();
        Ok((header, content, encoded))
    }
}
