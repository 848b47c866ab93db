//! What a transaction does for the log of a cluster.

use super::WriteTransaction;
use crate::{StoreError, log::BatchWriter, tables::MetaRow};

impl WriteTransaction<'_> {
    /// Gathers the changes of this transaction for the log of a cluster. Call it before the first change.
    pub fn gather(&mut self) {
        self.logged.batch = Some(BatchWriter::default());
    }

    /// The gathered changes, with a mark that no other batch has, and the number of the last one. `None`: there are
    /// none.
    pub fn batch(&self, mark: [u8; 16]) -> Option<(Vec<u8>, u64)> {
        self.logged.batch.as_ref()?.encode(mark)
    }

    /// Stores the chain behind the changes of this transaction: see [`ClusterLogPlace`](crate::ClusterLogPlace).
    ///
    /// # Errors
    /// The storage failed.
    pub fn put_chain(&mut self, chain: [u8; 16]) -> Result<(), StoreError> {
        self.tables().put_meta(&mut self.txn, MetaRow::Chain, &chain)
    }

    /// Makes the log one with this generation, if the database has no log yet.
    ///
    /// # Errors
    /// The storage failed.
    pub fn join_log(&mut self, generation: u64) -> Result<(), StoreError> {
        let tables = self.tables();
        if tables.number(&self.txn, MetaRow::Generation)? == 0 {
            tables.put_number(&mut self.txn, MetaRow::Generation, generation)?;
        }
        Ok(())
    }
}
