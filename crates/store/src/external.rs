//! Value sets too big for a record, in `values`: adding, removing or testing one value touches two rows.
//!
//! ```text
//! varint entry ID, varint attribute number, 00, varint sequence              -> value
//! varint entry ID, varint attribute number, 01, 8 bytes hash, varint sequence -> nothing
//! ```
//!
//! The rows of [`shared_keys`](crate::shared_keys) lie behind those of an entry's sets.
//!
//! The hash is a [`MemberHash`](crate::hash::MemberHash) of the normal form; values come in the order of their sequence
//! numbers.

use std::ops::ControlFlow;

use heed::{RoTxn, RwTxn};

use crate::{
    EntryId, StoreError,
    catalog::Catalog,
    record::codec::External,
    tables::{Table, Tables},
    varint,
};

/// A set with at least this many values ...
pub(crate) const MIN_COUNT: usize = 64;
/// ... and this many bytes moves out of the record.
pub(crate) const MIN_BYTES: usize = 4096;
/// A set that shrinks below this many values moves back.
pub(crate) const BACK_COUNT: u64 = 32;

const BY_SEQUENCE: u8 = 0;
const BY_HASH: u8 = 1;

/// A row of `values`: key and value.
pub(crate) type Row = (Vec<u8>, Vec<u8>);

/// One external set: where it lies.
#[derive(Clone, Copy)]
pub(crate) struct SetKey {
    /// Entry.
    pub(crate) id: EntryId,
    /// Attribute.
    pub(crate) attribute: u16,
}

fn damaged() -> StoreError {
    StoreError::damaged("an external value set")
}

impl SetKey {
    fn prefix(self, part: u8) -> Vec<u8> {
        let mut key = Vec::with_capacity(32);
        varint::put(&mut key, self.id);
        varint::put(&mut key, u64::from(self.attribute));
        key.push(part);
        key
    }
    fn value_key(self, sequence: u64) -> Vec<u8> {
        let mut key = self.prefix(BY_SEQUENCE);
        varint::put(&mut key, sequence);
        key
    }
    fn hash_key(self, hash: u64, sequence: u64) -> Vec<u8> {
        let mut key = self.hash_prefix(hash);
        varint::put(&mut key, sequence);
        key
    }
    fn hash_prefix(self, hash: u64) -> Vec<u8> {
        let mut key = self.prefix(BY_HASH);
        key.extend_from_slice(&hash.to_be_bytes());
        key
    }
    /// Calls `visit` with each value, in order.
    pub(crate) fn for_each(
        self,
        txn: &RoTxn<'_>,
        table: &Table,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        for row in table.prefix_iter(txn, &self.prefix(BY_SEQUENCE))? {
            if visit(row?.1).is_break() {
                break;
            }
        }
        Ok(())
    }
    /// Sequence number and value of each, in order.
    pub(crate) fn sequence<'t>(
        self,
        txn: &'t RoTxn<'_>,
        table: &Table,
    ) -> Result<impl Iterator<Item = Result<(u64, &'t [u8]), StoreError>> + use<'t>, StoreError> {
        let prefix = self.prefix(BY_SEQUENCE);
        let length = prefix.len();
        let rows = table.prefix_iter(txn, &prefix)?;
        Ok(rows.map(move |row| {
            let (key, value) = row?;
            let sequence = key.get(length..).and_then(varint::read).ok_or_else(damaged)?;
            Ok((sequence, value))
        }))
    }
    /// Whether the value with this number is found by its normal form.
    pub(crate) fn is_found(
        self,
        txn: &RoTxn<'_>,
        tables: &Tables,
        normal: &[u8],
        sequence: u64,
    ) -> Result<bool, StoreError> {
        let key = self.hash_key(tables.member_hash.of(normal), sequence);
        Ok(tables.values.get(txn, &key)?.is_some())
    }
    /// Sequence number of the value with this normal form, and the value.
    pub(crate) fn find<'t>(
        self,
        txn: &'t RoTxn<'_>,
        tables: &Tables,
        catalog: &Catalog,
        normal: &[u8],
    ) -> Result<Option<(u64, &'t [u8])>, StoreError> {
        let table = &tables.values;
        let prefix = self.hash_prefix(tables.member_hash.of(normal));
        let mut scratch = Vec::new();
        for row in table.prefix_iter(txn, &prefix)? {
            let (key, _) = row?;
            let sequence = key.get(prefix.len()..).and_then(varint::read).ok_or_else(damaged)?;
            let value = table.get(txn, &self.value_key(sequence))?.ok_or_else(damaged)?;
            scratch.clear();
            catalog.normal_form(self.attribute, value, &mut scratch);
            if scratch == normal {
                return Ok(Some((sequence, value)));
            }
        }
        Ok(None)
    }
    /// Appends a value; it is not there yet.
    pub(crate) fn add(
        self,
        txn: &mut RwTxn<'_>,
        tables: &Tables,
        catalog: &Catalog,
        value: &[u8],
        set: &mut External,
    ) -> Result<(), StoreError> {
        let mut normal = Vec::new();
        catalog.normal_form(self.attribute, value, &mut normal);
        let sequence = set.next;
        tables.values.put(txn, &self.value_key(sequence), value)?;
        let by_hash = self.hash_key(tables.member_hash.of(&normal), sequence);
        tables.values.put(txn, &by_hash, &[])?;
        set.take_in(self.id, value);
        Ok(())
    }
    /// Removes a value; `false` when it is not there.
    pub(crate) fn remove(
        self,
        txn: &mut RwTxn<'_>,
        tables: &Tables,
        catalog: &Catalog,
        value: &[u8],
        set: &mut External,
    ) -> Result<bool, StoreError> {
        let mut normal = Vec::new();
        catalog.normal_form(self.attribute, value, &mut normal);
        let Some((sequence, stored)) = self.find(txn, tables, catalog, &normal)? else {
            return Ok(false);
        };
        set.let_go(self.id, stored);
        tables.values.delete(txn, &self.value_key(sequence))?;
        let by_hash = self.hash_key(tables.member_hash.of(&normal), sequence);
        tables.values.delete(txn, &by_hash)?;
        Ok(true)
    }
    /// Deletes all.
    pub(crate) fn clear(self, txn: &mut RwTxn<'_>, table: &Table) -> Result<(), StoreError> {
        for part in [BY_SEQUENCE, BY_HASH] {
            Tables::delete_prefix(txn, table, &self.prefix(part), usize::MAX)?;
        }
        Ok(())
    }
    /// All rows of a new set, in key order: what the bulk build appends.
    pub(crate) fn rows<'v>(
        self,
        catalog: &Catalog,
        tables: &Tables,
        values: impl Iterator<Item = &'v [u8]>,
    ) -> (External, Vec<Row>) {
        let mut set = External::new(tables.sealed);
        let (mut rows, mut hashes) = (Vec::new(), Vec::new());
        let mut normal = Vec::new();
        for value in values {
            normal.clear();
            catalog.normal_form(self.attribute, value, &mut normal);
            rows.push((self.value_key(set.next), value.to_vec()));
            hashes.push((self.hash_key(tables.member_hash.of(&normal), set.next), Vec::new()));
            set.take_in(self.id, value);
        }
        hashes.sort();
        rows.extend(hashes);
        (set, rows)
    }
}

/// Whether a set of this size belongs in `values`.
pub(crate) fn is_external(count: usize, bytes: usize) -> bool {
    count >= MIN_COUNT && bytes >= MIN_BYTES
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        Database,
        common::{options, schema},
        hash::{self, MemberHash},
    };

    const SET: SetKey = SetKey { id: 1, attribute: 0 };
    /// The first bytes of the secret of XXH3, which is public. They make a factor zero, whatever the other one is.
    const ZERO: [u8; 8] = [0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe];

    /// Different values with one XXH3.
    fn chosen() -> impl Iterator<Item = Vec<u8>> {
        (0..100_u64).map(|number| [&ZERO[..], &number.to_le_bytes(), &[b'x'; 16]].concat())
    }

    /// The most values that are looked at to find one of them.
    fn most_looked_at(database: &Database, add: impl FnOnce(&mut RwTxn<'_>, &Tables, &Catalog)) -> usize {
        let tables = &database.ground.tables;
        let catalog = database.numbering.newest().catalog.clone();
        let mut txn = database.env.write_txn().unwrap();
        add(&mut txn, tables, &catalog);
        let looked_at = |value: Vec<u8>| {
            let (_, found) = SET.find(&txn, tables, &catalog, &value).unwrap().unwrap();
            assert_eq!(found, value);
            let prefix = SET.hash_prefix(tables.member_hash.of(&value));
            tables.values.prefix_iter(&txn, &prefix).unwrap().count()
        };
        chosen().map(looked_at).max().unwrap()
    }

    fn add_each(txn: &mut RwTxn<'_>, tables: &Tables, catalog: &Catalog) {
        let mut set = External::new(true);
        for value in chosen() {
            SET.add(txn, tables, catalog, &value, &mut set).unwrap();
        }
    }

    #[test]
    fn values_that_are_chosen_for_their_hash_are_found_as_quickly_as_others() {
        let hashes: BTreeSet<u64> = chosen().map(|value| hash::value_hash(&value)).collect();
        assert_eq!(hashes.len(), 1);
        let open = |member_hash| {
            let folder = tempfile::tempdir().unwrap();
            let database = Database::open_with(options(folder.path()), schema(), member_hash).unwrap();
            (folder, database)
        };
        let (_folder, database) = open(None);
        assert_eq!(most_looked_at(&database, add_each), 1);
        // As a bulk build adds them.
        let (_folder, database) = open(None);
        let built = most_looked_at(&database, |txn, tables, catalog| {
            let all: Vec<_> = chosen().collect();
            for (key, value) in SET.rows(catalog, tables, all.iter().map(Vec::as_slice)).1 {
                tables.values.put(txn, &key, &value).unwrap();
            }
        });
        assert_eq!(built, 1);
        // A file of an older format.
        let (_folder, database) = open(Some(MemberHash::new(None)));
        assert_eq!(most_looked_at(&database, add_each), 100);
    }

    #[test]
    fn a_file_keeps_its_key_and_each_file_has_another_one() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let key = |folder: &tempfile::TempDir| {
            let database = Database::open(options(folder.path()), schema()).unwrap();
            database.ground.tables.member_hash.key().unwrap()
        };
        let [first, second] = folders.each_ref().map(key);
        assert_ne!(first, second);
        assert_eq!(folders.each_ref().map(key), [first, second]);
    }
}
