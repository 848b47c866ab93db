//! Index maintenance: compares the keys of an entry before and after, and writes the difference.

use std::{collections::HashSet, ops::ControlFlow};

use heed::RoTxn;
use smallvec::SmallVec;

use super::WriteTransaction;
use crate::{
    EntryId, StoreError,
    catalog::{Catalog, IndexKind},
    external::SetKey,
    keys::KeySet,
    posting::list,
    record::{
        codec,
        image::{Image, ValueSet},
    },
    tables::Tables,
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
    removed: Vec<(u16, Vec<u8>)>,
    is_partial: bool,
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
        self.is_partial = !self.partial.is_empty();
        if !self.whole.is_empty() {
            image_keys(txn, tables, catalog, id, old, Some(&self.whole), &mut self.before)?;
            self.before.sort();
        }
        Ok(())
    }
    pub(super) fn added(&mut self, number: u16, values: &[Vec<u8>]) {
        if self.is_partial {
            self.added.extend(values.iter().map(|value| (number, value.clone())));
        }
    }
    pub(super) fn removed(&mut self, number: u16, values: &[Vec<u8>]) {
        if self.is_partial {
            self.removed.extend(values.iter().map(|value| (number, value.clone())));
        }
    }
    pub(super) fn removed_values<'v>(&mut self, number: u16, values: impl Iterator<Item = &'v [u8]>) {
        if self.is_partial {
            self.removed.extend(values.map(|value| (number, value.to_vec())));
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
            after.sort();
            self.write_difference(id, &touched.before, &after)?;
            self.scratch.new_keys = after;
        }
        if touched.is_partial {
            self.update_partial(id, old, new, touched)?;
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
    /// Updates the keys of changed values alone. A key is deleted only if no remaining value makes it.
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
                    (false, true) => list::insert(&mut self.txn, &table, &index.prefix, id)?,
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
        gone.sort();
        come.sort();
        let left = self.keys_left(id, new, touched, &gone)?;
        for key in gone.iter().filter(|key| !left.contains(*key)) {
            list::remove(&mut self.txn, &table, key, id)?;
        }
        let gone: HashSet<&[u8]> = gone.iter().collect();
        for key in come.iter() {
            // A later change may have removed a value again that was added.
            if gone.contains(key) && !left.contains(key) {
                continue;
            }
            list::insert(&mut self.txn, &table, key, id)?;
        }
        Ok(())
    }
    /// The keys among `gone` that values of the entry still make.
    fn keys_left(
        &self,
        id: EntryId,
        new: &Image,
        touched: &Touched,
        gone: &KeySet,
    ) -> Result<HashSet<Vec<u8>>, StoreError> {
        let mut left = HashSet::new();
        if gone.len() == 0 {
            return Ok(left);
        }
        let catalog = &self.catalog;
        let mut keys = KeySet::default();
        let partial = Some(&*touched.partial);
        let feeds = |number: u16| {
            let info = catalog.attribute(number);
            info.is_some_and(|info| info.feeds.iter().any(|at| touched.partial.contains(at)))
        };
        let in_question = touched.removed.len() + touched.added.len();
        for attribute in new.attributes.iter().filter(|attribute| feeds(attribute.number)) {
            let number = attribute.number;
            let set = SetKey { id, attribute: number };
            match &attribute.set {
                ValueSet::Inline(tlvs) => keys.add_values(catalog, number, partial, &TlvValues(tlvs)),
                // There may be many small sets, so each is then read once.
                ValueSet::External(external) if external.count <= in_question as u64 => {
                    set.for_each(&self.txn, &self.tables().values, &mut |value| {
                        keys.add_values(catalog, number, partial, &std::iter::once(value));
                        ControlFlow::Continue(())
                    })?;
                }
                // Only the values in question are looked up, each once: the set may be very large.
                ValueSet::External(_) => {
                    let mut seen = HashSet::new();
                    for (_, value) in touched.removed.iter().chain(&touched.added) {
                        let mut normal = Vec::new();
                        catalog.normal_form(number, value, &mut normal);
                        if !seen.contains(&normal) && set.find(&self.txn, self.tables(), catalog, &normal)?.is_some() {
                            keys.add_values(catalog, number, partial, &std::iter::once(value.as_slice()));
                        }
                        seen.insert(normal);
                    }
                }
            }
        }
        left.extend(keys.iter().map(<[u8]>::to_vec));
        Ok(left)
    }
}
