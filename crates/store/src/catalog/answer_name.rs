//! The names of attributes as answers have them.

use ironbark_ber::tags;

use crate::record::codec;

/// The data that an answer needs about an attribute description. It is small, so that the data for a whole entry stays
/// in the nearest cache.
#[derive(Clone, Debug)]
pub(crate) struct AnswerName {
    /// What precedes the values of a short attribute: `30 0 04 len name 31 0`. The two lengths are put in later. Zeros
    /// follow.
    head: [u8; HEAD],
    /// Octets of the head; 0: the name is too long for it.
    length: u8,
    /// Whether the type is operational: `*` does not select it.
    pub(crate) is_operational: bool,
    /// The description as printed, as an OCTET STRING: `04 len name`.
    pub(crate) encoded: Box<[u8]>,
}

/// Octets of a head that are copied, however long it is: three registers of 16.
pub(crate) const HEAD: usize = 48;

/// What precedes the values of an attribute whose values have less than 128 octets.
#[derive(Clone, Copy)]
pub(crate) struct ShortHead<'n> {
    /// The octets, then zeros.
    pub(crate) octets: &'n [u8; HEAD],
    /// How many they are: from 6 to [`HEAD`]. The last one is the length of the values, the second one that
    /// of all behind it.
    pub(crate) length: u8,
    /// What the second octet must be.
    pub(crate) content: u8,
    /// What the last octet must be.
    pub(crate) values: u8,
}

impl AnswerName {
    pub(crate) fn new(text: &str, is_operational: bool) -> Self {
        let mut encoded = Vec::with_capacity(text.len() + 2);
        codec::put_value(text.as_bytes(), &mut encoded);
        let octets = [&[tags::SEQUENCE, 0], &*encoded, &[tags::SET, 0]].concat();
        let (mut head, mut length) = ([0; HEAD], 0);
        if let Some(place) = head.get_mut(..octets.len()) {
            place.copy_from_slice(&octets);
            length = u8::try_from(octets.len()).unwrap_or_default();
        }
        Self {
            head,
            length,
            is_operational,
            encoded: encoded.into(),
        }
    }

    /// The head for values of so many octets. `None`: they or the name are too long for lengths of one octet.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "part of the innermost loop of every answer")]
    pub(crate) fn short_head(&self, values: usize) -> Option<ShortHead<'_>> {
        let content = usize::from(self.length).checked_sub(2)? + values;
        let (content @ ..0x80, values) = (u8::try_from(content).ok()?, u8::try_from(values).ok()?) else {
            return None;
        };
        Some(ShortHead {
            octets: &self.head,
            length: self.length,
            content,
            values,
        })
    }
}
