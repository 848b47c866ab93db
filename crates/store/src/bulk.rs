//! Bulk build of an empty database (`slapadd -q`): records and keys appended in order, nothing left behind when it fails.
//!
//! The file is built in a temporary directory inside the database's and renamed into place by [`BulkBuilder::finish`]. Entries may come
//! in any order; an entry whose superior has not come yet reserves the superior's ID, as slapadd does.

mod prepare;
mod runs;
mod target;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use heed::PutFlags;
use ironbark_model::{Dn, Entry, Schema};
use rustc_hash::FxHashMap;

pub use prepare::{PreparedEntry, Preparer};

use crate::{
    Database, DatabaseOptions, EntryId, StoreError,
    external::{Row, SetKey},
    hash, names,
    posting::chunk::Chunker,
    record::{
        codec::{self, FLAG_PLACEHOLDER, FLAG_REFERRAL, Form, Header},
        image,
    },
    tables::MetaRow,
    varint,
    write::{name_in, pretty_in},
};
use runs::RunSorter;

/// Bytes of records that are gathered before they are appended, and of rows that one transaction appends.
const BATCH: usize = 32 << 20;

/// Builds a database from entries.
pub struct BulkBuilder {
    target: target::Target,
    database: Option<Database>,
    preparer: Preparer,
    ids: FxHashMap<u64, (u32, EntryId)>,
    missing: FxHashMap<EntryId, String>,
    next: EntryId,
    referrals: u64,
    batch: Batch,
    names: RunSorter,
    keys: RunSorter,
    name: names::Key,
}

/// Rows that wait to be appended.
#[derive(Default)]
struct Batch {
    records: Vec<(EntryId, std::ops::Range<usize>)>,
    bytes: Vec<u8>,
    values: Vec<Row>,
}

impl BulkBuilder {
    /// Begins a build. `memory_limit` in bytes bounds the index keys held in memory; more are written to temporary files.
    ///
    /// # Errors
    /// The database has entries or is in use; the directory cannot be written.
    pub fn new(options: DatabaseOptions, schema: Arc<Schema>, memory_limit: usize) -> Result<Self, StoreError> {
        let target = target::Target::new(&options, &schema)?;
        let temporary = DatabaseOptions {
            directory: target.temporary().to_owned(),
            no_sync: true,
            read_only: false,
            ..options
        };
        let database = Database::open(temporary, schema)?;
        let preparer = Preparer::new(&database);
        let spill: &Path = target.temporary();
        Ok(Self {
            names: RunSorter::new(spill, "names", memory_limit / 5),
            keys: RunSorter::new(spill, "keys", memory_limit / 5 * 4),
            target,
            database: Some(database),
            preparer,
            ids: FxHashMap::default(),
            missing: FxHashMap::default(),
            next: 1,
            referrals: 0,
            batch: Batch::default(),
            name: names::Key::new(),
        })
    }
    /// What the costly part of adding an entry needs: hand it to other threads, and their results to
    /// [`BulkBuilder::add_prepared`] in the order of the file.
    pub fn preparer(&self) -> Preparer {
        self.preparer.clone()
    }
    /// Adds a validated entry. After an error the builder goes on as if the entry had not been given.
    ///
    /// # Errors
    /// As [`BulkBuilder::add_prepared`].
    pub fn add(&mut self, entry: &Entry) -> Result<EntryId, StoreError> {
        let prepared = self.preparer.prepare(entry)?;
        self.add_prepared(&prepared)
    }
    /// Adds a prepared entry.
    ///
    /// # Errors
    /// The entry exists or is in no naming context; the disk is full.
    pub fn add_prepared(&mut self, entry: &PreparedEntry) -> Result<EntryId, StoreError> {
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
        for key in entry.keys.iter() {
            self.keys.push(key, id)?;
        }
        if self.batch.bytes.len() > BATCH {
            self.flush()?;
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
        if let Some(first) = self.missing_superiors(1).first() {
            return Err(StoreError::Inapplicable(format!(
                "{first}: missing, and {} more; entries below it were given",
                self.missing.len().saturating_sub(1)
            )));
        }
        self.write_out()
    }
    /// As [`BulkBuilder::finish`], but the places of superiors that have not come are kept (`slapadd -c`), as
    /// [`WriteTransaction::load`](crate::WriteTransaction::load) keeps them.
    ///
    /// # Errors
    /// The disk is full. Nothing is left behind.
    pub fn finish_with_places(mut self) -> Result<(), StoreError> {
        for (id, text) in std::mem::take(&mut self.missing) {
            let schema = self.database()?.schema();
            let dn = Dn::parse(&schema, text.as_bytes())
                .map_err(|_| StoreError::Inapplicable(format!("{text}: no name in this schema")))?;
            let parent = self.parent(&dn);
            let start = self.batch.bytes.len();
            let header = Header {
                parent,
                flags: FLAG_PLACEHOLDER,
                rdn: pretty_in(&dn, parent),
            };
            codec::put_header(&header, &mut self.batch.bytes);
            self.batch.records.push((id, start..self.batch.bytes.len()));
        }
        self.write_out()
    }

    fn write_out(mut self) -> Result<(), StoreError> {
        self.flush()?;
        self.append_names()?;
        self.append_keys()?;
        self.write_rest()?;
        if let Some(database) = self.database.take() {
            database.sync()?;
        }
        self.target.put_in_place()
    }

    fn database(&self) -> Result<&Database, StoreError> {
        self.database
            .as_ref()
            .ok_or_else(|| StoreError::Format("the bulk build is over".into()))
    }
    fn suffixes(&self) -> &[Dn] {
        self.database
            .as_ref()
            .map_or(&[], |database| &database.options.suffixes)
    }
    /// The ID of a normalized DN, found by a 64-bit hash and 32 bits of another.
    fn find(&self, normalized: &[u8]) -> Option<EntryId> {
        let (hash, check) = name_hash(normalized);
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
    /// Whether the entry is entered in `names` below 0.
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
        let (hash, check) = name_hash(dn.normalized());
        if self.ids.contains_key(&hash) {
            return Err(StoreError::Inapplicable(format!(
                "{}: its name's hash is taken; add it online",
                dn.pretty()
            )));
        }
        let parent = self.parent(dn);
        let id = self.next;
        self.next += 1;
        self.ids.insert(hash, (check, id));
        let mut key = std::mem::take(&mut self.name);
        names::key(parent, name_in(dn, parent), &mut key);
        let pushed = self.names.push(&key, id);
        self.name = key;
        pushed.map(|()| id)
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
        let mut sets = database.lock_writer();
        let catalog = self.preparer.catalog();
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
        for (number, tlvs, external) in entry.blocks() {
            if external {
                let key = SetKey { id, attribute: number };
                let (set, rows) = key.rows(&catalog, codec::values(tlvs));
                codec::put_block(number, Form::External(set), out);
                self.batch.values.extend(rows);
            } else {
                image::put_inline(number, tlvs, &mut sets, &database.shared, out);
            }
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
            .tables
            .entries
            .last(&txn)?
            .and_then(|(key, _)| varint::read(key))
            .unwrap_or(0);
        for (id, range) in &batch.records {
            let bytes = batch.bytes.get(range.clone()).unwrap_or_default();
            let key = varint::Key::new(*id);
            // Superiors that came late have IDs among those that are there.
            if *id > last {
                database
                    .tables
                    .entries
                    .put_with_flags(&mut txn, PutFlags::APPEND, key.bytes(), bytes)?;
                last = *id;
            } else {
                database.tables.entries.put(&mut txn, key.bytes(), bytes)?;
            }
        }
        for (key, value) in &batch.values {
            database.tables.values.put(&mut txn, key, value)?;
        }
        txn.commit()?;
        batch.records.clear();
        batch.bytes.clear();
        batch.values.clear();
        self.batch = batch;
        Ok(())
    }
    fn append_names(&mut self) -> Result<(), StoreError> {
        let merged = self.names.merge()?;
        let database = self.database()?;
        let table = database.tables.names;
        append(database, merged, |txn, key, ids| {
            let id = varint::Key::new(ids.first().copied().unwrap_or_default());
            table.put_with_flags(txn, PutFlags::APPEND, key, id.bytes())?;
            Ok(key.len() + 16)
        })
    }
    fn append_keys(&mut self) -> Result<(), StoreError> {
        let merged = self.keys.merge()?;
        let database = self.database()?;
        let table = database.tables.index;
        let (mut row, mut value) = (Vec::new(), Vec::new());
        append(database, merged, move |txn, key, ids| {
            let mut chunker = Chunker::default();
            let mut written = 0;
            let sole = ids.len() == 1;
            let mut put = |runs: &crate::posting::chunk::Runs| {
                row.clear();
                row.extend_from_slice(key);
                varint::put(&mut row, runs.first().unwrap_or_default());
                value.clear();
                runs.encode(sole, &mut value);
                written += row.len() + value.len() + 16;
                table.put_with_flags(txn, PutFlags::APPEND, &row, &value)
            };
            for &id in ids {
                if let Some(full) = chunker.push(id) {
                    put(&full)?;
                }
            }
            if let Some(rest) = chunker.finish() {
                put(&rest)?;
            }
            Ok(written)
        })
    }
    /// Attribute numbers, shared sets, the next entry ID.
    fn write_rest(&mut self) -> Result<(), StoreError> {
        let database = self.database()?;
        let mut txn = database.env.write_txn()?;
        for (number, text) in (0u64..).zip(self.preparer.catalog().texts()) {
            database
                .tables
                .attributes
                .put(&mut txn, varint::Key::new(number).bytes(), text.as_bytes())?;
        }
        database.shared.store(&mut txn, &database.tables)?;
        database.tables.put_number(&mut txn, MetaRow::NextEntry, self.next)?;
        database.tables.put_number(&mut txn, MetaRow::Referrals, self.referrals)?;
        Ok(txn.commit()?)
    }
}

/// The normalized DN of the superior: what follows the leaf RDN and its comma.
fn parent_of(dn: &Dn) -> &[u8] {
    let leaf = dn.rdn(0).map_or(0, |rdn| rdn.1.len());
    dn.normalized().get(leaf + 1..).unwrap_or_default()
}

fn name_hash(normalized: &[u8]) -> (u64, u32) {
    let hash = xxhash_rust::xxh3::xxh3_128(normalized);
    let [a, b, c, d, ..] = hash.to_be_bytes();
    (hash::value_hash(normalized), u32::from_be_bytes([a, b, c, d]))
}

/// Walks merged keys through `put`, which returns the bytes it has written, in transactions of bounded size.
fn append(
    database: &Database,
    mut merged: runs::Merge,
    mut put: impl FnMut(&mut heed::RwTxn<'_>, &[u8], &[EntryId]) -> Result<usize, StoreError>,
) -> Result<(), StoreError> {
    let mut txn = database.env.write_txn()?;
    let mut written = 0;
    while let Some((key, ids)) = merged.next()? {
        written += put(&mut txn, key, ids)?;
        if written > BATCH {
            txn.commit()?;
            txn = database.env.write_txn()?;
            written = 0;
        }
    }
    Ok(txn.commit()?)
}

impl Drop for BulkBuilder {
    fn drop(&mut self) {
        // The environment closes before its directory goes.
        self.database = None;
        self.target.remove_temporary();
    }
}

/// Path of a temporary file of a build.
pub(crate) fn temporary_file(directory: &Path, name: &str, number: usize) -> PathBuf {
    directory.join(format!("{name}.{number}"))
}
