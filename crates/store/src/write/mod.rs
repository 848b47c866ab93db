//! The write transaction: the only code that changes entries and indexes.

pub(crate) use apply::{image_flags, name_in, pretty_in};
pub use log::{Applied, LogMode};

mod apply;
mod cluster;
pub(crate) mod index;
mod load;
mod log;
mod removal;
mod source;
mod values;
mod working;

use std::sync::{
    Arc, MutexGuard,
    atomic::{AtomicU64, Ordering},
};

use heed::RwTxn;
use ironbark_model::{AttributeDescription, Dn};

use crate::{
    Database, Effect, EntryId, StoreError, View,
    catalog::{Catalog, Parts, Undefined},
    keys::KeySet,
    numbering::Numbering,
    points::{Point, reach},
    record::{
        codec::{self, FLAG_REFERRAL},
        image::Image,
    },
    sets::{OpenSets, SetWriter, SharedSets},
    tables::{MetaRow, Tables},
    watched::Watched,
};

/// See [`WriteTransaction::derived_state`]. Two equal ones are the same state of the same transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DerivedState {
    transaction: u64,
    changes: u64,
}

static BEGUN: AtomicU64 = AtomicU64::new(0);

/// The one write transaction. Blocks other writers of the same file (also other processes) until committed or dropped
/// (aborted).
pub struct WriteTransaction<'d> {
    pub(crate) txn: RwTxn<'d>,
    database: &'d Database,
    pub(crate) catalog: Arc<Catalog>,
    /// The numbering that it began with.
    before: Arc<Numbering>,
    /// Holds the lock of this process's writers.
    sets: OpenSets<MutexGuard<'d, SetWriter>>,
    next_entry: EntryId,
    structure_changed: bool,
    /// How often an entry has changed that derived attributes depend on.
    derived_changes: u64,
    /// Tells it from all others of this process.
    begun: u64,
    /// The types of their attributes.
    watched: Option<Arc<Watched>>,
    /// Referral entries that were added, less those that were removed.
    referrals: i64,
    logged: log::Logged,
    scratch: Scratch,
}

/// Memory that is reused from effect to effect.
#[derive(Default)]
struct Scratch {
    name: crate::names::Key,
    record: Vec<u8>,
    row: Vec<u8>,
    old_keys: KeySet,
    new_keys: KeySet,
}

impl<'d> WriteTransaction<'d> {
    pub(crate) fn begin(database: &'d Database) -> Result<Self, StoreError> {
        // Readers never take this lock: another process may make LMDB's wait for long.
        let writer = database.lock_writer();
        let txn = database.env.write_txn()?;
        // A write transaction's own number is one above the last commit's.
        let last_commit = txn.id().saturating_sub(1);
        let numbering = database
            .numbering
            .of_transaction(&txn, last_commit, &database.ground.tables)?;
        let Numbering { catalog, sets, .. } = Numbering::clone(&numbering);
        let next_entry = database.ground.tables.number(&txn, MetaRow::NextEntry)?.max(1);
        let watched = database.watched.load_full();
        reach(Point::Begun);
        Ok(Self {
            txn,
            database,
            catalog,
            sets: OpenSets::new(writer, sets),
            before: numbering,
            next_entry,
            structure_changed: false,
            derived_changes: u64::from(watched.is_none()),
            begun: BEGUN.fetch_add(1, Ordering::Relaxed),
            watched,
            referrals: 0,
            logged: log::Logged::default(),
            scratch: Scratch::default(),
        })
    }
    pub(crate) fn database(&self) -> &'d Database {
        self.database
    }
    pub(crate) fn tables(&self) -> &'d Tables {
        &self.database.ground.tables
    }
    pub(crate) fn sets(&self) -> &SharedSets {
        self.sets.sets()
    }
    /// Read operations on the transaction's current state, its own changes included.
    pub fn view(&self) -> View<'_> {
        View::of_writing(&self.txn, &self.database.ground, &self.catalog, self.sets.sets())
    }
    /// Applies one effect. After an error the transaction must be dropped. Returns the entry's ID.
    ///
    /// # Errors
    /// [`StoreError::Inapplicable`]: the entry is missing or there already, a name or attribute is
    /// not of this schema. [`StoreError::Full`]: the map or the disk.
    pub fn apply_effect(&mut self, effect: &Effect) -> Result<EntryId, StoreError> {
        let applied = match effect {
            Effect::Add { dn, attributes } => self.add(dn, attributes),
            Effect::Modify { dn, changes } => self.modify(dn, changes),
            Effect::Rename { dn, new_dn, changes } => self.rename(dn, new_dn, changes),
            Effect::Delete { dn } => self.delete(dn),
        };
        self.count_effect();
        applied.map_err(|error| error.with_room_checked(&self.database.ground.options.directory))
    }
    /// Makes everything visible and, at the configured level, durable. The numbering is published first.
    pub fn commit(mut self) -> Result<(), StoreError> {
        let tables = self.tables();
        self.close_log()?;
        tables.put_number(&mut self.txn, MetaRow::NextEntry, self.next_entry)?;
        if self.structure_changed {
            let version = tables.number(&self.txn, MetaRow::StructureVersion)?;
            tables.put_number(&mut self.txn, MetaRow::StructureVersion, version + 1)?;
        }
        if self.derived_changes > 0 {
            let version = tables.number(&self.txn, MetaRow::DerivedVersion)?;
            tables.put_number(&mut self.txn, MetaRow::DerivedVersion, version + 1)?;
        }
        if self.referrals != 0 {
            let referrals = tables.number(&self.txn, MetaRow::Referrals)?;
            let referrals = referrals.saturating_add_signed(self.referrals);
            tables.put_number(&mut self.txn, MetaRow::Referrals, referrals)?;
        }
        self.sets.store(&mut self.txn, tables)?;
        reach(Point::Written);
        let id = self.txn.id();
        // What it began with may never have been published: a reader with an older snapshot was quicker.
        let is_same = Arc::ptr_eq(&self.before, &self.database.numbering.newest())
            && Arc::ptr_eq(&self.before.catalog, &self.catalog)
            && Arc::ptr_eq(&self.before.sets, self.sets.sets());
        let numbering = (!is_same).then(|| Numbering::new(self.catalog, Arc::clone(self.sets.sets()), id));
        let result = self.database.numbering.commit(numbering, id, || {
            reach(Point::Published);
            self.txn.commit()
        });
        reach(if result.is_ok() {
            Point::Committed
        } else {
            Point::TakenBack
        });
        drop(self.sets);
        result.map_err(|error| StoreError::from(error).with_room_checked(&self.database.ground.options.directory))
    }

    /// Reloads the rows that this transaction has changed in `attributes` and `indexes`.
    pub(crate) fn reload(&mut self) -> Result<(), StoreError> {
        let parts = Parts::load(&self.txn, &self.database.ground.tables, &self.catalog.indexes)?;
        let catalog = Catalog::build(self.catalog.schema.clone(), parts, Undefined::Refused)?;
        self.catalog = Arc::new(catalog);
        Ok(())
    }
    /// The state of what derived attributes depend on, in this transaction. `None`: that of the last commit, which
    /// [`View::derived_version`] names.
    pub fn derived_state(&self) -> Option<DerivedState> {
        let has_changed = self.derived_changes > 0 || self.structure_changed;
        has_changed.then_some(DerivedState {
            transaction: self.begun,
            changes: self.derived_changes,
        })
    }
    /// Notes that entries have other names.
    fn note_structure(&mut self) {
        self.structure_changed = true;
        self.derived_changes += 1;
    }
    /// Notes that an entry has changed which had, or has, this content.
    fn note_content(&mut self, image: &Image) {
        let Some(watched) = self.watched.as_deref() else {
            self.derived_changes += 1;
            return;
        };
        let numbers = image.attributes.iter().map(|attribute| attribute.number);
        let types = numbers.filter_map(|number| Some(self.catalog.attribute(number)?.description.attribute_type));
        let classes = class_values(&self.catalog, image);
        self.derived_changes += u64::from(watched.has(&self.catalog.schema, types, classes));
    }
    /// Counts referral entries: `before` and `after` are the flags of an entry (0: it did not exist).
    fn count_referrals(&mut self, before: u8, after: u8) {
        self.referrals += i64::from(after & FLAG_REFERRAL != 0) - i64::from(before & FLAG_REFERRAL != 0);
    }
    /// The name in `text`.
    fn parse_dn(&self, text: &str) -> Result<Dn, StoreError> {
        Dn::parse(&self.catalog.schema, text.as_bytes())
            .map_err(|_| StoreError::Inapplicable(format!("\"{text}\" is not a name in this schema")))
    }
    /// The number of a description, registered if it is new.
    fn number_of(&mut self, description: &AttributeDescription) -> Result<u16, StoreError> {
        if let Some(number) = self.catalog.number(description) {
            return Ok(number);
        }
        let tables = self.tables();
        // The first new description copies the catalog that others read. From then on the catalog is the transaction's
        // own.
        Arc::make_mut(&mut self.catalog).register(&mut self.txn, tables, description)
    }
    /// The number of a description given as text.
    fn number_of_text(&mut self, text: &str) -> Result<u16, StoreError> {
        let description = self
            .catalog
            .schema
            .attribute_description(text.as_bytes())
            .map_err(|error| StoreError::Inapplicable(format!("attribute \"{text}\": {error}")))?;
        self.number_of(&description)
    }
}

/// The values of objectClass.
fn class_values<'i>(catalog: &'i Catalog, image: &'i Image) -> impl Iterator<Item = &'i [u8]> {
    let numbers = catalog
        .special
        .object_class
        .map_or(&[][..], |object_class| catalog.numbers_of_type(object_class));
    image
        .attributes
        .iter()
        .filter(|attribute| numbers.binary_search(&attribute.number).is_ok())
        .filter_map(|attribute| attribute.set.tlvs())
        .flat_map(codec::values)
}
