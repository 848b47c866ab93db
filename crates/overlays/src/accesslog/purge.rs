//! `logpurge`: deletes old entries of the log, the oldest first.
//!
//! `minCSN` is raised in the transaction that deletes entries, so that no consumer takes the rest for everything that
//! it lacks.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering},
};

use ironbark_directory::{
    OperationError, log_first_note,
    overlay::{Errand, Execution},
    stamp::generalized_time,
};
use ironbark_model::{AttributeDescription, Dn};
use ironbark_store::{Effect, EntryId, Location, Record, StoreError, ValueChange};

use super::append::min_csn;

/// Entries that are deleted in one transaction, unless a setting says otherwise.
const BATCH: usize = 1_000;

/// `reqType` of changes.
const CHANGES: [&[u8]; 4] = [b"add", b"delete", b"modify", b"modrdn"];

/// One transaction of deletes.
pub struct Purging {
    suffix: Dn,
    age_s: u64,
    batch: usize,
    is_complete: AtomicBool,
}

impl Purging {
    /// Deletes what is older than `age_s` seconds in the log of this suffix, `batch` entries at most.
    pub fn new(suffix: Dn, age_s: u64, batch: Option<u32>) -> Self {
        let batch = batch.and_then(|batch| usize::try_from(batch).ok());
        Self {
            suffix,
            age_s,
            batch: batch.unwrap_or(BATCH),
            is_complete: AtomicBool::new(false),
        }
    }

    /// Whether nothing old is left.
    pub fn is_complete(&self) -> bool {
        self.is_complete.load(Ordering::Relaxed)
    }
}

impl Errand for Purging {
    fn steps(&self) -> usize {
        1
    }

    fn step(&self, _: usize, execution: &mut Execution<'_, '_>) -> Result<(), OperationError> {
        self.is_complete.store(true, Ordering::Relaxed);
        let now_s = execution.directory.clock().now().unix_seconds();
        let until = generalized_time::text(now_s.saturating_sub_unsigned(self.age_s));
        let described = |name: &str| execution.schema().attribute_description(name.as_bytes());
        let (Ok(start), Ok(kind), Ok(result)) = (described("reqStart"), described("reqType"), described("reqResult"))
        else {
            return Ok(());
        };
        let Location::Entry(top) = execution.view().locate(&self.suffix)? else {
            return Ok(());
        };
        let mut min = min_csn(execution, &self.suffix)?;
        let mut old: Vec<EntryId> = Vec::new();
        // Servers whose first change may be among them.
        let mut servers = BTreeSet::new();
        {
            let view = execution.view();
            for record in view.entries(top)? {
                let record = record?;
                let Some(begun) = first(&record, &start)? else { continue };
                // Both are seconds of the same length, and what is behind them does not matter.
                if begun.get(..14) > until.as_bytes().get(..14) {
                    break;
                }
                if old.len() == self.batch {
                    self.is_complete.store(false, Ordering::Relaxed);
                    break;
                }
                // Reads and what was refused have CSNs that no consumer is told.
                let is_change = first(&record, &result)?.as_deref() == Some(b"0")
                    && first(&record, &kind)?.is_some_and(|kind| CHANGES.contains(&kind.as_slice()));
                let csn = record.entry_csn()?.filter(|_| is_change);
                if let Some(csn) = csn.filter(|csn| min.of_server(csn.server_id()).is_some()) {
                    min.merge(csn);
                    servers.insert(csn.server_id());
                }
                old.push(record.id);
            }
        }
        if old.is_empty() {
            return Ok(());
        }
        execution.keep_silent();
        let values: Vec<_> = min.iter().map(|csn| csn.text().into_bytes()).collect();
        if !values.is_empty() {
            let change = ValueChange::Replace {
                attribute: "minCSN".into(),
                values,
            };
            execution.apply_further(Effect::Modify {
                dn: self.suffix.pretty().into(),
                changes: vec![change],
            })?;
        }
        for server in servers {
            execution.put_source(&log_first_note(server), &[])?;
        }
        for id in old {
            let dn = execution.view().dn(id)?.pretty().into();
            execution.apply_further(Effect::Delete { dn })?;
        }
        Ok(())
    }
}

/// The first value of an attribute.
fn first(record: &Record<'_>, description: &AttributeDescription) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(held) = record.values(description) else {
        return Ok(None);
    };
    Ok(held.to_attribute()?.values.first().cloned())
}
