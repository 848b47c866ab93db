//! The part of adding an entry that needs no order: TLVs, normalization, index keys. Runs on any thread.

use std::{
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwap;
use ironbark_model::{AttributeDescription, Dn, Entry};

use crate::{Database, StoreError, catalog::Catalog, external, keys::KeySet, record::codec, write::index::TlvValues};

/// Makes [`PreparedEntry`] values; cheap to clone, for use on several threads at once.
#[derive(Clone)]
pub struct Preparer {
    shared: Arc<Shared>,
}

struct Shared {
    catalog: ArcSwap<Catalog>,
    registering: Mutex<()>,
}

/// An entry with all that can be computed without knowing its ID.
pub struct PreparedEntry {
    pub(super) dn: Dn,
    pub(super) flags: u8,
    pub(super) keys: KeySet,
    tlvs: Vec<u8>,
    blocks: Vec<(u16, Range<usize>, bool)>,
}

impl PreparedEntry {
    /// Attribute number, TLVs, and whether the set belongs into `values`.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (u16, &[u8], bool)> {
        self.blocks
            .iter()
            .map(|(number, range, external)| (*number, self.tlvs.get(range.clone()).unwrap_or_default(), *external))
    }
    /// The entry's name.
    pub fn dn(&self) -> &Dn {
        &self.dn
    }
}

impl Preparer {
    pub(super) fn new(database: &Database) -> Self {
        let catalog = ArcSwap::new(database.catalog.load_full());
        Self {
            shared: Arc::new(Shared {
                catalog,
                registering: Mutex::new(()),
            }),
        }
    }
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.shared.catalog.load_full()
    }
    /// Computes record parts and index keys of a validated entry.
    ///
    /// # Errors
    /// More than 65,536 attribute descriptions.
    pub fn prepare(&self, entry: &Entry) -> Result<PreparedEntry, StoreError> {
        let mut prepared = PreparedEntry {
            dn: entry.dn.clone(),
            flags: 0,
            keys: KeySet::default(),
            tlvs: Vec::with_capacity(1024),
            blocks: Vec::with_capacity(entry.attributes.len()),
        };
        for attribute in entry.attributes.iter().filter(|attribute| !attribute.values.is_empty()) {
            let number = self.number(&attribute.description)?;
            let catalog = self.shared.catalog.load();
            let start = prepared.tlvs.len();
            for value in &attribute.values {
                codec::put_value(value, &mut prepared.tlvs);
                if Some(attribute.description.attribute_type) == catalog.special.object_class {
                    prepared.flags |= catalog.class_flags(value);
                }
            }
            let range = start..prepared.tlvs.len();
            let external = external::is_external(attribute.values.len(), range.len());
            let tlvs = prepared.tlvs.get(range.clone()).unwrap_or_default();
            prepared.flags |= u8::from(external) * codec::FLAG_EXTERNAL;
            prepared.keys.add_values(&catalog, number, None, &TlvValues(tlvs));
            prepared.blocks.push((number, range, external));
        }
        prepared.keys.sort();
        Ok(prepared)
    }
    fn number(&self, description: &AttributeDescription) -> Result<u16, StoreError> {
        if let Some(number) = self.shared.catalog.load().number(description) {
            return Ok(number);
        }
        let _lock = self.shared.registering.lock().unwrap_or_else(PoisonError::into_inner);
        let catalog = self.shared.catalog.load_full();
        if let Some(number) = catalog.number(description) {
            return Ok(number);
        }
        let (catalog, number) = catalog.with(description)?;
        self.shared.catalog.store(Arc::new(catalog));
        Ok(number)
    }
}
