//! Indexes: every row agrees with the entries, and every entry is where it should be.
//!
//! The rows hold one set of pairs (key, entry ID), and the entries' values make another. One walk makes a sum of hashes
//! of each set, without memory. Where two sums differ, a second walk over that index finds the pairs that only one set
//! has.

use ironbark_model::number_map::NumberMap;

use super::{Deep, entries, findings::CheckFindings};
use crate::{
    EntryId, StoreError,
    catalog::{Index, IndexKind},
    keys::KeySet,
    posting::{chunk::Runs, list},
    record::image::Image,
    varint,
    write::index::image_keys,
};

/// Number and sum of the pairs of one index.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Sum {
    pairs: u64,
    hash: u64,
}

/// By index number.
pub(super) type Sums = NumberMap<Sum>;

/// Differences that are named for one index.
const NAMED: u64 = 10;

impl Sum {
    fn add(&mut self, key: &[u8], id: EntryId) {
        self.pairs += 1;
        let hash = xxhash_rust::xxh3::xxh3_64_with_seed(key, id);
        self.hash = self.hash.wrapping_add(hash);
    }
}

/// Adds the keys of an entry in each complete index.
pub(super) fn add_keys(
    deep: &Deep<'_>,
    id: EntryId,
    image: &Image,
    keys: &mut KeySet,
    sums: &mut Sums,
) -> Result<(), StoreError> {
    keys_of(deep, id, image, &deep.complete, keys)?;
    for key in keys.iter() {
        let mut rest = key;
        if let Some(number) = varint::take(&mut rest) {
            sums.entry(number).or_default().add(key, id);
        }
    }
    Ok(())
}

fn keys_of(
    deep: &Deep<'_>,
    id: EntryId,
    image: &Image,
    positions: &[u16],
    keys: &mut KeySet,
) -> Result<(), StoreError> {
    each_key_of(deep, id, image, positions, keys)?;
    keys.sort();
    Ok(())
}

/// The keys of an entry in the indexes at `positions`, as often as its values make them.
pub(super) fn each_key_of(
    deep: &Deep<'_>,
    id: EntryId,
    image: &Image,
    positions: &[u16],
    keys: &mut KeySet,
) -> Result<(), StoreError> {
    let view = deep.view;
    keys.clear();
    // Attributes that this schema does not know are in no index.
    let known = |number| view.catalog.attribute(number).is_some();
    let reduced;
    let image = if image.attributes.iter().all(|one| known(one.number)) {
        image
    } else {
        let mut known_part = image.clone();
        known_part.attributes.retain(|one| known(one.number));
        reduced = known_part;
        &reduced
    };
    image_keys(view.txn, view.tables(), view.catalog, id, image, Some(positions), keys)
}

/// Checks all rows, and compares them with the keys of the entries.
pub(super) fn check(deep: &Deep<'_>, wanted: &Sums, findings: &mut CheckFindings) -> Result<(), StoreError> {
    let view = deep.view;
    let mut found = Sums::default();
    let mut before: (Vec<u8>, EntryId) = (Vec::new(), 0);
    for row in view.tables().index.iter(view.txn)? {
        let (key, value) = row?;
        if findings.is_enough() {
            return Ok(());
        }
        let index = match owner(deep, key)? {
            Owner::Index(index) => Some(index),
            Owner::Unfinished => continue,
            Owner::Nobody => None,
        };
        let Some((index, list, runs)) = index.and_then(|index| {
            let (list, first) = split(index, key)?;
            Some((index, list, Runs::decode(first, value)?))
        }) else {
            findings.add("index: a row cannot be read");
            continue;
        };
        let first = runs.first().unwrap_or_default();
        if before.0 == list && (first <= before.1 || value.is_empty()) {
            findings.add(format!("index {}: chunks overlap", index.stored.text()));
        }
        before = (list.to_vec(), runs.last().unwrap_or_default());
        let sum = found.entry(index.stored.number).or_default();
        for id in runs.as_slice().iter().flat_map(|&(from, to)| from..=to) {
            // A damaged chunk may have a huge run of IDs that are out of bounds: one counts for all.
            if id > deep.last {
                sum.add(list, EntryId::MAX);
                break;
            }
            sum.add(list, id);
        }
    }
    for &at in &deep.complete {
        let Some(index) = view.catalog.indexes.get(usize::from(at)) else {
            continue;
        };
        let sum = |sums: &Sums| sums.get(&index.stored.number).copied().unwrap_or_default();
        if sum(&found) != sum(wanted) {
            differences(deep, index, at, findings)?;
        }
    }
    Ok(())
}

/// The index that a row belongs to.
enum Owner<'d> {
    Index(&'d Index),
    /// An index that is not complete, or whose keys are being deleted.
    Unfinished,
    Nobody,
}

fn owner<'d>(deep: &Deep<'d>, key: &[u8]) -> Result<Owner<'d>, StoreError> {
    let view = deep.view;
    let mut rest = key;
    let Some(number) = varint::take(&mut rest) else {
        return Ok(Owner::Nobody);
    };
    let known = view.catalog.indexes.iter().find(|index| index.stored.number == number);
    if let Some(index) = known {
        let is_complete = index.stored.is_complete();
        return Ok(if is_complete {
            Owner::Index(index)
        } else {
            Owner::Unfinished
        });
    }
    let row = view.tables().indexes.get(view.txn, varint::Key::new(number).bytes())?;
    Ok(row.map_or(Owner::Nobody, |_| Owner::Unfinished))
}

/// Splits a row's key into the key of its list and the first ID of the chunk.
fn split<'k>(index: &Index, key: &'k [u8]) -> Option<(&'k [u8], EntryId)> {
    let own = key.get(index.prefix.len()..)?;
    let length = match index.stored.kind {
        IndexKind::Presence => 0,
        IndexKind::EqualityHash | IndexKind::Approximate => 6,
        IndexKind::Substring => 3,
        IndexKind::EqualityOrdered => {
            // The key ends with 00 00; a 00 inside is followed by FF.
            let mut at = 0;
            while let Some(&[one, two]) = own.get(at..)?.first_chunk() {
                match (one, two) {
                    (0, 0) => break,
                    (0, _) => at += 2,
                    _ => at += 1,
                }
            }
            at + 2
        }
    };
    let list = index.prefix.len() + length;
    Some((key.get(..list)?, varint::read(key.get(list..)?)?))
}

/// Names the pairs that one index has and should not have, and the reverse.
fn differences(deep: &Deep<'_>, index: &Index, at: u16, findings: &mut CheckFindings) -> Result<(), StoreError> {
    let view = deep.view;
    let (tables, txn) = (view.tables(), view.txn);
    let name = index.stored.text();
    let (mut keys, before) = (KeySet::default(), findings.count());
    for row in tables.entries.iter(txn)? {
        let (key, bytes) = row?;
        let id = varint::read(key).unwrap_or(0);
        let Ok(image) = entries::image(deep, id, bytes) else {
            continue;
        };
        keys_of(deep, id, &image, &[at], &mut keys)?;
        for key in keys.iter() {
            if !list::contains(txn, &tables.index, key, id).unwrap_or(false) && findings.count() < before + NAMED {
                findings.add(format!("index {name}: entry {id} is missing"));
            }
        }
    }
    let before = findings.count();
    for row in tables.index.prefix_iter(txn, &index.prefix)? {
        let (key, value) = row?;
        let Some((list, runs)) = split(index, key).and_then(|(list, first)| Some((list, Runs::decode(first, value)?)))
        else {
            continue;
        };
        for id in runs.as_slice().iter().flat_map(|&(from, to)| from..=to) {
            if findings.count() >= before + NAMED {
                break;
            }
            keys.clear();
            if let Some(bytes) = view.record_bytes(id)? {
                // Nothing is known of an unreadable entry, and it was reported before.
                let Ok(image) = entries::image(deep, id, bytes) else {
                    continue;
                };
                keys_of(deep, id, &image, &[at], &mut keys)?;
            }
            if !keys.iter().any(|key| key == list) {
                findings.add(format!(
                    "index {name}: leads to entry {id}, which does not have the value"
                ));
            }
        }
    }
    Ok(())
}
