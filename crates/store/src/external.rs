//! Value sets too big for a record, in `values`: adding, removing or testing one value touches two rows.
//!
//! ```text
//! varint entry ID, varint attribute number, 00, varint sequence              -> value
//! varint entry ID, varint attribute number, 01, 8 bytes hash, varint sequence -> nothing
//! ```
//!
//! The hash is XXH3 of the normal form; values come in the order of their sequence numbers.

use std::ops::ControlFlow;

use heed::{RoTxn, RwTxn};

use crate::{
    EntryId, StoreError,
    catalog::Catalog,
    hash,
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
    /// Whether the value with this number is found by this hash.
    pub(crate) fn has_hash(self, txn: &RoTxn<'_>, table: &Table, hash: u64, sequence: u64) -> Result<bool, StoreError> {
        Ok(table.get(txn, &self.hash_key(hash, sequence))?.is_some())
    }
    /// Sequence number of the value with this normal form, and the value.
    pub(crate) fn find<'t>(
        self,
        txn: &'t RoTxn<'_>,
        table: &Table,
        catalog: &Catalog,
        normal: &[u8],
    ) -> Result<Option<(u64, &'t [u8])>, StoreError> {
        let prefix = self.hash_prefix(hash::value_hash(normal));
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
        tables
            .values
            .put(txn, &self.hash_key(hash::value_hash(&normal), sequence), &[])?;
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
        let Some((sequence, stored)) = self.find(txn, &tables.values, catalog, &normal)? else {
            return Ok(false);
        };
        set.let_go(self.id, stored);
        tables.values.delete(txn, &self.value_key(sequence))?;
        tables
            .values
            .delete(txn, &self.hash_key(hash::value_hash(&normal), sequence))?;
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
        sealed: bool,
        values: impl Iterator<Item = &'v [u8]>,
    ) -> (External, Vec<Row>) {
        let mut set = External::new(sealed);
        let (mut rows, mut hashes) = (Vec::new(), Vec::new());
        let mut normal = Vec::new();
        for value in values {
            normal.clear();
            catalog.normal_form(self.attribute, value, &mut normal);
            rows.push((self.value_key(set.next), value.to_vec()));
            hashes.push((self.hash_key(hash::value_hash(&normal), set.next), Vec::new()));
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
