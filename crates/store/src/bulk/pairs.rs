//! Pairs of a key and the entry that has it, gathered in any order and sorted in memory.

use crate::StoreError;

/// Gathers pairs. Entries are told apart by 32-bit numbers of the caller's choice.
#[derive(Default)]
pub(super) struct Pairs {
    items: Vec<Item>,
    arena: Vec<u8>,
}

/// The first eight bytes of the key (zeros behind its end) decide most comparisons.
///
/// `at` is the length of a key that has no more bytes. For a longer key it is [`ARENA`] plus the place in the arena,
/// which holds the length of the key (two bytes, little end first) and its bytes from the ninth on.
#[derive(Clone, Copy)]
struct Item {
    prefix: u64,
    entry: u32,
    at: u32,
}

/// Keys of up to so many bytes need no room in the arena.
const SHORT: usize = 8;
/// This is added to offsets in the arena: a smaller number is a length.
const ARENA: usize = SHORT + 1;

impl Item {
    /// The length, and the bytes from the ninth on.
    fn rest<'a>(&self, arena: &'a [u8]) -> (usize, &'a [u8]) {
        let at = self.at as usize;
        let Some(offset) = at.checked_sub(ARENA) else {
            return (at, &[]);
        };
        let Some((&[low, high], rest)) = arena.get(offset..).and_then(<[u8]>::split_first_chunk) else {
            return (SHORT, &[]);
        };
        let length = usize::from(u16::from_le_bytes([low, high]));
        (length, rest.get(..length - SHORT).unwrap_or_default())
    }
    fn compare(&self, other: &Self, arena: &[u8]) -> std::cmp::Ordering {
        self.prefix.cmp(&other.prefix).then_with(|| {
            if (self.at as usize) < ARENA && (other.at as usize) < ARENA {
                return self.at.cmp(&other.at);
            }
            let (mine, others) = (self.rest(arena), other.rest(arena));
            mine.1.cmp(others.1).then(mine.0.cmp(&others.0))
        })
    }
}

/// The first eight bytes of a key as a number, zeros behind its end.
fn leading(key: &[u8]) -> u64 {
    let mut bytes = [0; SHORT];
    for (to, from) in bytes.iter_mut().zip(key) {
        *to = *from;
    }
    u64::from_be_bytes(bytes)
}

impl Pairs {
    /// Adds a pair.
    ///
    /// # Errors
    /// The keys take more than 4 GiB: write them out before adding more.
    pub(super) fn push(&mut self, key: &[u8], entry: u32) -> Result<(), StoreError> {
        let at = if key.len() <= SHORT {
            key.len()
        } else {
            let at = self.arena.len() + ARENA;
            let length = u16::try_from(key.len()).map_err(|_| StoreError::Format("an index key is too long".into()))?;
            self.arena.extend_from_slice(&length.to_le_bytes());
            self.arena.extend_from_slice(key.get(SHORT..).unwrap_or_default());
            at
        };
        let at = u32::try_from(at).map_err(|_| StoreError::Full("4 GiB of keys in memory".into()))?;
        self.items.push(Item {
            prefix: leading(key),
            entry,
            at,
        });
        Ok(())
    }
    /// Bytes in use.
    pub(super) fn memory(&self) -> usize {
        self.items.len() * size_of::<Item>() + self.arena.len()
    }
    /// Sorts by key, then by entry.
    pub(super) fn sort(&mut self) {
        let arena = self.arena.as_slice();
        self.items
            .sort_unstable_by(|a, b| a.compare(b, arena).then(a.entry.cmp(&b.entry)));
    }
    /// Reads the group of equal keys at `from`, after sorting. Returns the position of the next group; `None` at the
    /// end.
    pub(super) fn group(&self, from: usize, key: &mut Vec<u8>, entries: &mut Vec<u32>) -> Option<usize> {
        let rest = self.items.get(from..)?;
        let first = rest.first()?;
        let equal = |item: &&Item| item.compare(first, &self.arena).is_eq();
        entries.clear();
        entries.extend(rest.iter().take_while(equal).map(|item| item.entry));
        let (length, tail) = first.rest(&self.arena);
        let head = first.prefix.to_be_bytes();
        key.clear();
        key.extend_from_slice(head.get(..length.min(SHORT)).unwrap_or_default());
        key.extend_from_slice(tail);
        Some(from + entries.len())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorted_groups_are_an_ordered_map(
            pairs in proptest::collection::vec((proptest::collection::vec(0u8..2, 0..14), 1u32..50), 0..300),
        ) {
            let mut gathered = Pairs::default();
            let mut expected: BTreeMap<Vec<u8>, Vec<u32>> = BTreeMap::new();
            for (key, entry) in &pairs {
                gathered.push(key, *entry).unwrap();
                expected.entry(key.clone()).or_default().push(*entry);
            }
            gathered.sort();
            let (mut at, mut key, mut entries) = (0, Vec::new(), Vec::new());
            for (wanted, mut of) in expected {
                of.sort_unstable();
                at = gathered.group(at, &mut key, &mut entries).unwrap();
                prop_assert_eq!(&key, &wanted);
                prop_assert_eq!(&entries, &of);
            }
            prop_assert!(gathered.group(at, &mut key, &mut entries).is_none());
        }
    }
}
