//! A branch or leaf page, and a node in it. Nothing that a page says is believed before it was looked at: each place is
//! within its page.

use crate::check::{
    file::{HEADER, u16_at, u64_at},
    tree::{BIG, KINDS, NODE, node_length},
};

/// A page whose header is that of the expected page.
#[derive(Clone, Copy)]
pub(super) struct Page<'t> {
    bytes: &'t [u8],
    /// Number of its nodes.
    pub(super) count: usize,
}

/// A node.
#[derive(Clone, Copy)]
pub(super) struct Node<'t> {
    pub(super) key: &'t [u8],
    flags: u16,
    /// Length of the value; in a branch page, the lower part of the child's number.
    length: usize,
    /// What follows the key in the page.
    rest: &'t [u8],
}

/// The value of a node in a leaf.
#[derive(Clone, Copy)]
pub(super) enum Value<'t> {
    Here(&'t [u8]),
    /// Number of its first page, length.
    Overflow(u64, usize),
}

/// Bytes of a key that are compared as one number.
const LEADING: usize = 8;

/// The first eight bytes of a key as a number, zeros behind its end.
#[inline]
pub(super) fn leading(key: &[u8]) -> u64 {
    if let Some(bytes) = key.first_chunk() {
        return u64::from_be_bytes(*bytes);
    }
    key.iter()
        .zip((0..LEADING).rev())
        .fold(0, |number, (byte, place)| number | u64::from(*byte) << (8 * place))
}

impl<'t> Page<'t> {
    /// `None`: it is not the page of this number and kind, or is damaged.
    #[inline]
    pub(super) fn of(bytes: &'t [u8], number: u64, kind: u16) -> Option<Self> {
        let is_it = u64_at(bytes, 0)? == number && u16_at(bytes, 10)? & KINDS == kind;
        let lower = usize::from(u16_at(bytes, 12)?);
        let count = lower.checked_sub(HEADER)? / 2;
        (is_it && lower <= bytes.len() && count > 0).then_some(Self { bytes, count })
    }

    /// Where a node begins.
    #[inline]
    fn place(&self, at: usize) -> Option<usize> {
        Some(usize::from(u16_at(self.bytes, HEADER + 2 * at)?))
    }

    /// The first eight bytes of a node's key as a number. A shorter key is read together with the end of the node's
    /// header, which lies before it: never a byte behind the node, which may be the file's last.
    #[inline]
    pub(super) fn leading(&self, at: usize) -> Option<u64> {
        let place = self.place(at)?;
        let length = usize::from(u16_at(self.bytes, place + NODE - 2)?).min(LEADING);
        let start = place + NODE + length - LEADING;
        let bytes = self.bytes.get(start..)?.first_chunk()?;
        let number = u64::from_be_bytes(*bytes);
        let missing = 8 * (LEADING - length);
        Some(
            u32::try_from(missing)
                .ok()
                .and_then(|bits| number.checked_shl(bits))
                .unwrap_or(0),
        )
    }

    /// A byte of a node, to be requested from memory.
    #[inline]
    pub(super) fn at_node(&self, at: usize) -> Option<&'t u8> {
        self.bytes.get(self.place(at)?)
    }

    /// A node.
    #[inline]
    pub(super) fn node(&self, at: usize) -> Option<Node<'t>> {
        let place = self.place(at)?;
        let key_length = usize::from(u16_at(self.bytes, place + NODE - 2)?);
        let (key, rest) = self.bytes.get(place + NODE..)?.split_at_checked(key_length)?;
        Some(Node {
            key,
            flags: u16_at(self.bytes, place + 4)?,
            length: node_length(self.bytes, place)?,
            rest,
        })
    }
}

impl<'t> Node<'t> {
    /// Number of the child, of a node in a branch page.
    #[inline]
    pub(super) fn child(&self) -> u64 {
        self.length as u64 | u64::from(self.flags) << 32
    }

    /// The value, of a node in a leaf. `None`: it is of another kind, or damaged.
    #[inline]
    pub(super) fn value(&self) -> Option<Value<'t>> {
        match self.flags {
            0 => self.rest.get(..self.length).map(Value::Here),
            BIG => Some(Value::Overflow(u64_at(self.rest, 0)?, self.length)),
            _ => None,
        }
    }
}
