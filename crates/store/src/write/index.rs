//! Index maintenance: compares the keys of an entry before and after, and writes the difference.

use std::{ops::ControlFlow, sync::Arc};

use heed::RoTxn;
use smallvec::SmallVec;

use super::WriteTransaction;
use crate::{
    EntryId, StoreError, ValueChange,
    catalog::{AttributeInfo, Catalog, IndexKind},
    external::SetKey,
    keys::KeySet,
    posting::list,
    record::{
        codec::{self, FLAG_EXTERNAL},
        image::{Image, ValueSet},
    },
    shared_keys::{self, SharedKeys},
    tables::Tables,
    varint,
};

/// Adds all keys of an entry (`only`: of the indexes at these positions).
pub(crate) fn image_keys(
    txn: &RoTxn<'_>,
    tables: &Tables,
    catalog: &Catalog,
    id: EntryId,
    image: &Image,
    only: Option<&[u16]>,
    keys: &mut KeySet,
) -> Result<(), StoreError> {
    for attribute in &image.attributes {
        let Some(info) = catalog.attribute(attribute.number) else {
            return Err(StoreError::damaged("an attribute number"));
        };
        match &attribute.set {
            ValueSet::Inline(tlvs) => {
                keys.add_values(catalog, attribute.number, only, &TlvValues(tlvs));
            }
            ValueSet::External(_) => {
                for at in info.feeds.iter().filter(|at| only.is_none_or(|only| only.contains(at))) {
                    let Some(index) = catalog.indexes.get(usize::from(*at)) else {
                        continue;
                    };
                    let set = SetKey {
                        id,
                        attribute: attribute.number,
                    };
                    set.for_each(txn, &tables.values, &mut |value| {
                        keys.add_value(&catalog.schema, index, value);
                        match index.stored.kind {
                            IndexKind::Presence => ControlFlow::Break(()),
                            _ => ControlFlow::Continue(()),
                        }
                    })?;
                }
            }
        }
    }
    Ok(())
}

/// The values of TLVs, which can be read again.
#[derive(Clone)]
pub(crate) struct TlvValues<'t>(pub(crate) &'t [u8]);

impl<'t> Iterator for TlvValues<'t> {
    type Item = &'t [u8];
    fn next(&mut self) -> Option<&'t [u8]> {
        codec::take_value(&mut self.0)
    }
}

/// The indexes that a modification touches, gathered during the modification.
#[derive(Default)]
pub(super) struct Touched {
    /// Positions of indexes whose keys are compared as a whole, and their keys before.
    whole: SmallVec<[u16; 8]>,
    before: KeySet,
    /// Positions of equality and presence indexes with an external set: only the changed values are compared.
    partial: SmallVec<[u16; 4]>,
    added: Vec<(u16, Vec<u8>)>,
    /// As they were stored: an index may tell values apart that the attribute's own rule takes for equal.
    removed: Vec<(u16, Vec<u8>)>,
}

impl Touched {
    /// Finds the indexes that changes of `numbers` touch, and takes the keys before.
    pub(super) fn prepare(
        &mut self,
        txn: &RoTxn<'_>,
        tables: &Tables,
        catalog: &Catalog,
        id: EntryId,
        old: &Image,
        numbers: &[u16],
    ) -> Result<(), StoreError> {
        for info in numbers.iter().filter_map(|&number| catalog.attribute(number)) {
            for &at in &info.feeds {
                if self.whole.contains(&at) || self.partial.contains(&at) {
                    continue;
                }
                let Some(index) = catalog.indexes.get(usize::from(at)) else {
                    continue;
                };
                let simple = index.stored.kind.is_equality() || index.stored.kind == IndexKind::Presence;
                let external = old.attributes.iter().any(|attribute| {
                    matches!(attribute.set, ValueSet::External(_))
                        && catalog
                            .attribute(attribute.number)
                            .is_some_and(|info| info.feeds.contains(&at))
                });
                if simple && external {
                    self.partial.push(at);
                } else {
                    self.whole.push(at);
                }
            }
        }
        if !self.whole.is_empty() {
            image_keys(txn, tables, catalog, id, old, Some(&self.whole), &mut self.before)?;
            self.before.sort();
        }
        Ok(())
    }
    /// Whether changes of this attribute are to be told to [`Touched::changed`].
    pub(super) fn is_partial(&self, catalog: &Catalog, number: u16) -> bool {
        let is_one = |info: &AttributeInfo| info.feeds.iter().any(|at| self.partial.contains(at));
        !self.partial.is_empty() && catalog.attribute(number).is_some_and(is_one)
    }
    /// Notes a change of an attribute, and the values that it removes, as they are stored.
    pub(super) fn changed(&mut self, number: u16, change: &ValueChange, gone: &[Vec<u8>]) {
        let numbered = |values: &[Vec<u8>]| values.iter().map(|value| (number, value.clone())).collect::<Vec<_>>();
        self.removed.extend(numbered(gone));
        if !matches!(change, ValueChange::Delete { .. }) {
            self.added.extend(numbered(change.values()));
        }
    }
}

impl WriteTransaction<'_> {
    /// Updates the indexes to the present state of the entry.
    pub(super) fn update_index(
        &mut self,
        id: EntryId,
        old: &Image,
        new: &Image,
        touched: &Touched,
    ) -> Result<(), StoreError> {
        let tables = self.tables();
        if !touched.whole.is_empty() {
            let mut after = std::mem::take(&mut self.scratch.new_keys);
            after.clear();
            image_keys(
                &self.txn,
                tables,
                &self.catalog,
                id,
                new,
                Some(&touched.whole),
                &mut after,
            )?;
            self.put_shared_keys(id, new, Some(&touched.whole), &after)?;
            after.sort();
            self.write_difference(id, &touched.before, &after)?;
            self.scratch.new_keys = after;
        }
        if !touched.partial.is_empty() {
            self.update_partial(id, old, new, touched)?;
            self.clear_shared_keys(id, new, touched)?;
        }
        Ok(())
    }
    fn write_difference(&mut self, id: EntryId, before: &KeySet, after: &KeySet) -> Result<(), StoreError> {
        let table = self.tables().index;
        let (mut old, mut new) = (before.iter().peekable(), after.iter().peekable());
        loop {
            match (old.peek(), new.peek()) {
                (None, None) => return Ok(()),
                (Some(a), Some(b)) if a == b => {
                    old.next();
                    new.next();
                }
                (Some(a), b) if b.is_none_or(|b| a < b) => {
                    list::remove(&mut self.txn, &table, a, id)?;
                    old.next();
                }
                (_, Some(b)) => {
                    list::insert(&mut self.txn, &table, b, id)?;
                    new.next();
                }
                (Some(_), None) => {
                    old.next();
                }
            }
        }
    }
    /// Updates the keys of changed values alone. The entry leaves a list when no value makes its key any more.
    fn update_partial(&mut self, id: EntryId, old: &Image, new: &Image, touched: &Touched) -> Result<(), StoreError> {
        let table = self.tables().index;
        let catalog = self.catalog.clone();
        let (mut gone, mut come) = (KeySet::default(), KeySet::default());
        for &at in &touched.partial {
            let Some(index) = catalog.indexes.get(usize::from(at)) else {
                continue;
            };
            let feeds = |number: u16| catalog.attribute(number).is_some_and(|info| info.feeds.contains(&at));
            if index.stored.kind == IndexKind::Presence {
                let has = |image: &Image| image.attributes.iter().any(|attribute| feeds(attribute.number));
                match (has(old), has(new)) {
                    (true, false) => list::remove(&mut self.txn, &table, &index.prefix, id)?,
                    (false, true) => {
                        list::insert(&mut self.txn, &table, &index.prefix, id)?;
                    }
                    _ => {}
                }
                continue;
            }
            for (_, value) in touched.added.iter().filter(|(number, _)| feeds(*number)) {
                come.add_value(&catalog.schema, index, value);
            }
            for (_, value) in touched.removed.iter().filter(|(number, _)| feeds(*number)) {
                gone.add_value(&catalog.schema, index, value);
            }
        }
        let mut steps: Vec<(&[u8], i64)> = come.iter().map(|key| (key, 1)).collect();
        steps.extend(gone.iter().map(|key| (key, -1)));
        steps.sort_unstable();
        let shared = SharedKeys { id };
        let has_shared = shared.are_there(&self.txn, &self.tables().values)?;
        for steps in steps.chunk_by(|a, b| a.0 == b.0) {
            let by = steps.iter().map(|step| step.1).sum();
            if let Some((key, _)) = steps.first() {
                self.count_key(shared, key, by, has_shared)?;
            }
        }
        Ok(())
    }

    /// Notes that `by` more values of an entry make a key. `has_shared`: the entry has rows of shared keys.
    fn count_key(&mut self, shared: SharedKeys, key: &[u8], by: i64, has_shared: bool) -> Result<(), StoreError> {
        let Tables { index, values, .. } = self.tables();
        let before = match by {
            0 => return Ok(()),
            1.. if list::insert(&mut self.txn, index, key, shared.id)? => 0,
            _ if has_shared => shared.count(&self.txn, values, key)?,
            _ => 1,
        };
        let after = before.saturating_add_signed(by);
        if after == 0 {
            list::remove(&mut self.txn, index, key, shared.id)?;
        }
        if before > 1 || after > 1 {
            shared.set_count(&mut self.txn, values, key, after)?;
        }
        Ok(())
    }

    /// Writes which keys of the indexes at `positions` several values make, if an external set feeds the index.
    pub(super) fn put_shared_keys(
        &mut self,
        id: EntryId,
        image: &Image,
        positions: Option<&[u16]>,
        keys: &KeySet,
    ) -> Result<(), StoreError> {
        let mut fed = shared_keys::fed_by_external(&self.catalog, shared_keys::external_sets(image));
        fed.retain(|at| positions.is_none_or(|positions| positions.contains(at)));
        if fed.is_empty() {
            return Ok(());
        }
        let shared = SharedKeys { id };
        let rows = shared.rows(&self.catalog, &fed, keys);
        let table = self.tables().values;
        shared_keys::put(&mut self.txn, &table, &rows)
    }

    /// Writes the rows of shared keys for a file of a format that had none.
    pub(crate) fn count_shared_keys(&mut self) -> Result<(), StoreError> {
        let tables = self.tables();
        let mut ids = Vec::new();
        for row in tables.entries.iter(&self.txn)? {
            let (key, mut bytes) = row?;
            let header = codec::take_header(&mut bytes);
            if header.is_some_and(|header| header.flags & FLAG_EXTERNAL != 0) {
                ids.extend(varint::read(key));
            }
        }
        for id in ids {
            let image = self.image(id)?;
            let mut keys = KeySet::default();
            image_keys(&self.txn, tables, &self.catalog, id, &image, None, &mut keys)?;
            self.put_shared_keys(id, &image, None, &keys)?;
        }
        Ok(())
    }

    /// Deletes the rows of indexes that no external set feeds any more.
    fn clear_shared_keys(&mut self, id: EntryId, new: &Image, touched: &Touched) -> Result<(), StoreError> {
        let table = self.tables().values;
        let shared = SharedKeys { id };
        if shared_keys::external_sets(new).next().is_none() {
            return shared.clear(&mut self.txn, &table, &[]);
        }
        let fed = shared_keys::fed_by_external(&self.catalog, shared_keys::external_sets(new));
        let catalog = Arc::clone(&self.catalog);
        for at in touched.partial.iter().filter(|at| !fed.contains(at)) {
            if let Some(index) = catalog.indexes.get(usize::from(*at)) {
                shared.clear(&mut self.txn, &table, &index.prefix)?;
            }
        }
        Ok(())
    }
}
