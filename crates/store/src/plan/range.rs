//! Stretches of an ordered equality index: `>=` and `<=`.

use std::ops::Bound;

use crate::{StoreError, View, catalog::Index, keys, posting::IdSet, posting::chunk, varint};

/// Keys from `from` on, below `to` (`None`: to the end of the index), all with `prefix`.
#[derive(Clone, Debug)]
pub(super) struct KeyRange {
    prefix: usize,
    from: Vec<u8>,
    to: Option<Vec<u8>>,
}

/// Chunks that a probe looks at.
const PROBE_CHUNKS: usize = 64;
/// Steps for reading a chunk.
const CHUNK_STEPS: u64 = 2;

impl KeyRange {
    /// Values at or above the normal form whose open key is `bound`.
    pub(super) fn from(index: &Index, bound: Vec<u8>) -> Self {
        Self {
            prefix: index.prefix.len(),
            from: bound,
            to: successor(&index.prefix),
        }
    }
    /// Values at or below it, including cut values that begin like it.
    pub(super) fn up_to(index: &Index, bound: Vec<u8>) -> Self {
        // An equal value's key goes on with 00 00 and an ID. 00 FF or anything else begins a greater value.
        let mut to = bound;
        to.extend_from_slice(&[0x00, 0x01]);
        Self {
            prefix: index.prefix.len(),
            from: index.prefix.to_vec(),
            to: Some(to),
        }
    }
}

/// The first key behind all that begin with `prefix`.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut next = prefix.to_vec();
    while let Some(last) = next.pop() {
        if last < 0xff {
            next.push(last + 1);
            return Some(next);
        }
    }
    None
}

/// Calls `visit` with first ID and chunk of each row, until it returns `false`.
fn walk(
    view: View<'_>,
    range: &KeyRange,
    mut visit: impl FnMut(u64, &[u8]) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let damaged = || StoreError::damaged("a key of an ordered index");
    let to = range.to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let bounds = (Bound::Included(range.from.as_slice()), to);
    for row in view.tables().index.range(view.txn, &bounds)? {
        let (key, chunk) = row?;
        let value = key.get(range.prefix..).ok_or_else(damaged)?;
        let length = keys::ordered_length(value).ok_or_else(damaged)?;
        let first = value.get(length..).and_then(varint::read).ok_or_else(damaged)?;
        if !visit(first, chunk)? {
            break;
        }
    }
    Ok(())
}

/// Number of IDs in the stretch, and whether all were counted.
pub(super) fn probe(view: View<'_>, range: &KeyRange) -> Result<(u64, bool), StoreError> {
    let (mut count, mut chunks) = (0u64, 0);
    walk(view, range, |_, value| {
        count += chunk::count(value).ok_or_else(|| StoreError::damaged("a posting chunk"))?;
        chunks += 1;
        Ok(chunks < PROBE_CHUNKS)
    })?;
    if chunks < PROBE_CHUNKS {
        return Ok((count, true));
    }
    // Nothing cheap gives the exact number: a third of the entries is the planner's usual guess for an open range.
    Ok((count.max(view.entry_count()? / 3), false))
}

/// All IDs in the stretch.
pub(super) fn fetch(view: View<'_>, range: &KeyRange) -> Result<IdSet, StoreError> {
    let mut set = IdSet::Nothing;
    walk(view, range, |first, value| {
        set.insert_chunk(first, value)
            .ok_or_else(|| StoreError::damaged("a posting chunk"))?;
        Ok(view.spend(CHUNK_STEPS))
    })?;
    Ok(set)
}
