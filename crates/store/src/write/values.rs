//! Changes of one attribute's value set, in the record or in `values`.

use std::ops::ControlFlow;

use super::{WriteTransaction, index::Touched};
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
}

impl WriteTransaction<'_> {
    pub(super) fn change_values(
        &mut self,
        id: EntryId,
        image: &mut Image,
        number: u16,
        change: &ValueChange,
        touched: &mut Touched,
    ) -> Result<(), StoreError> {
        let key = SetKey { id, attribute: number };
        match change {
            ValueChange::Add { values, .. } => {
                touched.added(number, values);
                self.add_values(key, image, values)
            }
            ValueChange::Delete { values, attribute } => {
                touched.removed(number, values);
                self.delete_values(key, image, values, attribute)
            }
            ValueChange::Replace { values, .. } => {
                self.remove_attribute(key, image, touched)?;
                touched.added(number, values);
                self.add_values(key, image, values)
            }
        }
    }

    fn add_values(&mut self, key: SetKey, image: &mut Image, values: &[Vec<u8>]) -> Result<(), StoreError> {
        if values.is_empty() {
            return Ok(());
        }
        let at = image.position(key.attribute).unwrap_or_else(|| {
            image.attributes.push(ImageAttribute {
                number: key.attribute,
                set: ValueSet::Inline(Vec::new()),
            });
            image.attributes.len() - 1
        });
        let Some(attribute) = image.attributes.get_mut(at) else {
            return Ok(());
        };
        let tables = self.tables();
        match &mut attribute.set {
            ValueSet::External(set) => {
                for value in values {
                    key.add(&mut self.txn, tables, &self.catalog, value, set)?;
                }
            }
            ValueSet::Inline(tlvs) => {
                for value in values {
                    codec::put_value(value, tlvs);
                }
                if tlvs.len() >= external::MIN_BYTES {
                    let count = codec::values(tlvs).count();
                    if external::is_external(count, tlvs.len()) {
                        let mut set = External::new(tables.sealed);
                        for value in codec::values(tlvs) {
                            key.add(&mut self.txn, tables, &self.catalog, value, &mut set)?;
                        }
                        attribute.set = ValueSet::External(set);
                    }
                }
            }
        }
        Ok(())
    }

    fn delete_values(
        &mut self,
        key: SetKey,
        image: &mut Image,
        values: &[Vec<u8>],
        text: &str,
    ) -> Result<(), StoreError> {
        let missing = || StoreError::Inapplicable(format!("attribute \"{text}\": no such value"));
        let at = image.position(key.attribute).ok_or_else(missing)?;
        let Some(attribute) = image.attributes.get_mut(at) else {
            return Err(missing());
        };
        match &mut attribute.set {
            ValueSet::External(set) => {
                let tables = self.database.tables;
                for value in values {
                    if !key.remove(&mut self.txn, &tables, &self.catalog, value, set)? {
                        return Err(missing());
                    }
                }
                if set.count < external::BACK_COUNT {
                    attribute.set = ValueSet::Inline(self.take_back(key)?);
                }
            }
            ValueSet::Inline(tlvs) => {
                let kept = without(&self.catalog, key.attribute, tlvs, values).ok_or_else(missing)?;
                *tlvs = kept;
            }
        }
        if attribute.set.len() == 0 {
            image.attributes.remove(at);
        }
        Ok(())
    }

    /// The TLVs of a set that has become small; its rows go.
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

    fn remove_attribute(&mut self, key: SetKey, image: &mut Image, touched: &mut Touched) -> Result<(), StoreError> {
        let Some(at) = image.position(key.attribute) else {
            return Ok(());
        };
        let attribute = image.attributes.remove(at);
        if matches!(attribute.set, ValueSet::External(_)) {
            let tlvs = self.take_back(key)?;
            touched.removed_tlvs(key.attribute, &tlvs);
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
