//! Ordered varints: unsigned integers whose byte order is their numeric order, used in keys and in records.
//!
//! The number of leading one bits of the first byte is the number of further bytes. `0xxxxxxx` holds 7 bits, `10xxxxxx`
//! and one byte hold 14, and so on to `11111111` and eight bytes for 64. The form is always the shortest; a longer one
//! is refused when read, so that one number has one key.

/// The longest encoding.
pub(crate) const MAX_LENGTH: usize = 9;

/// Number of bytes that `value` takes.
pub(crate) const fn length(value: u64) -> usize {
    let bits = 64 - value.leading_zeros() as usize;
    if bits <= 7 {
        1
    } else if bits > 56 {
        9
    } else {
        bits.div_ceil(7)
    }
}

/// Appends `value`.
pub(crate) fn put(out: &mut Vec<u8>, value: u64) {
    let (bytes, from) = encode(value);
    out.extend_from_slice(bytes.get(from..).unwrap_or_default());
}

/// The encoding, at the end of an array from the returned position on.
fn encode(value: u64) -> ([u8; MAX_LENGTH], usize) {
    let length = length(value);
    let further = length - 1;
    let mut bytes = [0u8; MAX_LENGTH];
    let [_, low @ ..] = &mut bytes;
    *low = value.to_be_bytes();
    let from = MAX_LENGTH - length;
    if let Some(first) = bytes.get_mut(from) {
        // 8 further bytes: all ones; otherwise `further` ones and a zero at the top.
        let mark = if further >= 8 { 0xff } else { !(0xffu8 >> further) };
        *first |= mark;
    }
    (bytes, from)
}

/// Reads one integer from the front and moves `input` behind it. `None`: cut off or not the shortest form.
#[inline]
pub(crate) fn take(input: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = input.split_first()?;
    if first < 0x80 {
        *input = rest;
        return Some(u64::from(first));
    }
    if first < 0xc0
        && let Some((&second, rest)) = rest.split_first()
    {
        let value = (u64::from(first & 0x3f) << 8) | u64::from(second);
        // A smaller value has a shorter form.
        if value >= 0x80 {
            *input = rest;
            return Some(value);
        }
    }
    take_long(first, rest, input)
}

#[cold]
fn take_long<'a>(first: u8, rest: &'a [u8], input: &mut &'a [u8]) -> Option<u64> {
    let further = first.leading_ones() as usize;
    let (bytes, rest) = rest.split_at_checked(further)?;
    let top = if further >= 7 {
        0
    } else {
        u64::from(first & (0x7f >> further))
    };
    let value = bytes.iter().fold(top, |value, &byte| (value << 8) | u64::from(byte));
    if length(value) != further + 1 {
        return None;
    }
    *input = rest;
    Some(value)
}

/// Reads an integer that must fill `input`.
pub(crate) fn read(mut input: &[u8]) -> Option<u64> {
    let value = take(&mut input)?;
    input.is_empty().then_some(value)
}

/// A key of one integer, without the heap.
pub(crate) struct Key([u8; MAX_LENGTH], usize);

impl Key {
    /// The key of `value`.
    pub(crate) fn new(value: u64) -> Self {
        let (bytes, from) = encode(value);
        Self(bytes, from)
    }
    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.get(self.1..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_shortest_form_is_written() {
        let cases: [(u64, &[u8]); 8] = [
            (0, &[0]),
            (127, &[0x7f]),
            (128, &[0x80, 0x80]),
            (16383, &[0xbf, 0xff]),
            (16384, &[0xc0, 0x40, 0x00]),
            ((1 << 56) - 1, &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            (1 << 56, &[0xff, 1, 0, 0, 0, 0, 0, 0, 0]),
            (u64::MAX, &[0xff; 9]),
        ];
        for (value, bytes) in cases {
            assert_eq!(Key::new(value).bytes(), bytes, "{value}");
        }
    }

    #[test]
    fn a_longer_form_is_refused() {
        assert_eq!(read(&[0x80, 0x01]), None);
        assert_eq!(read(&[0xff, 0, 0, 0, 0, 0, 0, 0, 1]), None);
        assert_eq!(read(&[0x80]), None);
        assert_eq!(read(&[]), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(shift in 0u32..64, value in any::<u64>()) {
            let value = value >> shift;
            let mut out = Vec::new();
            put(&mut out, value);
            prop_assert_eq!(out.len(), length(value));
            prop_assert_eq!(read(&out), Some(value));
        }
        #[test]
        fn byte_order_is_numeric_order(a in any::<u64>(), b in any::<u64>(), s in 0u32..64, t in 0u32..64) {
            let (a, b) = (a >> s, b >> t);
            prop_assert_eq!(Key::new(a).bytes().cmp(Key::new(b).bytes()), a.cmp(&b));
        }
        #[test]
        fn hostile_bytes_are_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..12)) {
            let _ = read(&bytes);
        }
    }
}
