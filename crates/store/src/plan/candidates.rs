//! The candidates of a plan, in ascending order from any ID on.

use heed::{RoRange, types::Bytes};
use smallvec::SmallVec;

use super::{Plan, Source};
use crate::{
    EntryId, StoreError, View,
    record::codec::{self, FLAG_PLACEHOLDER},
    varint,
};

/// Entry IDs in ascending order, each still to be verified: scope and filter are checked on the record.
pub struct Candidates<'t> {
    inner: Inner<'t>,
}

enum Inner<'t> {
    Short(smallvec::IntoIter<[EntryId; 16]>),
    Many {
        ids: std::sync::Arc<roaring::RoaringTreemap>,
        buffer: std::vec::IntoIter<EntryId>,
        after: EntryId,
    },
    Rows {
        rows: RoRange<'t, Bytes, Bytes>,
        parent: Option<EntryId>,
    },
}

/// IDs that are taken from a bitmap at a time.
const BUFFER: usize = 256;

impl<'t> Candidates<'t> {
    pub(crate) fn new(view: View<'t>, plan: &Plan, after: EntryId) -> Result<Self, StoreError> {
        let inner = match &plan.source {
            Source::Nothing => Inner::Short(SmallVec::new().into_iter()),
            Source::One(id) if *id > after => Inner::Short(SmallVec::from_slice(&[*id]).into_iter()),
            Source::One(_) => Inner::Short(SmallVec::new().into_iter()),
            Source::Short(ids) => {
                let from = ids.partition_point(|&id| id <= after);
                Inner::Short(SmallVec::from_slice(ids.get(from..).unwrap_or_default()).into_iter())
            }
            Source::Many(ids) => Inner::Many {
                ids: ids.clone(),
                buffer: Vec::new().into_iter(),
                after,
            },
            Source::All => {
                let start = varint::Key::new(after);
                let range = (std::ops::Bound::Excluded(start.bytes()), std::ops::Bound::Unbounded);
                Inner::Rows {
                    rows: view.tables().entries.range(view.txn, &range)?,
                    parent: plan.parent,
                }
            }
        };
        Ok(Self { inner })
    }
    /// The next candidate.
    pub fn next_id(&mut self) -> Result<Option<EntryId>, StoreError> {
        match &mut self.inner {
            Inner::Short(ids) => Ok(ids.next()),
            Inner::Many { ids, buffer, after } => {
                if let Some(id) = buffer.next() {
                    return Ok(Some(id));
                }
                let Some(from) = after.checked_add(1) else {
                    return Ok(None);
                };
                let mut rest = ids.iter();
                rest.advance_to(from);
                let next: Vec<EntryId> = rest.take(BUFFER).collect();
                *after = next.last().copied().unwrap_or(EntryId::MAX);
                *buffer = next.into_iter();
                Ok(buffer.next())
            }
            Inner::Rows { rows, parent } => {
                for row in rows {
                    let (key, mut bytes) = row?;
                    let header =
                        codec::take_header(&mut bytes).ok_or_else(|| StoreError::damaged("the header of a record"))?;
                    if header.flags & FLAG_PLACEHOLDER != 0 || parent.is_some_and(|parent| parent != header.parent) {
                        continue;
                    }
                    let id = varint::read(key).ok_or_else(|| StoreError::damaged("a key of `entries`"))?;
                    return Ok(Some(id));
                }
                Ok(None)
            }
        }
    }
}
