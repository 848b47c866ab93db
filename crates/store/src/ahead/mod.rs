//! Looking ahead: rows that several look-ups need are found together, so that one look-up waits for memory while the
//! others wait too (docs/internals/store.md, "Looking ahead").
//!
//! Invariants: it answers only what it has found in the pages of its snapshot; everything else is LMDB's to answer. It
//! ends with its snapshot.

mod fuzzed;
mod node;
mod pages;
mod trial;
mod walk;

#[cfg(test)]
mod tests;

use std::{
    cell::{Cell, OnceCell, RefCell, RefMut},
    sync::Arc,
};

use heed::RoTxn;
use smallvec::SmallVec;

use self::{
    node::{Node, Value},
    pages::{Mapped, Pages, Place},
};
use crate::{
    EntryId,
    check::file::{ROOT_BYTES, Root},
    posting::ListName,
    tables::Tables,
    varint,
};

pub(crate) use fuzzed::walk_in;
pub(crate) use pages::Map;
pub(crate) use trial::map_of;

/// Look-ups that are made together. More bring nothing.
pub const LANES: usize = 16;

/// The list of one key of an equality index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EqualityList(pub(crate) ListName);

/// Which of the lists that were looked up together have one entry.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FoundAhead(u16);

impl FoundAhead {
    /// Whether the list at this place has.
    #[inline]
    pub fn contains(self, place: usize) -> bool {
        place < LANES && self.0 >> place & 1 == 1
    }
}

/// The look-ups of a snapshot. What they need is made at the first.
pub(crate) struct SnapshotAhead {
    /// `None`: nothing is looked up ahead.
    map: Option<Arc<Map>>,
    made: OnceCell<Option<Box<RowsAhead>>>,
}

impl SnapshotAhead {
    /// `None`: nothing is to be looked up ahead.
    pub(crate) fn new(map: Option<Arc<Map>>) -> Self {
        Self {
            map,
            made: OnceCell::new(),
        }
    }

    /// What was looked up so far.
    #[inline]
    pub(crate) fn get(&self) -> Option<&RowsAhead> {
        self.made.get()?.as_deref()
    }

    /// For a look-up. The transaction is the snapshot's.
    pub(crate) fn get_or_make(&self, txn: &RoTxn<'_>, tables: &Tables) -> Option<&RowsAhead> {
        let map = self.map.as_ref()?;
        let made = self.made.get_or_init(|| RowsAhead::of(map, txn, tables).map(Box::new));
        made.as_deref()
    }
}

/// What was found in one snapshot.
pub(crate) struct RowsAhead {
    pages: Pages,
    index: Root,
    entries: Root,
    /// Lists of one entry, and the records of these entries: for the next searches.
    lists: Found<ListName, EntryId>,
    records: Found<EntryId, Place>,
    /// Records of the next candidates of one search.
    candidates: Found<EntryId, Place>,
}

/// What the last look has found. It is asked for in the order in which it was found.
struct Found<K, V> {
    rows: RefCell<SmallVec<[(K, V); LANES]>>,
    next: Cell<usize>,
}

impl RowsAhead {
    /// `None`: the rows that name the trees are not as we know them.
    fn of(map: &Arc<Map>, txn: &RoTxn<'_>, tables: &Tables) -> Option<Self> {
        let root = |name| Root::read(row_of(txn, tables, name)?, 0);
        Some(Self {
            pages: map.pages(txn)?,
            index: root("index")?,
            entries: root("entries")?,
            lists: Found::default(),
            records: Found::default(),
            candidates: Found::default(),
        })
    }

    /// Finds the entries of the first lists that have one, and their records. What was found before is forgotten.
    ///
    /// The transaction must be the one that it was made for.
    pub(crate) fn look(&self, txn: &RoTxn<'_>, lists: &[EqualityList]) -> FoundAhead {
        let pages = self.pages.of(txn);
        let mut which = FoundAhead::default();
        let found = &mut *self.lists.begin();
        let mut ids = SmallVec::<[EntryId; LANES]>::new();
        for lane in walk::descend(pages, &self.index, lists.iter().map(|list| &*list.0)) {
            let Some(list) = lists.get(lane.number) else { continue };
            if let Some(id) = lane.node().and_then(|node| sole_entry(&list.0, node)) {
                found.push((list.0.clone(), id));
                ids.push(id);
                which.0 |= 1 << lane.number;
            }
        }
        self.find_records(pages, &ids, &self.records);
        which
    }

    /// Finds the records of the first of these entries: the next candidates of a search. Candidates that were found
    /// before are forgotten.
    pub(crate) fn look_at_candidates(&self, txn: &RoTxn<'_>, ids: &[EntryId]) {
        self.find_records(self.pages.of(txn), ids, &self.candidates);
    }

    fn find_records(&self, pages: Mapped<'_>, ids: &[EntryId], found: &Found<EntryId, Place>) {
        let rows = &mut *found.begin();
        let keys: SmallVec<[varint::Key; LANES]> = ids.iter().take(LANES).map(|id| varint::Key::new(*id)).collect();
        for lane in walk::descend(pages, &self.entries, keys.iter().map(varint::Key::bytes)) {
            let (Some(id), Some(key)) = (ids.get(lane.number), keys.get(lane.number)) else {
                continue;
            };
            let node = lane.node().filter(|node| node.key == key.bytes());
            if let Some(place) = node.and_then(|node| pages.place(node)) {
                pages.request(place);
                rows.push((*id, place));
            }
        }
    }

    /// The only entry of a list, if that was found.
    #[inline]
    pub(crate) fn sole(&self, list: &[u8]) -> Option<EntryId> {
        self.lists.get(|known| **known == *list)
    }

    /// The record of an entry, if it was found.
    #[inline]
    pub(crate) fn record<'t>(&self, txn: &'t RoTxn<'_>, id: EntryId) -> Option<&'t [u8]> {
        let place = self.records.get(|known| *known == id);
        let place = place.or_else(|| self.candidates.get(|known| *known == id))?;
        self.pages.of(txn).bytes(place)
    }
}

impl<K, V: Copy> Found<K, V> {
    /// Forgets what was found.
    fn begin(&self) -> RefMut<'_, SmallVec<[(K, V); LANES]>> {
        let mut rows = self.rows.borrow_mut();
        rows.clear();
        self.next.set(0);
        rows
    }

    /// The row that is meant. Usually it is the one behind the last that was asked for.
    #[inline]
    fn get(&self, is_meant: impl Fn(&K) -> bool) -> Option<V> {
        let rows = self.rows.borrow();
        let at = self.next.get();
        let is_next = rows.get(at).is_some_and(|(key, _)| is_meant(key));
        let place = if is_next {
            at
        } else {
            rows.iter().position(|(key, _)| is_meant(key))?
        };
        self.next.set(place + 1);
        rows.get(place).map(|(_, value)| *value)
    }
}

impl<K, V> Default for Found<K, V> {
    fn default() -> Self {
        Self {
            rows: RefCell::default(),
            next: Cell::new(0),
        }
    }
}

/// The row of the unnamed table that describes a tree.
fn row_of<'t>(txn: &'t RoTxn<'_>, tables: &Tables, name: &str) -> Option<&'t [u8]> {
    let row = tables.main.get(txn, name.as_bytes()).ok().flatten();
    row.filter(|row| row.len() == ROOT_BYTES)
}

/// The only entry of a list, if its first row is this one and says so.
fn sole_entry(list: &[u8], row: Node<'_>) -> Option<EntryId> {
    let id = varint::read(row.key.strip_prefix(list)?)?;
    matches!(row.value()?, Value::Here([])).then_some(id)
}
