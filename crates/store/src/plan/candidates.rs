//! The candidates of a plan, in ascending order from any ID on.

use heed::{RoRange, types::Bytes};
use smallvec::SmallVec;

use super::{
    Plan, Source,
    conjunction::{Ahead, Common},
    read_ahead::ReadAhead,
};
use crate::{EntryId, LANES, Record, StoreError, View, varint};

/// Entry IDs in ascending order, each still to be verified: scope and filter are checked on the record.
pub struct Candidates<'t> {
    view: View<'t>,
    inner: Inner<'t>,
    /// The next candidates whose records were looked up together.
    looked_at: usize,
}

enum Inner<'t> {
    Short(smallvec::IntoIter<[EntryId; 4]>),
    Many {
        ids: std::sync::Arc<roaring::RoaringTreemap>,
        buffer: std::vec::IntoIter<EntryId>,
        after: EntryId,
    },
    Lists {
        common: Common<'t>,
        ahead: Ahead,
        buffer: Vec<EntryId>,
        /// Place in the buffer.
        next: usize,
        after: EntryId,
    },
    Rows {
        rows: RoRange<'t, Bytes, Bytes>,
        /// Present if LMDB was told not to read ahead.
        read_ahead: Option<ReadAhead>,
    },
}

/// IDs that are taken from a bitmap at a time.
const BUFFER: usize = 32;

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
            Source::Lists(lists, ahead) if plan.indexes_are_those_of(view) => {
                let (buffer, after) = ahead.rest(after);
                Inner::Lists {
                    common: lists.open(view),
                    ahead: ahead.clone(),
                    buffer,
                    next: 0,
                    after,
                }
            }
            // A list may belong to an index that was dropped or is being built anew.
            Source::All | Source::Lists(..) => {
                let start = varint::Key::new(after);
                let range = (std::ops::Bound::Excluded(start.bytes()), std::ops::Bound::Unbounded);
                Inner::Rows {
                    rows: view.tables().entries.range(view.txn, &range)?,
                    read_ahead: (view.ground.options.no_read_ahead).then(|| ReadAhead::new(after != 0)),
                }
            }
        };
        Ok(Self {
            view,
            inner,
            looked_at: 0,
        })
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
            Inner::Lists {
                common,
                ahead,
                buffer,
                next,
                after,
            } => {
                if *next == buffer.len() {
                    let reached = common.next(*after, buffer)?;
                    ahead.keep(*after, reached, buffer);
                    (*after, *next) = (reached, 0);
                }
                let id = buffer.get(*next).copied();
                *next += usize::from(id.is_some());
                Ok(id)
            }
            Inner::Rows { rows, read_ahead } => Ok(next_row(self.view, rows, read_ahead)?.map(|record| record.id)),
        }
    }
    /// The record of the next candidate that is still there.
    pub fn next_record(&mut self) -> Result<Option<Record<'t>>, StoreError> {
        if let Inner::Rows { rows, read_ahead } = &mut self.inner {
            return next_row(self.view, rows, read_ahead);
        }
        loop {
            if self.looked_at == 0 {
                self.looked_at = self.look_ahead();
            }
            self.looked_at -= 1;
            let Some(id) = self.next_id()? else { return Ok(None) };
            if let Some(record) = self.view.record(id)? {
                return Ok(Some(record));
            }
        }
    }
    /// Looks up the records of the next candidates together. Returns how many it has looked at, at least one.
    fn look_ahead(&self) -> usize {
        let next = match &self.inner {
            Inner::Short(ids) => ids.as_slice(),
            Inner::Many { buffer, .. } => buffer.as_slice(),
            Inner::Lists { buffer, next, .. } => buffer.get(*next..).unwrap_or_default(),
            Inner::Rows { .. } => &[],
        };
        let next = next.get(..LANES).unwrap_or(next);
        // One alone has nothing to wait together with.
        if next.len() > 1
            && let Some(ahead) = self.view.ahead
            && let Some(ahead) = ahead.get_or_make(self.view.txn, self.view.tables())
        {
            ahead.look_at_candidates(self.view.txn, next);
        }
        next.len().max(1)
    }
}

/// The next row of `entries` that is an entry, in any scope. One row at a time, so that the caller can look at the
/// clock in between.
fn next_row<'t>(
    view: View<'t>,
    rows: &mut RoRange<'t, Bytes, Bytes>,
    read_ahead: &mut Option<ReadAhead>,
) -> Result<Option<Record<'t>>, StoreError> {
    for row in rows {
        let (key, bytes) = row?;
        if let Some(read_ahead) = read_ahead {
            read_ahead.reach(bytes);
        }
        let id = varint::read(key).ok_or_else(|| StoreError::damaged("a key of `entries`"))?;
        let record = Record::read(view, id, bytes)?;
        if !record.is_placeholder() {
            return Ok(Some(record));
        }
    }
    Ok(None)
}
