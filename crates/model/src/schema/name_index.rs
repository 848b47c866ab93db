//! A hash index from names in any case to numbers; look-ups allocate nothing.
//!
//! The hash has no key: the names are those of the schema. Clients choose only what is looked up, and a look-up passes
//! over the names of the schema at most.

/// Open addressing over a power of two of slots, at most half full.
#[derive(Debug, Default, Clone)]
pub(crate) struct NameIndex {
    /// The higher half of the hash, and the position in `names` plus one; 0 is free.
    slots: Vec<(u32, u32)>,
    names: Vec<(Box<[u8]>, u32)>,
}

impl NameIndex {
    /// The number of a name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let (mut slot, tag) = start(name, self.slots.len());
        loop {
            let (of, position) = *self.slots.get(slot)?;
            let position = position.checked_sub(1)?;
            if of == tag
                && let Some((found, number)) = self.names.get(usize::try_from(position).ok()?)
                && found.eq_ignore_ascii_case(name)
            {
                return Some(*number);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Adds a name; an earlier entry of the same name stays.
    pub(crate) fn insert(&mut self, name: &[u8], number: u32) {
        if self.find(name).is_some() {
            return;
        }
        self.names.push((name.into(), number));
        if self.names.len() * 2 > self.slots.len() {
            self.slots = vec![(0, 0); (self.names.len() * 4).next_power_of_two().max(16)];
            for position in 0..self.names.len() {
                self.place(position);
            }
        } else {
            self.place(self.names.len() - 1);
        }
    }

    fn place(&mut self, position: usize) {
        let Some((name, _)) = self.names.get(position) else {
            return;
        };
        let mask = self.slots.len() - 1;
        let (mut slot, tag) = start(name, self.slots.len());
        while let Some(value) = self.slots.get_mut(slot) {
            if value.1 == 0 {
                *value = (tag, u32::try_from(position + 1).unwrap_or(u32::MAX));
                return;
            }
            slot = (slot + 1) & mask;
        }
    }
}

/// The slot where the search begins, of `slots`, and the higher half of the hash. One bit of each byte is
/// left out, so that case does not matter.
fn start(name: &[u8], slots: usize) -> (usize, u32) {
    const CASELESS: u64 = u64::from_ne_bytes([b' '; 8]);
    let mut hash = 0;
    let mut take = |bytes: u64| hash = (bytes | CASELESS).wrapping_add(hash).wrapping_mul(FACTOR);
    if let Some(last) = name.last_chunk::<8>() {
        for chunk in name.chunks_exact(8).filter_map(<[u8]>::first_chunk::<8>) {
            take(u64::from_ne_bytes(*chunk));
        }
        take(u64::from_ne_bytes(*last));
    } else {
        let bytes = name.iter().fold(1, |bytes: u64, byte| bytes << 8 | u64::from(*byte));
        take(bytes);
    }
    // The highest bits of the hash: they depend on all bits of the name.
    let slot = (u128::from(hash) * slots as u128) >> 64;
    (
        usize::try_from(slot).unwrap_or(0),
        u32::try_from(hash >> 32).unwrap_or(0),
    )
}

/// An odd number whose bits are spread.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::NameIndex;

    #[test]
    fn finds_names_in_any_case() {
        let mut index = NameIndex::default();
        assert_eq!(index.find(b"cn"), None);
        for number in 0..1000_u32 {
            index.insert(format!("name{number}").as_bytes(), number);
        }
        for number in 0..1000_u32 {
            assert_eq!(index.find(format!("NaMe{number}").as_bytes()), Some(number));
        }
        assert_eq!(index.find(b"name1000"), None);
        index.insert(b"NAME5", 7);
        assert_eq!(index.find(b"name5"), Some(5), "the first entry of a name stays");
    }
}
