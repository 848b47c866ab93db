//! The stored positions of the followers of a database: each server's own, though they are in the database.

use super::FOLLOWER;
use crate::{Database, StoreError};

/// The key of a follower's row, and the value.
pub(crate) type FollowerRow = (Vec<u8>, Vec<u8>);

impl Database {
    /// Deletes the positions of all followers except `names`.
    ///
    /// # Errors
    /// The storage failed.
    pub fn keep_followers(&self, names: &[&str]) -> Result<(), StoreError> {
        let mut rows = self.followers()?;
        let before = rows.len();
        rows.retain(|(key, _)| {
            names
                .iter()
                .any(|name| key.strip_prefix(FOLLOWER) == Some(name.as_bytes()))
        });
        if rows.len() == before {
            return Ok(());
        }
        self.replace_followers(&rows)
    }

    /// The rows of `meta` with the positions of followers.
    pub(crate) fn followers(&self) -> Result<Vec<FollowerRow>, StoreError> {
        let txn = self.env.read_txn()?;
        let mut rows = Vec::new();
        for row in self.ground.tables.meta.prefix_iter(&txn, FOLLOWER)? {
            let (key, value) = row?;
            rows.push((key.to_vec(), value.to_vec()));
        }
        Ok(rows)
    }

    /// These rows are all positions of followers from now on.
    pub(crate) fn replace_followers(&self, rows: &[FollowerRow]) -> Result<(), StoreError> {
        let former = self.followers()?;
        if former == rows {
            return Ok(());
        }
        let meta = &self.ground.tables.meta;
        let mut write = self.write()?;
        for (key, _) in former {
            meta.delete(&mut write.txn, &key)?;
        }
        for (key, value) in rows {
            meta.put(&mut write.txn, key, value)?;
        }
        write.commit()
    }
}
