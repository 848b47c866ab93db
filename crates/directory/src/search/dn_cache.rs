//! The DNs of recent parents, so that an answer's DN is not rebuilt from the root. One per reactor and database.

use ironbark_model::Dn;
use ironbark_store::{EntryId, Record, StoreError, View};
use rustc_hash::FxHashMap;

/// Parents that are remembered; then the cache starts over. About 100 bytes each.
const LIMIT: usize = 4_096;

/// Pretty DNs by entry ID. Entry IDs are never reused, so only a rename of an entry with subordinates makes it stale.
#[derive(Debug, Default)]
pub(crate) struct DnCache {
    structure_version: u64,
    parents: FxHashMap<EntryId, Box<str>>,
}

impl DnCache {
    /// Forgets what a rename has made stale. Call once per snapshot.
    pub(crate) fn refresh(&mut self, view: View<'_>) -> Result<(), StoreError> {
        let version = view.structure_version()?;
        if version != self.structure_version {
            self.parents.clear();
            self.structure_version = version;
        }
        Ok(())
    }

    /// Writes the pretty DN of a record into `out`, which is cleared first.
    pub(crate) fn write_dn(&mut self, view: View<'_>, record: &Record<'_>, out: &mut String) -> Result<(), StoreError> {
        out.clear();
        out.push_str(record.rdn());
        let parent = record.parent();
        if parent == 0 {
            return Ok(());
        }
        if !self.parents.contains_key(&parent) {
            if self.parents.len() >= LIMIT {
                self.parents.clear();
            }
            let dn: Dn = view.dn(parent)?;
            self.parents.insert(parent, dn.pretty().into());
        }
        if let Some(parent) = self.parents.get(&parent)
            && !parent.is_empty()
        {
            out.push(',');
            out.push_str(parent);
        }
        Ok(())
    }
}
