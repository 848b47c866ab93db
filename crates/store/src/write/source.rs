//! Notes about other databases whose changes a database takes in. They are written in the transaction that takes
//! changes in, so both are there after a crash, or neither is.

use super::WriteTransaction;
use crate::{StoreError, View};

/// Key of the row of `meta` with the notes about a source.
fn source_key(name: &str) -> Vec<u8> {
    [b"source ", name.as_bytes()].concat()
}

impl View<'_> {
    /// The notes about a source.
    ///
    /// # Errors
    /// The storage failed.
    pub fn source(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let row = self.tables().meta.get(self.txn, &source_key(name))?;
        Ok(row.map(<[u8]>::to_vec))
    }
}

impl WriteTransaction<'_> {
    /// Writes the notes about a source. The name has at most 400 octets.
    ///
    /// # Errors
    /// The storage failed.
    pub fn put_source(&mut self, name: &str, notes: &[u8]) -> Result<(), StoreError> {
        let tables = self.tables();
        Ok(tables.meta.put(&mut self.txn, &source_key(name), notes)?)
    }
}
