//! Distances between IDs, as varints. Most take an octet or two; four of those are decoded at a time, without a branch
//! for each.

use crate::{EntryId, varint};

/// Distances of up to two octets that eight octets hold.
const AT_ONCE: usize = 4;

/// Eight octets that begin with a distance.
struct Block {
    word: u64,
    /// Octets that have been taken.
    taken: usize,
}

impl Block {
    /// `None`: there are fewer octets.
    #[inline]
    fn first(of: &[u8]) -> Option<Self> {
        let word = u64::from_le_bytes(*of.first_chunk()?);
        Some(Self { word, taken: 0 })
    }

    /// The next of [`AT_ONCE`] distances. `None`: it is longer than two octets, or damaged.
    #[inline]
    fn take(&mut self) -> Option<u64> {
        let (first, second) = (self.word & 0xff, self.word >> 8 & 0xff);
        let is_long = first >> 7;
        let long = (first & 0x3f) << 8 | second;
        let distance = if is_long == 1 { long } else { first };
        self.word = self.word >> 8 >> (8 * is_long);
        self.taken += 1 + usize::from(is_long == 1);
        (first < 0xc0 && distance >= is_long << 7).then_some(distance)
    }

    /// The IDs of all its distances behind the ID `at`. `None`: one is longer than two octets, or damaged.
    #[inline]
    fn ids(&mut self, mut at: EntryId) -> Option<[EntryId; AT_ONCE]> {
        let mut ids = [0; AT_ONCE];
        for id in &mut ids {
            at = at.checked_add(self.take()? + 1)?;
            *id = at;
        }
        Some(ids)
    }
}

/// Decodes distances behind the ID `at` until the ID is not below `id`, or no distance is left. Returns the ID and the
/// remaining octets. `None`: damaged.
#[inline]
pub(super) fn skip(mut at: EntryId, mut rest: &[u8], id: EntryId) -> Option<(EntryId, &[u8])> {
    while at < id && !rest.is_empty() {
        let mut decoded = 0;
        if let Some(mut block) = Block::first(rest) {
            for _ in 0..AT_ONCE {
                let Some(distance) = block.take() else { break };
                at = at.checked_add(distance)?.checked_add(1)?;
                decoded = block.taken;
                if at >= id {
                    break;
                }
            }
            rest = rest.get(decoded..)?;
        }
        if decoded == 0 {
            at = at.checked_add(varint::take(&mut rest)?)?.checked_add(1)?;
        }
    }
    Some((at, rest))
}

/// Calls `look` with the IDs behind `at`, until one is not below `last`, or none is left. Returns the last ID and the
/// remaining octets. `None`: damaged.
#[inline]
pub(super) fn visit(
    mut at: EntryId,
    mut rest: &[u8],
    last: EntryId,
    mut look: impl FnMut(EntryId),
) -> Option<(EntryId, &[u8])> {
    while at < last && !rest.is_empty() {
        if let Some(mut block) = Block::first(rest)
            && let Some(ids) = block.ids(at)
            && ids[AT_ONCE - 1] < last
        {
            ids.into_iter().for_each(&mut look);
            (at, rest) = (ids[AT_ONCE - 1], rest.get(block.taken..)?);
        } else {
            at = at.checked_add(varint::take(&mut rest)?)?.checked_add(1)?;
            look(at);
        }
    }
    Some((at, rest))
}

/// Appends the IDs behind `at` to `out` until it has `most`, or none is left. Returns the last ID and the remaining
/// octets. `None`: damaged.
pub(super) fn read<'r>(
    mut at: EntryId,
    mut rest: &'r [u8],
    most: usize,
    out: &mut Vec<EntryId>,
) -> Option<(EntryId, &'r [u8])> {
    while out.len() < most && !rest.is_empty() {
        if out.len() + AT_ONCE <= most
            && let Some(mut block) = Block::first(rest)
            && let Some(ids) = block.ids(at)
        {
            out.extend_from_slice(&ids);
            (at, rest) = (ids[AT_ONCE - 1], rest.get(block.taken..)?);
        } else {
            at = at.checked_add(varint::take(&mut rest)?)?.checked_add(1)?;
            out.push(at);
        }
    }
    Some((at, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(distances: &[u64]) -> Vec<u8> {
        let mut octets = Vec::new();
        for &distance in distances {
            varint::put(&mut octets, distance);
        }
        octets
    }

    fn ids(first: EntryId, distances: &[u64]) -> Vec<EntryId> {
        let mut at = first;
        let next = |distance: &u64| {
            at += distance + 1;
            at
        };
        distances.iter().map(next).collect()
    }

    fn distances() -> impl Strategy<Value = Vec<u64>> {
        let distance = prop_oneof![0..127_u64, 100..140_u64, 127..20_000_u64, 0..1_u64 << 40];
        let short = prop_oneof![0..127_u64, 120..16_384_u64];
        prop_oneof![
            prop::collection::vec(distance, 0..60),
            prop::collection::vec(short, 0..60)
        ]
    }

    proptest! {
        #[test]
        fn skipping_ends_where_one_by_one_does(distances in distances(), first in 1..1000_u64, asked in 0..400_000_u64) {
            let (octets, all) = (encoded(&distances), ids(first, &distances));
            let asked = first + asked;
            let (at, rest) = skip(first, &octets, asked).unwrap();
            let behind = if first >= asked { 0 } else { all.iter().position(|&id| id >= asked).map_or(all.len(), |place| place + 1) };
            prop_assert_eq!(at, behind.checked_sub(1).map_or(first, |last| all[last]));
            prop_assert_eq!(rest, &encoded(&distances[behind..])[..]);
        }

        #[test]
        fn all_up_to_the_last_are_looked_at(distances in distances(), first in 1..1000_u64, asked in 0..400_000_u64) {
            let (octets, all) = (encoded(&distances), ids(first, &distances));
            let last = first + asked;
            let mut seen = Vec::new();
            let end = visit(first, &octets, last, |id| seen.push(id)).unwrap();
            prop_assert_eq!(end, skip(first, &octets, last).unwrap());
            prop_assert_eq!(&seen[..], &all[..seen.len()]);
            prop_assert_eq!(seen.last().copied().unwrap_or(first), end.0);
        }

        #[test]
        fn so_many_are_read_as_are_asked_for(distances in distances(), first in 1..1000_u64, most in 0..70_usize) {
            let (octets, all) = (encoded(&distances), ids(first, &distances));
            let mut out = Vec::new();
            let (at, rest) = read(first, &octets, most, &mut out).unwrap();
            let count = most.min(all.len());
            prop_assert_eq!(&out[..], &all[..count]);
            prop_assert_eq!(at, out.last().copied().unwrap_or(first));
            prop_assert_eq!(rest, &encoded(&distances[count..])[..]);
        }

        #[test]
        fn damage_is_no_panic(octets in prop::collection::vec(any::<u8>(), 0..40), first in any::<u64>(), asked in any::<u64>()) {
            let _ = skip(first, &octets, asked);
            let _ = visit(first, &octets, asked, |_| {});
            let _ = read(first, &octets, 50, &mut Vec::new());
        }
    }
}
