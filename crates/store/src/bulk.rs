//! Bulk build of an empty database (`slapadd -q`): records and keys are appended in order. A failure leaves nothing
//! behind.
//!
//! The file is built in a temporary directory inside the database's and renamed into place by [`BulkBuilder::finish`].
//! Entries may come in any order; an entry whose superior has not come yet reserves the superior's ID, as slapadd does.

mod append;
mod gather;
mod install;
mod pairs;
mod prepare;
mod runs;
mod target;

use std::{
    hash::{BuildHasher as _, RandomState},
    path::PathBuf,
    sync::Arc,
};

use heed::PutFlags;
use ironbark_model::{Dn, Entry, Schema, number_map::NumberMap};

pub use prepare::{PreparedEntry, Preparer, Preparers, Unprepared};

use gather::SortedPairs;
use pairs::Pairs;
use prepare::{Prepared, Slot};
use runs::{Merge, Placed, RunReader, write_run};

use crate::{
    Database, DatabaseOptions, EntryId, StoreError,
    external::{Row, SetKey},
    names,
    record::{
        codec::{self, FLAG_EXTERNAL, FLAG_PLACEHOLDER, FLAG_REFERRAL, Form, Header},
        image,
    },
    sets::{OpenSets, SetWriter},
    tables::MetaRow,
    varint,
    write::{name_in, pretty_in},
};

/// Bytes of records that are gathered before they are appended, and bytes of rows that one transaction appends.
const BATCH: usize = 32 << 20;

/// Builds a database from entries.
pub struct BulkBuilder {
    target: target::Target,
    database: Option<Database>,
    preparers: Preparers,
    /// Prepares entries that come one by one.
    preparer: Option<Preparer>,
    /// The shared sets of the build. They are written at its end.
    sets: OpenSets<Box<SetWriter>>,
    /// By [`NameHashes`].
    ids: NumberMap<(u32, EntryId)>,
    hashes: NameHashes,
    missing: NumberMap<String>,
    next: EntryId,
    referrals: u64,
    batch: Batch,
    names: Pairs,
    name_runs: Vec<PathBuf>,
    name_limit: usize,
    /// For each preparer, the entry IDs of its entries, by ordinal.
    placed: Vec<Vec<u32>>,
    name: names::Key,
}

/// Two hashes with keys of their own: 64 bits of one and 32 of the other stand for a normalized name. Nobody knows the
/// keys, so nobody can choose names that are taken for each other.
#[derive(Default)]
struct NameHashes([RandomState; 2]);

impl NameHashes {
    fn of(&self, normalized: &[u8]) -> (u64, u32) {
        let [hash, check] = self.0.each_ref().map(|keys| keys.hash_one(normalized));
        let [a, b, c, d, ..] = check.to_be_bytes();
        (hash, u32::from_be_bytes([a, b, c, d]))
    }
}

/// Rows that wait to be appended.
#[derive(Default)]
struct Batch {
    records: Vec<(EntryId, std::ops::Range<usize>)>,
    bytes: Vec<u8>,
    values: Vec<Row>,
}

impl BulkBuilder {
    /// Begins a build. `memory_limit` in bytes bounds the names and index keys held in memory; what exceeds it is
    /// written to temporary files. The limit does not count about 50 bytes for each entry, and 64 MiB for records that
    /// wait to be appended.
    ///
    /// # Errors
    /// The database has entries or is in use; the directory cannot be written.
    pub fn new(options: DatabaseOptions, schema: Arc<Schema>, memory_limit: usize) -> Result<Self, StoreError> {
        let target = target::Target::new(&options, &schema)?;
        Self::begin(target, options, schema, memory_limit, None)
    }

    fn of(target: target::Target, database: Database, memory_limit: usize) -> Self {
        let preparers = Preparers::new(&database, target.temporary().to_owned(), memory_limit / 5 * 4);
        Self {
            names: Pairs::default(),
            name_runs: Vec::new(),
            name_limit: (memory_limit / 5).clamp(1 << 16, 4_000_000_000),
            placed: Vec::new(),
            target,
            database: Some(database),
            preparers,
            preparer: None,
            sets: OpenSets::new(Box::default(), Arc::default()),
            ids: NumberMap::default(),
            hashes: NameHashes::default(),
            missing: NumberMap::default(),
            next: 1,
            referrals: 0,
            batch: Batch::default(),
            name: names::Key::new(),
        }
    }
    /// The state that preparers share. Give a preparer to each worker thread, and hand the prepared entries to
    /// [`BulkBuilder::add_prepared`] in the order of the file.
    pub fn preparers(&self) -> Preparers {
        self.preparers.clone()
    }
    /// Adds a validated entry. After an error the builder goes on as if the entry had not been given.
    ///
    /// # Errors
    /// As [`BulkBuilder::add_prepared`].
    pub fn add(&mut self, entry: &Entry) -> Result<EntryId, StoreError> {
        let preparer = self.preparer.get_or_insert_with(|| self.preparers.preparer());
        let attributes = entry.attributes.iter();
        let attributes = attributes.map(|found| (&found.description, found.values.iter().map(Vec::as_slice)));
        let ready = preparer
            .prepare(entry.dn.clone(), attributes)
            .map_err(|error| match error {
                Unprepared::Store(error) => error,
                Unprepared::Value(_) => StoreError::Inapplicable(format!("{}: {error}", entry.dn.pretty())),
            })?;
        self.add_prepared(&ready)
    }
    /// Adds a prepared entry.
    ///
    /// # Errors
    /// The entry exists or is in no naming context; the disk is full.
    pub fn add_prepared(&mut self, entry: &PreparedEntry) -> Result<EntryId, StoreError> {
        self.preparers.check()?;
        let dn = &entry.dn;
        let id = match self.find(dn.normalized()) {
            Some(id) if self.missing.contains_key(&id) => id,
            Some(_) => return Err(StoreError::Inapplicable(format!("{}: entry exists", dn.pretty()))),
            None => {
                self.check_context(dn)?;
                self.place_superiors(dn)?;
                self.new_name(dn)?
            }
        };
        self.missing.remove(&id);
        let parent = self.parent(dn);
        self.put_record(id, parent, entry)?;
        self.place(entry, id);
        if self.batch.bytes.len() > BATCH {
            self.flush()
                .map_err(|error| error.with_room_checked(self.target.temporary()))?;
        }
        Ok(id)
    }
    /// Number of entries so far, places kept for superiors included.
    pub fn len(&self) -> u64 {
        self.next - 1
    }
    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// DNs of superiors that have not come, at most `limit`, in the order of their first subordinate.
    pub fn missing_superiors(&self, limit: usize) -> Vec<&str> {
        let mut missing: Vec<_> = self.missing.iter().collect();
        missing.sort_unstable();
        missing.into_iter().take(limit).map(|(_, dn)| dn.as_str()).collect()
    }
    /// Writes indexes and names, and puts the file into place.
    ///
    /// # Errors
    /// A superior is missing (the message names the first); the disk is full. Nothing is left behind.
    pub fn finish(self) -> Result<(), StoreError> {
        self.refuse_missing()?;
        self.write_out()
    }

    fn refuse_missing(&self) -> Result<(), StoreError> {
        match self.missing_superiors(1).first() {
            None => Ok(()),
            Some(first) => Err(StoreError::Inapplicable(format!(
                "{first} is missing, and {} more; the input has entries below them",
                self.missing.len().saturating_sub(1)
            ))),
        }
    }

    /// As [`BulkBuilder::finish`], but the places of superiors that have not come are kept (`slapadd -c`), as
    /// [`WriteTransaction::load`](crate::WriteTransaction::load) keeps them.
    ///
    /// # Errors
    /// The disk is full. Nothing is left behind.
    pub fn finish_with_places(mut self) -> Result<(), StoreError> {
        let mut missing: Vec<_> = std::mem::take(&mut self.missing).into_iter().collect();
        missing.sort_unstable();
        for (id, text) in missing {
            let schema = self.database()?.schema();
            let dn = Dn::parse(&schema, text.as_bytes())
                .map_err(|_| StoreError::Inapplicable(format!("{text}: not a name in this schema")))?;
            let parent = self.parent(&dn);
            let start = self.batch.bytes.len();
            let header = Header {
                parent,
                flags: FLAG_PLACEHOLDER,
                rdn: pretty_in(&dn, parent),
            };
            codec::put_header(&header, &mut self.batch.bytes);
            if self.database()?.ground.tables.sealed {
                codec::seal(id, start, &mut self.batch.bytes);
            }
            self.batch.records.push((id, start..self.batch.bytes.len()));
        }
        self.write_out()
    }

    fn write_out(mut self) -> Result<(), StoreError> {
        self.write_file()
            .map_err(|error| error.with_room_checked(self.target.temporary()))?;
        self.target.put_in_place()
    }

    fn write_tables(&mut self) -> Result<(), StoreError> {
        self.flush()?;
        self.write_sorted()?;
        self.write_rest()
    }

    fn write_file(&mut self) -> Result<(), StoreError> {
        self.write_tables()?;
        if let Some(database) = self.database.take() {
            database.sync()?;
        }
        Ok(())
    }

    /// Remembers which ID the keys of an entry belong to.
    fn place(&mut self, entry: &PreparedEntry, id: EntryId) {
        if self.placed.len() <= entry.owner {
            self.placed.resize_with(entry.owner + 1, Vec::new);
        }
        let at = entry.ordinal as usize;
        if let Some(placed) = self.placed.get_mut(entry.owner) {
            if placed.len() <= at {
                placed.resize(at + 1, 0);
            }
            // `new_name` gives out no greater IDs.
            if let (Some(place), Ok(id)) = (placed.get_mut(at), u32::try_from(id)) {
                *place = id;
            }
        }
    }
    fn database(&self) -> Result<&Database, StoreError> {
        self.database
            .as_ref()
            .ok_or_else(|| StoreError::Format("the bulk build is over".into()))
    }
    fn suffixes(&self) -> &[Dn] {
        self.database
            .as_ref()
            .map_or(&[], |database| &database.ground.options.suffixes)
    }
    /// The ID of a normalized DN.
    fn find(&self, normalized: &[u8]) -> Option<EntryId> {
        let (hash, check) = self.hashes.of(normalized);
        self.ids
            .get(&hash)
            .filter(|found| found.0 == check)
            .map(|found| found.1)
    }
    fn check_context(&self, dn: &Dn) -> Result<(), StoreError> {
        if self.suffixes().iter().any(|suffix| dn.is_within(suffix)) {
            return Ok(());
        }
        Err(StoreError::Inapplicable(format!(
            "{}: not in a naming context of this database",
            dn.pretty()
        )))
    }
    /// Whether `names` holds the entry below parent 0.
    fn is_topmost(&self, dn: &Dn) -> bool {
        self.suffixes()
            .iter()
            .any(|suffix| suffix == dn || (suffix.depth() == 0 && dn.depth() == 1))
    }
    fn parent(&self, dn: &Dn) -> EntryId {
        if self.is_topmost(dn) {
            return 0;
        }
        self.find(parent_of(dn)).unwrap_or(0)
    }
    /// Gives out an ID for a name that is not known yet.
    fn new_name(&mut self, dn: &Dn) -> Result<EntryId, StoreError> {
        let (hash, check) = self.hashes.of(dn.normalized());
        if self.ids.contains_key(&hash) {
            return Err(StoreError::Inapplicable(format!(
                "{}: its name's hash is taken; add it online",
                dn.pretty()
            )));
        }
        let parent = self.parent(dn);
        let id = self.next;
        let short = u32::try_from(id).map_err(|_| StoreError::Full("4,294,967,295 entries in one load".into()))?;
        names::key(parent, name_in(dn, parent), &mut self.name);
        self.names.push(&self.name, short)?;
        self.next += 1;
        self.ids.insert(hash, (check, id));
        if self.names.memory() > self.name_limit {
            let path = self.target.temporary().join(format!("names.{}", self.name_runs.len()));
            write_run(&path, &mut SortedPairs::new(std::mem::take(&mut self.names)))?;
            self.name_runs.push(path);
        }
        Ok(id)
    }
    /// Reserves IDs for superiors that have not come.
    fn place_superiors(&mut self, dn: &Dn) -> Result<(), StoreError> {
        if self.is_topmost(dn) || self.find(parent_of(dn)).is_some() {
            return Ok(());
        }
        for depth in 1..dn.depth() {
            let superior = dn.ancestor(depth);
            let inside = self.suffixes().iter().any(|suffix| superior.is_within(suffix));
            if inside && superior.depth() > 0 && self.find(superior.normalized()).is_none() {
                let id = self.new_name(&superior)?;
                self.missing.insert(id, superior.pretty().to_owned());
            }
        }
        Ok(())
    }
    fn put_record(&mut self, id: EntryId, parent: EntryId, entry: &PreparedEntry) -> Result<(), StoreError> {
        let Some(database) = self.database.as_ref() else {
            return Err(StoreError::Format("the bulk build is over".into()));
        };
        self.referrals += u64::from(entry.flags & FLAG_REFERRAL != 0);
        let catalog = self.preparers.catalog();
        if entry.flags & FLAG_EXTERNAL != 0 {
            self.batch.values.extend(entry.shared_keys(&catalog, id));
        }
        let start = self.batch.bytes.len();
        let out = &mut self.batch.bytes;
        let rdn = pretty_in(&entry.dn, parent);
        codec::put_header(
            &Header {
                parent,
                flags: entry.flags & !FLAG_PLACEHOLDER,
                rdn,
            },
            out,
        );
        for (number, bytes, form) in entry.blocks() {
            match form {
                Prepared::External => {
                    let key = SetKey { id, attribute: number };
                    let (set, rows) = key.rows(&catalog, &database.ground.tables, codec::values(bytes));
                    codec::put_block(number, Form::External(set), out);
                    self.batch.values.extend(rows);
                }
                Prepared::Packed(packing) => codec::put_block(number, Form::Packed(packing, bytes), out),
                Prepared::Rdn => {
                    let of_rdn = codec::rdn_value(rdn.as_bytes());
                    image::put_inline(number, false, bytes, of_rdn, &mut self.sets, out);
                }
                Prepared::Set(hash) => image::put_set(number, bytes, hash, &mut self.sets, out),
            }
        }
        if database.ground.tables.sealed {
            codec::seal(id, start, out);
        }
        self.batch.records.push((id, start..out.len()));
        Ok(())
    }
    /// Appends what has been gathered.
    fn flush(&mut self) -> Result<(), StoreError> {
        let mut batch = std::mem::take(&mut self.batch);
        let database = self.database()?;
        let mut txn = database.env.write_txn()?;
        let mut last = database
            .ground
            .tables
            .entries
            .last(&txn)?
            .and_then(|(key, _)| varint::read(key))
            .unwrap_or(0);
        for (id, range) in &batch.records {
            let bytes = batch.bytes.get(range.clone()).unwrap_or_default();
            let key = varint::Key::new(*id);
            // A superior that came late has a lower ID than the last record that was written.
            if *id > last {
                database
                    .ground
                    .tables
                    .entries
                    .put_with_flags(&mut txn, PutFlags::APPEND, key.bytes(), bytes)?;
                last = *id;
            } else {
                database.ground.tables.entries.put(&mut txn, key.bytes(), bytes)?;
            }
        }
        for (key, value) in &batch.values {
            database.ground.tables.values.put(&mut txn, key, value)?;
        }
        txn.commit()?;
        batch.records.clear();
        batch.bytes.clear();
        batch.values.clear();
        self.batch = batch;
        Ok(())
    }
    /// Names and index keys.
    fn write_sorted(&mut self) -> Result<(), StoreError> {
        self.preparers.check()?;
        let placed: Vec<Placed> = std::mem::take(&mut self.placed).into_iter().map(Some).collect();
        let names = std::mem::take(&mut self.names);
        let failed = |_| StoreError::Format("a sorting thread has failed".into());
        let mut keys = Merge::default();
        let mut merged_names = Merge::default();
        std::thread::scope(|scope| {
            let names = scope.spawn(|| SortedPairs::new(names));
            let mut sorting = Vec::new();
            for (Slot { gathered, runs }, placed) in self.preparers.take().into_iter().zip(&placed) {
                for run in runs {
                    keys.add(Box::new(RunReader::open(run)?), placed)?;
                }
                sorting.push((scope.spawn(|| gathered.sort()), placed));
            }
            for (thread, placed) in sorting {
                let (lists, pairs) = thread.join().map_err(failed)??;
                keys.add(Box::new(lists), placed)?;
                keys.add(Box::new(pairs), placed)?;
            }
            for run in std::mem::take(&mut self.name_runs) {
                merged_names.add(Box::new(RunReader::open(run)?), &None)?;
            }
            merged_names.add(Box::new(names.join().map_err(failed)?), &None)
        })?;
        append::append_sorted(self.database()?, merged_names, keys)
    }
    /// Attribute numbers, shared sets, the next entry ID.
    fn write_rest(&mut self) -> Result<(), StoreError> {
        let database = self.database()?;
        let mut txn = database.env.write_txn()?;
        let (catalog, tables) = (self.preparers.catalog(), &database.ground.tables);
        for (number, text) in (0u64..).zip(catalog.texts()) {
            tables.put_sealed(&mut txn, &tables.attributes, number, text.as_bytes())?;
        }
        catalog.store_feeders(&mut txn, tables)?;
        self.sets.store(&mut txn, &database.ground.tables)?;
        database
            .ground
            .tables
            .put_number(&mut txn, MetaRow::NextEntry, self.next)?;
        database
            .ground
            .tables
            .put_number(&mut txn, MetaRow::Referrals, self.referrals)?;
        Ok(txn.commit()?)
    }
}

/// The normalized DN of the superior: what follows the leaf RDN and its comma.
fn parent_of(dn: &Dn) -> &[u8] {
    let leaf = dn.rdn(0).map_or(0, |rdn| rdn.1.len());
    dn.normalized().get(leaf + 1..).unwrap_or_default()
}

impl Drop for BulkBuilder {
    fn drop(&mut self) {
        // The environment closes before its directory goes.
        self.database = None;
        self.target.remove_temporary();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_build_hashes_names_by_keys_of_its_own() {
        let (one, other) = (NameHashes::default(), NameHashes::default());
        let name = b"cn=a,dc=example,dc=com";
        assert_eq!(one.of(name), one.of(name));
        let ((hash, check), (other_hash, other_check)) = (one.of(name), other.of(name));
        assert!(hash != other_hash || check != other_check);
        assert_ne!(hash.to_be_bytes()[..4], check.to_be_bytes());
    }
}
