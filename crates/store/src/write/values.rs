//! Changes of one attribute's value set, in the record or in `values`.

use std::ops::ControlFlow;

use super::{
    WriteTransaction,
    working::{OpenSet, Working, WorkingAttribute, WorkingSet, normal_form},
};
use crate::{
    EntryId, StoreError, ValueChange,
    external::{self, SetKey},
    record::{
        codec::{self, External},
        image::{Image, ImageAttribute, ValueSet},
    },
};

impl ValueChange {
    /// The attribute description it is about.
    pub fn attribute(&self) -> &str {
        match self {
            Self::Add { attribute, .. } | Self::Delete { attribute, .. } | Self::Replace { attribute, .. } => attribute,
        }
    }

    /// Its values.
    pub fn values(&self) -> &[Vec<u8>] {
        match self {
            Self::Add { values, .. } | Self::Delete { values, .. } | Self::Replace { values, .. } => values,
        }
    }
}

impl WriteTransaction<'_> {
    pub(super) fn change_values(
        &mut self,
        key: SetKey,
        working: &mut Working,
        change: &ValueChange,
    ) -> Result<(), StoreError> {
        match change {
            ValueChange::Add { values, .. } => self.add_values(key, working, values),
            ValueChange::Delete { values, attribute } => {
                if self.delete_values(key, working, values)? {
                    return Ok(());
                }
                let why = format!("attribute \"{attribute}\": no such value");
                Err(StoreError::Inapplicable(why))
            }
            ValueChange::Replace { values, .. } => {
                self.remove_attribute(key, working)?;
                self.add_values(key, working, values)
            }
        }
    }

    /// The values that a change is about to remove, as they are stored.
    pub(super) fn gone_by(
        &self,
        key: SetKey,
        working: &Working,
        change: &ValueChange,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let Some(set) = working.get(key.attribute) else {
            return Ok(Vec::new());
        };
        match (change, set) {
            (ValueChange::Add { .. }, _) => Ok(Vec::new()),
            (ValueChange::Replace { .. }, WorkingSet::Open(open)) => Ok(open.values().map(<[u8]>::to_vec).collect()),
            (ValueChange::Replace { .. }, WorkingSet::Closed(set)) => self.values_of_set(key, set),
            (ValueChange::Delete { values, .. }, set) => {
                let wanted: Vec<_> = values
                    .iter()
                    .map(|value| normal_form(&self.catalog, key.attribute, value))
                    .collect();
                self.stored_forms(key, set, &wanted)
            }
        }
    }

    /// The stored values with these normal forms.
    fn stored_forms(&self, key: SetKey, set: &WorkingSet, wanted: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, StoreError> {
        let is_wanted = |value: &&[u8]| wanted.contains(&normal_form(&self.catalog, key.attribute, value));
        Ok(match set {
            WorkingSet::Open(open) => wanted
                .iter()
                .filter_map(|normal| open.get(normal))
                .map(<[u8]>::to_vec)
                .collect(),
            WorkingSet::Closed(ValueSet::Inline(tlvs)) => {
                codec::values(tlvs).filter(is_wanted).map(<[u8]>::to_vec).collect()
            }
            WorkingSet::Closed(ValueSet::External(_)) => {
                let mut stored = Vec::with_capacity(wanted.len());
                for normal in wanted {
                    let found = key.find(&self.txn, self.tables(), &self.catalog, normal)?;
                    stored.extend(found.map(|(_, value)| value.to_vec()));
                }
                stored
            }
        })
    }

    /// All values of a set.
    pub(super) fn values_of_set(&self, key: SetKey, set: &ValueSet) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut values = Vec::new();
        match set {
            ValueSet::Inline(tlvs) => values.extend(codec::values(tlvs).map(<[u8]>::to_vec)),
            ValueSet::External(_) => key.for_each(&self.txn, &self.tables().values, &mut |value| {
                values.push(value.to_vec());
                ControlFlow::Continue(())
            })?,
        }
        Ok(values)
    }

    fn add_values(&mut self, key: SetKey, working: &mut Working, values: &[Vec<u8>]) -> Result<(), StoreError> {
        if values.is_empty() {
            return Ok(());
        }
        self.open_if_due(key, working)?;
        let tables = self.tables();
        let Some(set) = working.get_mut(key.attribute) else {
            let set = if working.is_changed_again(key.attribute) {
                let mut open = OpenSet::default();
                open.add(&self.catalog, key.attribute, values);
                WorkingSet::Open(open)
            } else {
                let mut set = ValueSet::inline(values.iter().map(Vec::as_slice));
                self.move_out_if_big(key, &mut set)?;
                WorkingSet::Closed(set)
            };
            working.push(key.attribute, set);
            return Ok(());
        };
        match set {
            WorkingSet::Open(open) => open.add(&self.catalog, key.attribute, values),
            WorkingSet::Closed(ValueSet::External(set)) => {
                for value in values {
                    key.add(&mut self.txn, tables, &self.catalog, value, set)?;
                }
            }
            WorkingSet::Closed(set) => {
                if let ValueSet::Inline(tlvs) = set {
                    for value in values {
                        codec::put_value(value, tlvs);
                    }
                }
                self.move_out_if_big(key, set)?;
            }
        }
        Ok(())
    }

    /// `false`: one of the values is not there.
    fn delete_values(&mut self, key: SetKey, working: &mut Working, values: &[Vec<u8>]) -> Result<bool, StoreError> {
        self.open_if_due(key, working)?;
        let is_changed_again = working.is_changed_again(key.attribute);
        let Some(set) = working.get_mut(key.attribute) else {
            return Ok(false);
        };
        let is_empty = match set {
            WorkingSet::Open(open) => {
                if !open.delete(&self.catalog, key.attribute, values) {
                    return Ok(false);
                }
                open.is_empty()
            }
            WorkingSet::Closed(ValueSet::External(external)) => {
                let tables = self.database.ground.tables;
                for value in values {
                    if !key.remove(&mut self.txn, &tables, &self.catalog, value, external)? {
                        return Ok(false);
                    }
                }
                let is_empty = external.count == 0;
                if external.count < external::BACK_COUNT {
                    let tlvs = self.take_back(key)?;
                    *set = if is_changed_again {
                        WorkingSet::Open(OpenSet::of(&self.catalog, key.attribute, &tlvs, false))
                    } else {
                        WorkingSet::Closed(ValueSet::Inline(tlvs))
                    };
                }
                is_empty
            }
            WorkingSet::Closed(ValueSet::Inline(tlvs)) => {
                let Some(kept) = without(&self.catalog, key.attribute, tlvs, values) else {
                    return Ok(false);
                };
                *tlvs = kept;
                tlvs.is_empty()
            }
        };
        if is_empty {
            working.remove(key.attribute);
        }
        Ok(true)
    }

    /// Opens a set in memory before several changes of it. Each of them would otherwise read the whole set or write
    /// many rows.
    fn open_if_due(&mut self, key: SetKey, working: &mut Working) -> Result<(), StoreError> {
        let number = key.attribute;
        if !working.is_changed_again(number) {
            return Ok(());
        }
        let (tlvs, is_external) = match working.get_mut(number) {
            Some(WorkingSet::Closed(ValueSet::Inline(tlvs))) => (std::mem::take(tlvs), false),
            Some(WorkingSet::Closed(ValueSet::External(set))) => {
                let count = set.count;
                if !working.outweighs(number, count) {
                    return Ok(());
                }
                (self.take_back(key)?, true)
            }
            Some(WorkingSet::Open(_)) | None => return Ok(()),
        };
        if let Some(set) = working.get_mut(number) {
            *set = WorkingSet::Open(OpenSet::of(&self.catalog, number, &tlvs, is_external));
        }
        Ok(())
    }

    fn move_out_if_big(&mut self, key: SetKey, set: &mut ValueSet) -> Result<(), StoreError> {
        let ValueSet::Inline(tlvs) = &*set else { return Ok(()) };
        if tlvs.len() < external::MIN_BYTES || !external::is_external(codec::values(tlvs).count(), tlvs.len()) {
            return Ok(());
        }
        *set = self.moved_out(key, codec::values(tlvs))?;
        Ok(())
    }

    fn moved_out<'v>(&mut self, key: SetKey, values: impl Iterator<Item = &'v [u8]>) -> Result<ValueSet, StoreError> {
        let tables = self.tables();
        let mut set = External::new(tables.sealed);
        for value in values {
            key.add(&mut self.txn, tables, &self.catalog, value, &mut set)?;
        }
        Ok(ValueSet::External(set))
    }

    /// The entry after all changes.
    pub(super) fn close(&mut self, id: EntryId, working: Working) -> Result<Image, StoreError> {
        let (mut image, attributes) = working.into_parts();
        for WorkingAttribute { number, set } in attributes {
            let key = SetKey { id, attribute: number };
            let set = match set {
                WorkingSet::Closed(set) => set,
                WorkingSet::Open(open) if open.is_external() => self.moved_out(key, open.values())?,
                WorkingSet::Open(open) => ValueSet::inline(open.values()),
            };
            image.attributes.push(ImageAttribute { number, set });
        }
        Ok(image)
    }

    /// The TLVs of a set that has become small; its rows are deleted.
    fn take_back(&mut self, key: SetKey) -> Result<Vec<u8>, StoreError> {
        let tables = self.tables();
        let mut tlvs = Vec::new();
        key.for_each(&self.txn, &tables.values, &mut |value| {
            codec::put_value(value, &mut tlvs);
            ControlFlow::Continue(())
        })?;
        key.clear(&mut self.txn, &tables.values)?;
        Ok(tlvs)
    }

    fn remove_attribute(&mut self, key: SetKey, working: &mut Working) -> Result<(), StoreError> {
        if let Some(WorkingSet::Closed(ValueSet::External(_))) = working.remove(key.attribute) {
            let table = self.tables().values;
            key.clear(&mut self.txn, &table)?;
        }
        Ok(())
    }
}

/// `tlvs` without `values`, compared by normal form. `None`: one of them is not there.
fn without(catalog: &crate::catalog::Catalog, number: u16, tlvs: &[u8], values: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut gone: Vec<Vec<u8>> = Vec::with_capacity(values.len());
    for value in values {
        let mut normal = Vec::new();
        catalog.normal_form(number, value, &mut normal);
        gone.push(normal);
    }
    let mut kept = Vec::with_capacity(tlvs.len());
    let mut normal = Vec::new();
    for value in codec::values(tlvs) {
        normal.clear();
        catalog.normal_form(number, value, &mut normal);
        match gone.iter().position(|gone| *gone == normal) {
            Some(at) => {
                gone.swap_remove(at);
            }
            None => codec::put_value(value, &mut kept),
        }
    }
    gone.is_empty().then_some(kept)
}
