//! The sums of the entries of a database, by which replicas are compared.

use std::sync::{Arc, TryLockError};

use super::Database;
use crate::{
    StoreError,
    buckets::{BUCKETS, BucketSums, Shares},
};

impl Database {
    /// The sums of the entries as they are now. Reads all entries unless nothing was committed since the last call:
    /// call it where a thread may be busy for seconds. `None`: another thread is computing them. `is_wanted` is asked
    /// from time to time; the work ends with `None` when it says no.
    ///
    /// # Errors
    /// The storage failed.
    pub fn bucket_sums(&self, is_wanted: &dyn Fn() -> bool) -> Result<Option<Arc<BucketSums>>, StoreError> {
        let mut known = match self.common.bucket_sums.try_lock() {
            Ok(known) => known,
            // A panic elsewhere leaves whole sums behind.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(None),
        };
        let snapshot = self.snapshot()?;
        let view = snapshot.view();
        if let Some((version, sums)) = &*known
            && *version == snapshot.version()
        {
            return Ok(Some(Arc::clone(sums)));
        }
        let (mut sums, mut entries) = (vec![0u128; BUCKETS], 0u64);
        let mut shares = Shares::new(view);
        for record in view.entries(0)? {
            if let Some((bucket, share)) = shares.of(&record?)? {
                entries += 1;
                if let Some(sum) = sums.get_mut(bucket) {
                    *sum = sum.wrapping_add(share);
                }
            }
            if entries.is_multiple_of(BETWEEN_QUESTIONS) && !is_wanted() {
                return Ok(None);
            }
        }
        let sums = Arc::new(BucketSums {
            sequence: view.position()?.map(|(_, sequence)| sequence).unwrap_or_default(),
            vector: view.context_vector()?.unwrap_or_default(),
            entries,
            sums,
        });
        *known = Some((snapshot.version(), Arc::clone(&sums)));
        Ok(Some(sums))
    }
}

/// Entries between two questions whether the sums are still wanted.
const BETWEEN_QUESTIONS: u64 = 4_096;
