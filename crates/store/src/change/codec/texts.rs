//! Texts that the records of a row share: a repeated one is a reference to where it stood before.

/// Places that are remembered.
const PLACES: usize = 64;
/// Lengths of texts that are remembered: a reference to a shorter one saves nothing.
const LENGTHS: std::ops::RangeInclusive<usize> = 3..=255;

/// Where texts stand in the bytes of a row. Writer and reader remember the same ones.
pub(super) struct Texts([Place; PLACES]);

/// Position and length; a length of 0: none.
#[derive(Clone, Copy, Default)]
struct Place(u32, u8);

impl Default for Texts {
    fn default() -> Self {
        Self([Place::default(); PLACES])
    }
}

impl Texts {
    /// The place of a text, if it stands in `row` already and is remembered.
    pub(super) fn place_of(&self, text: &[u8], row: &[u8]) -> Option<usize> {
        let place = place(text)?;
        (self.at(place, row) == Some(text)).then_some(place)
    }

    /// The text of a place. `None`: there is none.
    pub(super) fn at<'r>(&self, place: usize, row: &'r [u8]) -> Option<&'r [u8]> {
        let Place(from, length) = *self.0.get(place)?;
        let (from, length) = (usize::try_from(from).ok()?, usize::from(length));
        row.get(from..from.checked_add(length)?).filter(|text| !text.is_empty())
    }

    /// Remembers a text that stands at `from` in its row.
    pub(super) fn remember(&mut self, text: &[u8], from: usize) {
        if let Some(place) = place(text)
            && let (Some(known), Ok(from), Ok(length)) =
                (self.0.get_mut(place), u32::try_from(from), u8::try_from(text.len()))
        {
            *known = Place(from, length);
        }
    }
}

/// Where a text is remembered, by its length, its first and its last eight bytes; `None`: too short or too long.
fn place(text: &[u8]) -> Option<usize> {
    if !LENGTHS.contains(&text.len()) {
        return None;
    }
    let (first, last) = match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => (text.iter().fold(0, |bytes, byte| bytes << 8 | u64::from(*byte)), 0),
    };
    let mixed = (first ^ last.rotate_left(29) ^ text.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // The highest six bits.
    usize::try_from(mixed >> 58).ok()
}
