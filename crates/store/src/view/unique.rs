//! Look-ups by a value that at most one entry has, and the choice of an index for it.

use std::ops::ControlFlow;

use ironbark_model::AttributeDescription;
use smallvec::SmallVec;

use super::{Record, View};
use crate::{
    EntryId, StoreError,
    catalog::{Index, IndexKind},
    csn::Csn,
    keys::KeySet,
    posting::{Cursor, ListName},
    record::packed,
};

/// Entries that are read to find the one of a UUID: others are there only where hashes are equal.
const MOST: usize = 64;

impl Record<'_> {
    /// Its `entryUUID`; `None`: it has none.
    ///
    /// # Errors
    /// The record is damaged.
    pub fn entry_uuid(&self) -> Result<Option<[u8; 16]>, StoreError> {
        self.first_value(self.view.catalog.entry_uuid(), packed::uuid_of)
    }

    /// Its `entryCSN`; `None`: it has none, or one of another form.
    ///
    /// # Errors
    /// The record is damaged.
    pub fn entry_csn(&self) -> Result<Option<Csn>, StoreError> {
        self.first_value(self.view.catalog.entry_csn(), Csn::parse)
    }

    fn first_value<T>(&self, number: Option<u16>, read: impl Fn(&[u8]) -> Option<T>) -> Result<Option<T>, StoreError> {
        let mut found = None;
        if let Some(held) = self.attributes().find(|attribute| Some(attribute.number) == number) {
            held.for_each(&mut |value| {
                found = read(value);
                ControlFlow::Break(())
            })?;
        }
        Ok(found)
    }
}

impl<'t> View<'t> {
    /// The entry with this `entryUUID`, by the equality index of the attribute.
    ///
    /// # Errors
    /// The storage failed. [`StoreError::Inapplicable`]: there is no such index, or it is still being built.
    pub fn entry_of_uuid(&self, uuid: &[u8; 16]) -> Result<Option<EntryId>, StoreError> {
        let Some(number) = self.catalog.entry_uuid() else {
            return Ok(None);
        };
        let Some(info) = self.catalog.attribute(number) else {
            return Ok(None);
        };
        let kinds = [IndexKind::EqualityHash, IndexKind::EqualityOrdered];
        let index = self
            .serving_index(&info.description, &kinds)
            .ok_or_else(|| StoreError::Inapplicable("entryUUID has no index yet".to_owned()))?;
        let mut keys = KeySet::default();
        keys.add_normal(index, uuid);
        let list = ListName::from_slice(keys.iter().next().unwrap_or_default());
        let mut found = Vec::new();
        Cursor::new(self.txn, self.tables().index, list).read(0, MOST, &mut found)?;
        for id in found {
            if let Some(record) = self.record(id)?
                && let Some(held) = record.values(&info.description)
                && held.holds_normalized(uuid)?
            {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// A complete index of one of `kinds` that holds every stored attribute that answers `asked`.
    pub(crate) fn serving_index(&self, asked: &AttributeDescription, kinds: &[IndexKind]) -> Option<&'t Index> {
        let catalog = self.catalog;
        let mut numbers = catalog.numbers_of(asked);
        let first = numbers.next()?;
        let rest: SmallVec<[u16; 8]> = numbers.collect();
        let feeds = &catalog.attribute(first)?.feeds;
        feeds.iter().find_map(|at| {
            let index = catalog.indexes.get(usize::from(*at))?;
            let serves = index.stored.is_complete()
                && kinds.contains(&index.stored.kind)
                && (index.usable_from == 0 || self.txn.id() >= index.usable_from)
                && rest
                    .iter()
                    .all(|&number| catalog.attribute(number).is_some_and(|info| info.feeds.contains(at)));
            serves.then_some(index)
        })
    }
}
