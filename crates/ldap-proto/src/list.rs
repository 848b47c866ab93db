//! Lists of a message. A decoded list is checked once and then read lazily from its bytes. A list to be encoded is a
//! slice of elements.

use std::fmt;

use ironbark_ber::{BerError, Reader, Writer, tags};

/// An element of a list.
pub trait Element<'a>: Copy + PartialEq + fmt::Debug {
    /// Reads one element and checks all of it.
    fn read(reader: &mut Reader<'a>) -> Result<Self, BerError>;
    /// Appends the element.
    fn write(&self, writer: &mut Writer<'_>);
}

/// A `SEQUENCE OF` or `SET OF`.
#[derive(Clone, Copy)]
pub struct List<'a, T> {
    inner: Inner<'a, T>,
}

#[derive(Clone, Copy)]
enum Inner<'a, T> {
    /// Content octets whose elements have all been checked, and the number of elements.
    Encoded(&'a [u8], usize),
    Slice(&'a [T]),
}

/// Attribute values, in the order of the message.
pub type ValueSet<'a> = List<'a, &'a [u8]>;
/// The attribute descriptions and selectors (`*`, `+`, `1.1`, `@objectClass`) of a search request (RFC 4511 §4.5.1.8).
pub type AttributeSelection<'a> = List<'a, &'a [u8]>;
/// The URIs of a referral or search result reference (RFC 4511 §4.1.10).
pub type Referrals<'a> = List<'a, &'a [u8]>;
/// Attributes of an add request or a search result entry.
pub type AttributeList<'a> = List<'a, PartialAttribute<'a>>;

/// A `PartialAttribute` (RFC 4511 §4.1.7): a description and values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PartialAttribute<'a> {
    /// Attribute description.
    pub description: &'a [u8],
    /// Values; may be empty.
    pub values: ValueSet<'a>,
}

impl<'a, T: Element<'a>> List<'a, T> {
    /// A list of ready elements, for encoding.
    pub const fn new(elements: &'a [T]) -> Self {
        Self {
            inner: Inner::Slice(elements),
        }
    }

    /// Checks and counts the elements that `reader` holds, at most `limit` of them.
    ///
    /// `Ok(None)` when there are more.
    pub fn decode(mut reader: Reader<'a>, limit: usize) -> Result<Option<Self>, BerError> {
        let content = reader.remaining();
        let mut count = 0;
        while !reader.is_empty() {
            T::read(&mut reader)?;
            if count == limit {
                return Ok(None);
            }
            count += 1;
        }
        Ok(Some(Self {
            inner: Inner::Encoded(content, count),
        }))
    }

    /// Checks and counts the elements that `reader` holds.
    pub fn decode_all(reader: Reader<'a>) -> Result<Self, BerError> {
        Ok(Self::decode(reader, usize::MAX)?.unwrap_or_default())
    }

    /// Number of elements.
    pub const fn len(&self) -> usize {
        match self.inner {
            Inner::Encoded(_, count) => count,
            Inner::Slice(elements) => elements.len(),
        }
    }

    /// Whether there are no elements.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements in order.
    pub const fn iter(&self) -> Iter<'a, T> {
        match self.inner {
            Inner::Encoded(content, count) => Iter {
                reader: Reader::new(content),
                elements: &[],
                left: count,
            },
            Inner::Slice(elements) => Iter {
                reader: Reader::new(&[]),
                elements,
                left: elements.len(),
            },
        }
    }

    /// The first element.
    pub fn first(&self) -> Option<T> {
        self.iter().next()
    }

    /// The content octets as they came in, if this list was decoded. For a [`ValueSet`] these are concatenated `04
    /// length value`; the lengths need not have their shortest form.
    pub const fn encoded(&self) -> Option<&'a [u8]> {
        match self.inner {
            Inner::Encoded(content, _) => Some(content),
            Inner::Slice(_) => None,
        }
    }

    /// Appends the elements, without a header.
    pub fn write_elements(&self, writer: &mut Writer<'_>) {
        for element in *self {
            element.write(writer);
        }
    }

    /// Appends the list as an element with this identifier.
    pub fn write(&self, writer: &mut Writer<'_>, identifier: u8) {
        writer.constructed(identifier, |writer| self.write_elements(writer));
    }
}

/// Iterator over a [`List`].
#[derive(Clone, Debug)]
pub struct Iter<'a, T> {
    reader: Reader<'a>,
    elements: &'a [T],
    left: usize,
}

impl<'a, T: Element<'a>> Iterator for Iter<'a, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        if let Some((first, rest)) = self.elements.split_first() {
            self.elements = rest;
            return Some(*first);
        }
        // Every element was read once when the list was decoded.
        T::read(&mut self.reader).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<'a, T: Element<'a>> ExactSizeIterator for Iter<'a, T> {}

impl<'a, T: Element<'a>> IntoIterator for List<'a, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T: Element<'a>> IntoIterator for &List<'a, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> Default for List<'_, T> {
    fn default() -> Self {
        Self {
            inner: Inner::Slice(&[]),
        }
    }
}

impl<'a, T: Element<'a>> From<&'a [T]> for List<'a, T> {
    fn from(elements: &'a [T]) -> Self {
        Self::new(elements)
    }
}

impl<'a, T: Element<'a>> PartialEq for List<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<'a, T: Element<'a>> fmt::Debug for List<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> Element<'a> for &'a [u8] {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, BerError> {
        reader.octet_string()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.octet_string(self);
    }
}

impl<'a> PartialAttribute<'a> {
    pub(crate) fn read_content(reader: &mut Reader<'a>) -> Result<Self, BerError> {
        let description = reader.octet_string()?;
        let values = List::decode_all(reader.nested(tags::SET)?)?;
        Ok(Self { description, values })
    }

    pub(crate) fn write_content(&self, writer: &mut Writer<'_>) {
        writer.octet_string(self.description);
        self.values.write(writer, tags::SET);
    }
}

impl<'a> Element<'a> for PartialAttribute<'a> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, BerError> {
        let mut content = reader.sequence()?;
        let attribute = Self::read_content(&mut content)?;
        content.finish()?;
        Ok(attribute)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| self.write_content(writer));
    }
}
