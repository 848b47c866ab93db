//! A posting list that is read forwards, only as far as its IDs are needed.

use std::ops::Bound;

use heed::{RoRange, RoTxn, types::Bytes};
use smallvec::SmallVec;

use super::{
    list::{chunk_key, damaged, first_of},
    reader::{Reader, Sieve},
};
use crate::{EntryId, StoreError, tables::Table};

/// The key of a list.
pub(crate) type ListName = SmallVec<[u8; 16]>;

/// A place in a list.
pub(crate) struct Cursor<'t> {
    txn: &'t RoTxn<'t>,
    table: Table,
    list: ListName,
    rows: Rows<'t>,
    /// The chunk that is being read.
    chunk: Option<Reader<'t>>,
    /// First ID and value of the next chunk, once it is known.
    next: Option<(EntryId, &'t [u8])>,
    /// No chunk behind the present one has an ID below this.
    limit: EntryId,
    work: u64,
}

/// The chunks behind those that have been read.
enum Rows<'t> {
    /// Nothing has been looked up.
    Unknown,
    /// Those behind the chunk with this first ID.
    Behind(EntryId),
    Open(RoRange<'t, Bytes, Bytes>),
    End,
}

/// Chunks that are stepped over one by one before the cursor looks up the wanted one.
const STEPS: usize = 3;
/// The cost of a look-up, in octets that could be decoded in the same time.
const LOOK_UP_WORK: u64 = 500;

impl<'t> Cursor<'t> {
    /// Before the first ID. Nothing is read yet.
    pub(crate) fn new(txn: &'t RoTxn<'t>, table: Table, list: ListName) -> Self {
        Self {
            txn,
            table,
            list,
            rows: Rows::Unknown,
            chunk: None,
            next: None,
            limit: 0,
            work: 0,
        }
    }
    /// What reading has cost so far, in octets decoded.
    pub(crate) fn work(&self) -> u64 {
        self.work
    }
    /// Appends the IDs from `from` on until there are `most`. `from` must not fall between calls.
    pub(crate) fn read(&mut self, from: EntryId, most: usize, out: &mut Vec<EntryId>) -> Result<(), StoreError> {
        loop {
            if from >= self.limit {
                self.reach(from)?;
            }
            let Some(chunk) = &mut self.chunk else { return Ok(()) };
            let before = chunk.left();
            chunk.read(from, most, out).ok_or_else(damaged)?;
            self.work += (before - chunk.left()) as u64;
            if out.len() >= most {
                return Ok(());
            }
            self.step()?;
        }
    }
    /// Removes from ascending IDs those that are not in the list. The IDs must not fall between calls.
    pub(crate) fn sift(&mut self, ids: &mut Vec<EntryId>) -> Result<(), StoreError> {
        let all = ids.len();
        let mut sieve = Sieve::new(ids);
        while let Some(id) = sieve.next(all) {
            if id >= self.limit {
                self.reach(id)?;
            }
            let end = match self.limit {
                EntryId::MAX => all,
                limit => sieve.end(limit),
            };
            let Some(chunk) = &mut self.chunk else { break };
            let before = chunk.left();
            chunk.sift(&mut sieve, end).ok_or_else(damaged)?;
            self.work += (before - chunk.left()) as u64;
            if sieve.next(end).is_some() {
                self.step()?;
            }
        }
        sieve.finish();
        Ok(())
    }
    /// Moves to the chunk that holds `id`, or would hold it.
    #[cold]
    fn reach(&mut self, id: EntryId) -> Result<(), StoreError> {
        if matches!(self.rows, Rows::Unknown) {
            return self.look_up(id);
        }
        for _ in 0..STEPS {
            if self.next.is_none_or(|(first, _)| id < first) {
                return Ok(());
            }
            self.step()?;
        }
        if self.next.is_some_and(|(first, _)| id >= first) {
            return self.look_up(id);
        }
        Ok(())
    }
    fn look_up(&mut self, id: EntryId) -> Result<(), StoreError> {
        self.work += LOOK_UP_WORK;
        let wanted = chunk_key(&self.list, id);
        let row = self.table.get_lower_than_or_equal_to(self.txn, &wanted)?;
        let found = row.and_then(|(key, value)| Some((first_of(&self.list, key)?, value)));
        // Often this chunk has all IDs that are needed, so the next place is looked up only when it is wanted.
        self.rows = Rows::Behind(found.map_or(id, |(first, _)| first));
        self.next = None;
        self.limit = EntryId::MAX;
        self.chunk = found
            .map(|(first, value)| Reader::open(first, value).ok_or_else(damaged))
            .transpose()?;
        if self.chunk.is_none() {
            self.step()?;
        }
        Ok(())
    }
    /// Moves to the next chunk, if there is one.
    fn step(&mut self) -> Result<(), StoreError> {
        if let Rows::Behind(first) = self.rows {
            let start = chunk_key(&self.list, first);
            let range = (Bound::Excluded(start.as_slice()), Bound::Unbounded);
            self.rows = Rows::Open(self.table.range(self.txn, &range)?);
            self.next = self.row()?;
        }
        self.chunk = match self.next.take() {
            Some((first, value)) => Some(Reader::open(first, value).ok_or_else(damaged)?),
            None => None,
        };
        self.next = self.row()?;
        self.limit = self.next.map_or(EntryId::MAX, |(first, _)| first);
        Ok(())
    }
    fn row(&mut self) -> Result<Option<(EntryId, &'t [u8])>, StoreError> {
        let Rows::Open(rows) = &mut self.rows else {
            return Ok(None);
        };
        let row = rows.next().transpose()?;
        let found = row.and_then(|(key, value)| Some((first_of(&self.list, key)?, value)));
        if found.is_none() {
            self.rows = Rows::End;
        }
        Ok(found)
    }
}
