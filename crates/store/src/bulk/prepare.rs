//! The part of adding an entry that needs no order: TLVs, packing, normalization, index keys. Runs on any thread.

use std::{
    ops::Range,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use arc_swap::ArcSwap;
use ironbark_model::{AttributeDescription, Dn};

use super::{
    gather::{Gathered, Groups},
    runs::write_run,
};
use crate::{
    Database, EntryId, StoreError,
    catalog::Catalog,
    external::{self, Row},
    hash,
    keys::{KeySet, NormalForm},
    record::{
        codec, image,
        packed::{self, Packing},
    },
    shared_keys::{self, SharedKeys},
    write::index::TlvValues,
};

/// Makes [`Preparer`]s, one for each thread.
#[derive(Clone)]
pub struct Preparers {
    shared: Arc<Shared>,
}

/// Makes [`PreparedEntry`] values and keeps their index keys until the build is finished.
pub struct Preparer {
    shared: Arc<Shared>,
    slot: Arc<Mutex<Slot>>,
    owner: usize,
    ordinal: u32,
    form: NormalForm,
    /// The part of the memory in use that is counted already.
    counted: usize,
}

/// The keys that one preparer has gathered: in memory, and in runs that were written.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) gathered: Gathered,
    pub(super) runs: Vec<PathBuf>,
}

struct Shared {
    catalog: ArcSwap<Catalog>,
    registering: Mutex<()>,
    slots: Mutex<Vec<Arc<Mutex<Slot>>>>,
    directory: PathBuf,
    /// Bytes that all preparers together may hold, and bytes that they hold.
    limit: usize,
    used: AtomicUsize,
    runs: AtomicUsize,
    /// Index keys are lost: the build cannot be finished.
    failed: AtomicBool,
    failure: Mutex<Option<StoreError>>,
}

/// Why an entry was not prepared.
#[derive(Debug, thiserror::Error)]
pub enum Unprepared {
    /// A value of this attribute has no normal form by the attribute's equality rule.
    #[error("a value has no normal form")]
    Value(AttributeDescription),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An entry with all that can be computed without knowing its ID.
pub struct PreparedEntry {
    pub(super) dn: Dn,
    pub(super) flags: u8,
    /// Which preparer holds its keys, and under which number.
    pub(super) owner: usize,
    pub(super) ordinal: u32,
    bytes: Vec<u8>,
    blocks: Vec<(u16, Range<usize>, Prepared)>,
}

/// How a value set will be stored.
#[derive(Clone, Copy)]
pub(super) enum Prepared {
    /// TLVs that belong in `values`.
    External,
    /// One packed value.
    Packed(Packing),
    /// TLVs, and their [`hash::value_hash`].
    Set(u64),
    /// TLVs of the value that the RDN has. A topmost entry may have a longer name in its record.
    Rdn,
}

impl PreparedEntry {
    fn new(dn: Dn, owner: usize, ordinal: u32) -> Self {
        Self {
            dn,
            flags: 0,
            owner,
            ordinal,
            bytes: Vec::with_capacity(2048),
            blocks: Vec::with_capacity(64),
        }
    }
    /// The blocks: attribute number, bytes, and the form of the bytes.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (u16, &[u8], Prepared)> {
        self.blocks
            .iter()
            .map(|(number, range, form)| (*number, self.bytes.get(range.clone()).unwrap_or_default(), *form))
    }
    /// Rows for the index keys that several of its values make, if it has external sets.
    pub(super) fn shared_keys(&self, catalog: &Catalog, id: EntryId) -> Vec<Row> {
        let external = self.blocks().filter(|block| matches!(block.2, Prepared::External));
        let fed = shared_keys::fed_by_external(catalog, external.map(|block| block.0));
        let mut keys = KeySet::default();
        for (number, bytes, form) in self.blocks() {
            let mut text = [0; packed::MAX_TEXT];
            if let Prepared::Packed(packing) = form {
                let value = packed::unpack(packing, bytes, &mut text).and_then(|length| text.get(..length));
                keys.add_values(catalog, number, Some(&fed), &value.into_iter());
            } else {
                keys.add_values(catalog, number, Some(&fed), &TlvValues(bytes));
            }
        }
        SharedKeys { id }.rows(catalog, &fed, &keys)
    }
    /// The entry's name.
    pub fn dn(&self) -> &Dn {
        &self.dn
    }
}

/// A panic elsewhere ends the build; the locked data is still sound.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Preparers {
    pub(super) fn new(database: &Database, directory: PathBuf, limit: usize) -> Self {
        Self {
            shared: Arc::new(Shared {
                catalog: ArcSwap::new(Arc::clone(&database.numbering.newest().catalog)),
                registering: Mutex::default(),
                slots: Mutex::default(),
                directory,
                limit,
                used: AtomicUsize::new(0),
                runs: AtomicUsize::new(0),
                failed: AtomicBool::new(false),
                failure: Mutex::default(),
            }),
        }
    }
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.shared.catalog.load_full()
    }
    /// Another preparer, for use on one thread.
    pub fn preparer(&self) -> Preparer {
        let slot = Slot {
            gathered: Gathered::new(&self.shared.catalog.load().indexes),
            runs: Vec::new(),
        };
        let slot = Arc::new(Mutex::new(slot));
        let mut slots = lock(&self.shared.slots);
        slots.push(Arc::clone(&slot));
        Preparer {
            shared: Arc::clone(&self.shared),
            slot,
            owner: slots.len() - 1,
            ordinal: 0,
            form: NormalForm::default(),
            counted: 0,
        }
    }
    /// Fails when a preparer has lost index keys.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if !self.shared.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        let failure = lock(&self.shared.failure).take();
        Err(failure.unwrap_or_else(|| StoreError::Format("index keys are lost".into())))
    }
    /// The keys that all preparers have gathered, by owner.
    pub(super) fn take(&self) -> Vec<Slot> {
        let slots = std::mem::take(&mut *lock(&self.shared.slots));
        slots.iter().map(|slot| std::mem::take(&mut *lock(slot))).collect()
    }
}

impl Preparer {
    /// Computes record parts and index keys of an entry: a name, and the values of each of its attributes.
    ///
    /// # Errors
    /// A value has no normal form; more than 65,536 attribute descriptions, or 4,294,967,295 entries.
    pub fn prepare<'a, V>(
        &mut self,
        dn: Dn,
        attributes: impl Iterator<Item = (&'a AttributeDescription, V)>,
    ) -> Result<PreparedEntry, Unprepared>
    where
        V: Iterator<Item = &'a [u8]>,
    {
        self.ordinal = self
            .ordinal
            .checked_add(1)
            .ok_or_else(|| StoreError::Full("4,294,967,295 entries in one load".into()))?;
        let of_rdn = dn.rdn(0).and_then(|(pretty, _)| codec::rdn_value(pretty));
        let of_rdn = of_rdn.map(<[u8]>::to_vec);
        let mut prepared = PreparedEntry::new(dn, self.owner, self.ordinal);
        let slot = Arc::clone(&self.slot);
        let mut slot = lock(&slot);
        let mut catalog = self.shared.catalog.load_full();
        for (description, values) in attributes {
            let number = if let Some(number) = catalog.number(description) {
                number
            } else {
                let number = self.shared.register(description)?;
                catalog = self.shared.catalog.load_full();
                number
            };
            let Some(info) = catalog.attribute(number) else {
                continue;
            };
            let is_object_class = Some(description.attribute_type) == catalog.special.object_class;
            let (start, mut count) = (prepared.bytes.len(), 0);
            for value in values {
                count += 1;
                codec::put_value(value, &mut prepared.bytes);
                if is_object_class {
                    prepared.flags |= catalog.class_flags(value);
                }
                self.form.begin();
                let schema = &catalog.schema;
                let is_loaded = match info.equality {
                    None => true,
                    Some(rule) if value.is_empty() => rule.loads_empty_value(),
                    Some(rule) => {
                        self.form.framed(schema, rule.normalize_value, value).is_some() || rule.loads_any_value()
                    }
                };
                if !is_loaded {
                    return Err(Unprepared::Value(description.clone()));
                }
                if !info.feeds.is_empty() {
                    let gathered = &mut slot.gathered;
                    gathered.add_value(
                        &catalog.indexes,
                        &info.feeds,
                        schema,
                        value,
                        &mut self.form,
                        self.ordinal,
                    );
                }
            }
            if count > 0 {
                prepared.close(number, start, count, of_rdn.as_deref());
            }
        }
        slot.gathered.settle(false)?;
        self.count(&mut slot);
        Ok(prepared)
    }
    /// Counts the memory in use. Writes a run when all preparers together hold too much and this one holds at least its
    /// share.
    fn count(&mut self, slot: &mut Slot) {
        let memory = slot.gathered.memory();
        let shared = &self.shared;
        let added = memory.wrapping_sub(self.counted);
        let used = shared.used.fetch_add(added, Ordering::Relaxed).wrapping_add(added);
        self.counted = memory;
        if used <= shared.limit || memory < shared.limit / lock(&shared.slots).len().max(1) {
            return;
        }
        let empty = Gathered::new(&shared.catalog.load().indexes);
        let gathered = std::mem::replace(&mut slot.gathered, empty);
        shared.used.fetch_sub(memory, Ordering::Relaxed);
        self.counted = 0;
        if let Err(error) = shared.write_runs(gathered, &mut slot.runs) {
            lock(&shared.failure).get_or_insert(error);
            shared.failed.store(true, Ordering::Release);
        }
    }
}

impl PreparedEntry {
    /// Closes the block of an attribute whose TLVs begin at `start`. `of_rdn` is [`codec::rdn_value`] of the name.
    fn close(&mut self, number: u16, start: usize, count: usize, of_rdn: Option<&[u8]>) {
        let tlvs = self.bytes.get(start..).unwrap_or_default();
        let form = if external::is_external(count, tlvs.len()) {
            self.flags |= codec::FLAG_EXTERNAL;
            Prepared::External
        } else if of_rdn.is_some_and(|value| image::is_only(value, tlvs)) {
            Prepared::Rdn
        } else {
            let mut packed = Vec::new();
            match image::pack(tlvs, &mut packed) {
                Some(packing) => {
                    self.bytes.truncate(start);
                    self.bytes.extend_from_slice(&packed);
                    Prepared::Packed(packing)
                }
                None => Prepared::Set(hash::value_hash(tlvs)),
            }
        };
        self.blocks.push((number, start..self.bytes.len(), form));
    }
}

impl Shared {
    /// Gives out the number of a description that is not, or was not, in the catalog.
    fn register(&self, description: &AttributeDescription) -> Result<u16, StoreError> {
        let _lock = lock(&self.registering);
        let catalog = self.catalog.load_full();
        if let Some(number) = catalog.number(description) {
            return Ok(number);
        }
        let mut catalog = Catalog::clone(&catalog);
        let number = catalog.take_in(description)?;
        self.catalog.store(Arc::new(catalog));
        Ok(number)
    }
    fn write_runs(&self, gathered: Gathered, runs: &mut Vec<PathBuf>) -> Result<(), StoreError> {
        let (mut lists, mut pairs) = gathered.sort()?;
        let groups: [&mut dyn Groups; 2] = [&mut lists, &mut pairs];
        for groups in groups {
            let number = self.runs.fetch_add(1, Ordering::Relaxed);
            let path = self.directory.join(format!("keys.{number}"));
            write_run(&path, groups)?;
            runs.push(path);
        }
        Ok(())
    }
}
