//! Which changes of other servers the context vector does not cover yet.

use super::{super::WriteTransaction, deletes};
use crate::{ChangeRecord, StoreError, csn::ContextVector, log::uncovered::Uncovered, tables::MetaRow};

impl WriteTransaction<'_> {
    /// Remembers which changes of other servers the vector does not cover yet.
    pub(super) fn close_uncovered(&mut self, vector: &ContextVector) -> Result<(), StoreError> {
        if self.logged.uncovered.is_none() && self.logged.closed.is_empty() {
            return Ok(());
        }
        let tables = self.tables();
        match self.uncovered_by(vector)? {
            None => tables.delete_meta(&mut self.txn, MetaRow::Uncovered),
            Some(uncovered) => tables.put_meta(&mut self.txn, MetaRow::Uncovered, &uncovered.encode()),
        }
    }

    /// The changes of other servers that a vector does not cover.
    fn uncovered_by(&self, vector: &ContextVector) -> Result<Option<Uncovered>, StoreError> {
        let logged = &self.logged;
        let mut uncovered = match (self.view().uncovered_changes()?, logged.uncovered) {
            (Some(known), _) => known,
            (None, Some(first)) => Uncovered {
                first,
                ..Uncovered::default()
            },
            (None, None) => return Ok(None),
        };
        uncovered.csns.merge_all(&logged.uncovered_csns);
        uncovered.open.retain(|via| !logged.closed.contains(via));
        uncovered.open.extend(&logged.open);
        let is_covered = uncovered.open.is_empty() && uncovered.csns.iter().all(|csn| vector.covers(csn));
        Ok((!is_covered).then_some(uncovered))
    }

    /// Remembers whether a change of another server is one that the vector will not cover at once.
    pub(super) fn note_coverage(&mut self, record: &ChangeRecord) -> Result<(), StoreError> {
        if record.via == 0 {
            return Ok(());
        }
        let brought: ContextVector = record.context_csns().collect();
        if !brought.is_empty() {
            self.logged.open.remove(&record.via);
            self.logged.closed.insert(record.via);
        }
        // Others may have the version, and lack the revision.
        let revised_by = record.revised_by.filter(|csn| !brought.covers(*csn));
        if brought.covers(record.csn) && revised_by.is_none() {
            return Ok(());
        }
        // An entry may be newer than the cookie of the change with which it came.
        let vector = self.vector()?;
        let revised_by = revised_by.filter(|csn| !vector.covers(*csn));
        let is_covered = vector.covers(record.csn);
        if (is_covered || brought.covers(record.csn)) && !brought.is_empty() && revised_by.is_none() {
            return Ok(());
        }
        let is_open = brought.is_empty() && (is_covered || deletes(record));
        let logged = &mut self.logged;
        logged.uncovered.get_or_insert(record.position.sequence);
        logged.uncovered_csns.merge(record.csn);
        if let Some(csn) = revised_by {
            logged.uncovered_csns.merge(csn);
        }
        if is_open {
            logged.open.insert(record.via);
        }
        Ok(())
    }

    /// Whether the vector covers all changes up to this one.
    pub(super) fn covers_all_behind(&mut self, record: &ChangeRecord) -> Result<bool, StoreError> {
        let was_uncovered = match self.logged.was_uncovered {
            Some(known) => known,
            None => self.view().uncovered_changes()?.is_some(),
        };
        self.logged.was_uncovered = Some(was_uncovered);
        if !was_uncovered && self.logged.uncovered.is_none() {
            return Ok(true);
        }
        let mut vector = self.vector()?;
        for csn in record.context_csns() {
            vector.merge(csn);
        }
        Ok(self.uncovered_by(&vector)?.is_none())
    }
}
