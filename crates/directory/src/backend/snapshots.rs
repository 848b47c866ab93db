//! The snapshots of a thread in which rules look up entries of other databases than the one that is asked about.

use std::{cell::RefCell, rc::Rc, sync::Arc};

use ironbark_store::{Database, HeldSnapshot, StoreError};
use smallvec::SmallVec;

/// At most one snapshot of each database. All questions of one step see the same state of it.
#[derive(Default)]
pub(crate) struct Snapshots(RefCell<SmallVec<[Rc<HeldSnapshot>; 1]>>);

impl std::fmt::Debug for Snapshots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshots").finish_non_exhaustive()
    }
}

impl Snapshots {
    /// The snapshot of a database.
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn of(&self, database: &Arc<Database>) -> Result<Rc<HeldSnapshot>, StoreError> {
        let mut held = self.0.borrow_mut();
        if let Some(known) = held.iter().find(|known| known.is_of(database)) {
            return Ok(Rc::clone(known));
        }
        let new = Rc::new(database.hold()?);
        held.push(Rc::clone(&new));
        Ok(new)
    }

    /// Drops those that do not show the last commit.
    pub(crate) fn refresh(&self) {
        self.0.borrow_mut().retain(|known| known.is_current());
    }

    /// Drops all.
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}
