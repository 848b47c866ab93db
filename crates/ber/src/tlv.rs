//! Elements of any tag: headers, and an iterator over a series of elements (certificates are read with it).

use crate::{BerError, Class, ErrorKind, Reader, Tag};

/// The header of an element: tag, and where its content lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Tag.
    pub tag: Tag,
    /// First identifier octet.
    pub identifier: u8,
    /// Octets of tag and length.
    pub header_length: usize,
    /// Octets of content. This may be more than the data at hand.
    pub content_length: usize,
}

impl Header {
    /// Reads the header at the start of `data`. `Ok(None)`: the header is not complete yet.
    ///
    /// # Errors
    /// [`ErrorKind::IndefiniteLength`], [`ErrorKind::LengthTooLong`], [`ErrorKind::BadTagNumber`].
    #[inline]
    pub fn parse(data: &[u8]) -> Result<Option<Self>, ErrorKind> {
        let Some((&identifier, rest)) = data.split_first() else {
            return Ok(None);
        };
        let (tag, rest, tag_octets) = match Tag::from_identifier(identifier) {
            Some(tag) => (tag, rest, 1),
            None => match long_tag_number(rest)? {
                Some((number, octets)) => (
                    Tag {
                        class: Class::from_identifier(identifier),
                        constructed: identifier & 0x20 != 0,
                        number,
                    },
                    rest.get(octets..).unwrap_or_default(),
                    1 + octets,
                ),
                None => return Ok(None),
            },
        };
        Ok(length(rest)?.map(|(content_length, octets)| Self {
            tag,
            identifier,
            header_length: tag_octets + octets,
            content_length,
        }))
    }
}

/// Number and count of octets of a tag number in the long form.
fn long_tag_number(data: &[u8]) -> Result<Option<(u32, usize)>, ErrorKind> {
    let mut number = 0u32;
    for (index, octet) in data.iter().take(4).enumerate() {
        if index == 0 && *octet == 0x80 {
            return Err(ErrorKind::BadTagNumber);
        }
        number = number << 7 | u32::from(octet & 0x7f);
        if octet & 0x80 == 0 {
            return Ok(Some((number, index + 1)));
        }
    }
    if data.len() >= 4 {
        Err(ErrorKind::BadTagNumber)
    } else {
        Ok(None)
    }
}

/// Content length and count of length octets. Longer forms than necessary are tolerated up to four octets.
#[inline]
fn length(data: &[u8]) -> Result<Option<(usize, usize)>, ErrorKind> {
    let Some((&first, rest)) = data.split_first() else {
        return Ok(None);
    };
    if first < 0x80 {
        return Ok(Some((usize::from(first), 1)));
    }
    let octets = usize::from(first & 0x7f);
    match octets {
        0 => return Err(ErrorKind::IndefiniteLength),
        1..=4 => {}
        _ => return Err(ErrorKind::LengthTooLong),
    }
    let Some(bytes) = rest.get(..octets) else {
        return Ok(None);
    };
    let value = bytes.iter().fold(0u32, |value, byte| value << 8 | u32::from(*byte));
    usize::try_from(value)
        .map(|value| Some((value, 1 + octets)))
        .map_err(|_| ErrorKind::LengthTooLong)
}

/// One element of any tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tlv<'a> {
    /// Class of the tag.
    pub class: Class,
    /// Whether the content is a series of elements.
    pub constructed: bool,
    /// Tag number.
    pub number: u32,
    /// Content octets.
    pub content: &'a [u8],
    /// The whole element, header included.
    pub encoded: &'a [u8],
}

impl<'a> Tlv<'a> {
    /// The elements of the content.
    pub fn children(&self) -> Tlvs<'a> {
        Tlvs::new(self.content)
    }

    /// Whether this is a universal type with this identifier octet ([`crate::tags`]).
    pub fn is(&self, identifier: u8) -> bool {
        self.encoded.first() == Some(&identifier)
    }
}

/// Iterator over a series of elements; ends after the first error.
#[derive(Clone, Debug)]
pub struct Tlvs<'a> {
    reader: Reader<'a>,
    failed: bool,
}

impl<'a> Tlvs<'a> {
    /// Iterates over `data`, a concatenation of elements.
    pub fn new(data: &'a [u8]) -> Self {
        Self {
            reader: Reader::new(data),
            failed: false,
        }
    }
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = Result<Tlv<'a>, BerError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.reader.is_empty() {
            return None;
        }
        let item = self.reader.read_any();
        self.failed = item.is_err();
        Some(item)
    }
}
