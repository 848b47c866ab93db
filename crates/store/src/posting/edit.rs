//! Adds one ID to a chunk, or removes one, without reading the whole chunk: most changes of an index keep the form of a
//! chunk.

use super::chunk::{BITMAP, DELTAS, MAX_BYTES, SMALL_BYTES};
use crate::{EntryId, varint};

/// What became of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Edit {
    /// The chunk was so already.
    Unchanged,
    /// The new value is in the buffer.
    Made,
    /// The key, the form or the number of chunks may have to change: read it whole.
    Rebuild,
}

/// Adds `id` to the chunk of `first` and `value`, or removes it. `None`: damaged.
pub(crate) fn edit(first: EntryId, value: &[u8], id: EntryId, member: bool, out: &mut Vec<u8>) -> Option<Edit> {
    let Some((&form, mut payload)) = value.split_first() else {
        return Some(Edit::Rebuild);
    };
    let count = varint::take(&mut payload)?;
    if id <= first {
        return Some(if id == first && member {
            Edit::Unchanged
        } else {
            Edit::Rebuild
        });
    }
    out.clear();
    out.push(form);
    varint::put(
        out,
        if member {
            count.checked_add(1)?
        } else {
            count.checked_sub(1)?
        },
    );
    let made = match form {
        DELTAS => edit_deltas(first, payload, id, member, out)?,
        BITMAP => edit_bitmap(payload, id - first - 1, member, out)?,
        _ => Edit::Rebuild,
    };
    if made == Edit::Made && !(SMALL_BYTES..=MAX_BYTES).contains(&out.len()) {
        // A short chunk grows in place. Past the limits, chunks are cut or joined with the next one.
        let grows = member && out.len() < SMALL_BYTES;
        return Some(if grows { Edit::Made } else { Edit::Rebuild });
    }
    Some(made)
}

fn edit_deltas(first: EntryId, payload: &[u8], id: EntryId, member: bool, out: &mut Vec<u8>) -> Option<Edit> {
    let mut before = first;
    let mut rest = payload;
    while !rest.is_empty() {
        let here = rest;
        let next = before.checked_add(varint::take(&mut rest)?)?.checked_add(1)?;
        if next < id {
            before = next;
            continue;
        }
        out.extend_from_slice(payload.get(..payload.len() - here.len())?);
        match (next == id, member) {
            (true, true) | (false, false) => return Some(Edit::Unchanged),
            (false, true) => {
                varint::put(out, id - before - 1);
                varint::put(out, next - id - 1);
            }
            (true, false) if rest.is_empty() => {}
            (true, false) => {
                let after = id.checked_add(varint::take(&mut rest)?)?.checked_add(1)?;
                varint::put(out, after - before - 1);
            }
        }
        out.extend_from_slice(rest);
        return Some(Edit::Made);
    }
    if !member {
        return Some(Edit::Unchanged);
    }
    out.extend_from_slice(payload);
    varint::put(out, id - before - 1);
    Some(Edit::Made)
}

/// `at` is the number of the bit.
fn edit_bitmap(payload: &[u8], at: u64, member: bool, out: &mut Vec<u8>) -> Option<Edit> {
    let place = usize::try_from(at / 8).ok()?;
    let Some(&old) = payload.get(place) else {
        return Some(if member { Edit::Rebuild } else { Edit::Unchanged });
    };
    let bit = 1 << (at % 8);
    if (old & bit != 0) == member {
        return Some(Edit::Unchanged);
    }
    let start = out.len();
    out.extend_from_slice(payload);
    let new = out.get_mut(start + place)?;
    *new ^= bit;
    // The last byte is not zero; and a bitmap that has grown sparse is not the smallest form.
    let is_sparse = *new == 0;
    Some(if is_sparse { Edit::Rebuild } else { Edit::Made })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::posting::chunk::{Runs, count};

    fn runs_of(ids: &BTreeSet<u64>) -> Runs {
        let mut runs = Runs::default();
        for &id in ids {
            runs.push(id, id);
        }
        runs
    }

    fn sets() -> impl Strategy<Value = BTreeSet<u64>> {
        prop_oneof![
            proptest::collection::btree_set(1u64..4000, 1..900),
            proptest::collection::btree_set(1u64..1 << 40, 1..300),
            proptest::collection::btree_set(1u64..600, 1..500),
        ]
    }

    proptest! {
        #[test]
        fn an_edited_chunk_is_the_set_with_the_change(ids in sets(), id in 1u64..4200, pick in any::<prop::sample::Index>(),
            known in any::<bool>(), member in any::<bool>()) {
            let first = *ids.first().unwrap();
            let id = if known { *pick.get(&ids.iter().copied().collect::<Vec<_>>()) } else { id };
            let mut value = Vec::new();
            runs_of(&ids).encode(false, &mut value);
            let mut changed = ids.clone();
            let is_changed = if member { changed.insert(id) } else { changed.remove(&id) };
            let mut out = Vec::new();
            match edit(first, &value, id, member, &mut out).unwrap() {
                Edit::Unchanged => prop_assert!(!is_changed),
                Edit::Made => {
                    prop_assert!(is_changed && out.len() <= MAX_BYTES);
                    prop_assert_eq!(count(&out), Some(changed.len() as u64));
                    prop_assert_eq!(Runs::decode(first, &out), Some(runs_of(&changed)));
                }
                Edit::Rebuild => {}
            }
        }
        #[test]
        fn hostile_bytes_are_no_panic(first in any::<u64>(), bytes in proptest::collection::vec(any::<u8>(), 0..64), id in any::<u64>()) {
            let mut out = Vec::new();
            let _ = edit(first, &bytes, id, true, &mut out);
            let _ = edit(first, &bytes, id, false, &mut out);
        }
    }

    #[test]
    fn the_usual_change_is_made_in_place() {
        let ids: BTreeSet<u64> = (0..900u64).map(|n| 1 + n * 11).collect();
        let (mut value, mut out) = (Vec::new(), Vec::new());
        runs_of(&ids).encode(false, &mut value);
        for (id, member) in [(5, true), (12, false), (11 * 899 + 1, false), (20_000, true)] {
            assert_eq!(edit(1, &value, id, member, &mut out), Some(Edit::Made), "{id} {member}");
        }
    }
}
