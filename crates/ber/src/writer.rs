//! Appends elements to a `Vec<u8>`.

use crate::tags;

/// Appends elements to a buffer that the caller owns and reuses.
///
/// Constructed elements are opened with [`Writer::begin`] and closed with [`Writer::end`], which fills in the length;
/// lengths always take their shortest form. The former content of the buffer stays untouched.
#[derive(Debug)]
pub struct Writer<'o> {
    out: &'o mut Vec<u8>,
}

/// An element that was begun: pass it to [`Writer::end`].
#[derive(Debug)]
#[must_use = "an element that is not ended has no length"]
pub struct Mark {
    /// Offset of the length octets in the buffer.
    length_at: usize,
    /// How many octets are kept free for them.
    reserved: u8,
}

impl<'o> Writer<'o> {
    /// Appends to `out`.
    #[inline]
    pub const fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out }
    }

    /// The buffer.
    #[inline]
    pub const fn buffer(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Length of the buffer so far.
    #[inline]
    pub const fn position(&self) -> usize {
        self.out.len()
    }

    /// Begins an element that will probably hold fewer than 128 octets.
    #[inline]
    pub fn begin(&mut self, identifier: u8) -> Mark {
        self.begin_sized(identifier, 0)
    }

    /// Begins an element that will probably hold about `expected` octets. A wrong guess only costs a move of the
    /// content.
    #[inline]
    pub fn begin_sized(&mut self, identifier: u8, expected: usize) -> Mark {
        let reserved = length_length(expected);
        self.out.push(identifier);
        let length_at = self.out.len();
        self.out.resize(length_at + usize::from(reserved), 0);
        Mark { length_at, reserved }
    }

    /// Ends the element begun last and writes its length. The content moves when the length needs another number of
    /// octets.
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "a mark is good for one end")]
    pub fn end(&mut self, mark: Mark) {
        let Mark { length_at, reserved } = mark;
        let content_at = length_at + usize::from(reserved);
        let content_length = self.out.len().saturating_sub(content_at);
        let needed = length_length(content_length);
        if needed != reserved {
            self.move_content(content_at, length_at + usize::from(needed));
        }
        if let Some(octets) = self.out.get_mut(length_at..length_at + usize::from(needed)) {
            put_length(octets, content_length);
        }
    }

    #[cold]
    fn move_content(&mut self, from: usize, to: usize) {
        let end = self.out.len();
        if to > from {
            self.out.resize(end + (to - from), 0);
            self.out.copy_within(from..end, to);
        } else {
            self.out.copy_within(from..end, to);
            self.out.truncate(end - (from - to));
        }
    }

    /// Writes the header of an element whose content of `length` octets the caller appends next.
    #[inline]
    pub fn header(&mut self, identifier: u8, length: usize) {
        self.out.push(identifier);
        if length < 0x80 {
            #[expect(clippy::cast_possible_truncation, reason = "checked above")]
            self.out.push(length as u8);
            return;
        }
        let mut octets = [0; 9];
        let count = usize::from(length_length(length));
        if let Some(octets) = octets.get_mut(..count) {
            put_length(octets, length);
            self.out.extend_from_slice(octets);
        }
    }

    /// Writes an element with this content.
    #[inline]
    pub fn element(&mut self, identifier: u8, content: &[u8]) {
        self.header(identifier, content.len());
        self.out.extend_from_slice(content);
    }

    /// Writes an OCTET STRING.
    #[inline]
    pub fn octet_string(&mut self, content: &[u8]) {
        self.element(tags::OCTET_STRING, content);
    }

    /// Writes an integer with this identifier (INTEGER, ENUMERATED or an implicit tag).
    #[inline]
    pub fn integer_of(&mut self, identifier: u8, value: i64) {
        let octets = value.to_be_bytes();
        let count = integer_length(value);
        self.out.push(identifier);
        // `count` is 1 to 8.
        self.out.extend(u8::try_from(count));
        self.out
            .extend_from_slice(octets.get(octets.len().saturating_sub(count)..).unwrap_or_default());
    }

    /// Writes an INTEGER.
    #[inline]
    pub fn integer(&mut self, value: i64) {
        self.integer_of(tags::INTEGER, value);
    }

    /// Writes an ENUMERATED.
    #[inline]
    pub fn enumerated(&mut self, value: i64) {
        self.integer_of(tags::ENUMERATED, value);
    }

    /// Writes a boolean with this identifier (BOOLEAN or an implicit tag). True is `FF` (RFC 4511 §5.1).
    #[inline]
    pub fn boolean_of(&mut self, identifier: u8, value: bool) {
        self.element(identifier, if value { &[0xff] } else { &[0x00] });
    }

    /// Writes a BOOLEAN; true is `FF` (RFC 4511 §5.1).
    #[inline]
    pub fn boolean(&mut self, value: bool) {
        self.boolean_of(tags::BOOLEAN, value);
    }

    /// Writes a constructed element whose content `fill` writes.
    #[inline]
    pub fn constructed<T>(&mut self, identifier: u8, fill: impl FnOnce(&mut Self) -> T) -> T {
        let mark = self.begin(identifier);
        let result = fill(self);
        self.end(mark);
        result
    }

    /// Appends octets that are elements already.
    #[inline]
    pub fn raw(&mut self, encoded: &[u8]) {
        self.out.extend_from_slice(encoded);
    }
}

/// How many octets the shortest form of this length takes: 1 to 9.
#[inline]
pub const fn length_length(length: usize) -> u8 {
    match length {
        0..=0x7f => 1,
        0x80..=0xff => 2,
        0x100..=0xffff => 3,
        0x1_0000..=0xff_ffff => 4,
        0x100_0000..=0xffff_ffff => 5,
        _ => 9,
    }
}

/// How many content octets an INTEGER of this value takes: 1 to 8.
#[inline]
pub const fn integer_length(value: i64) -> usize {
    let sign_bits = if value < 0 {
        value.leading_ones()
    } else {
        value.leading_zeros()
    };
    // One sign bit must remain.
    9 - (sign_bits as usize).div_ceil(8)
}

/// Fills `octets` with a length. `octets` has the length that [`length_length`] says.
fn put_length(octets: &mut [u8], length: usize) {
    match octets {
        [only] => *only = length.to_le_bytes()[0],
        [first, bytes @ ..] => {
            // At most eight octets follow.
            *first = 0x80 | bytes.len().to_le_bytes()[0];
            for (octet, byte) in bytes.iter_mut().rev().zip(length.to_le_bytes()) {
                *octet = byte;
            }
        }
        [] => {}
    }
}
