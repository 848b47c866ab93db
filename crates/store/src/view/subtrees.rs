//! The entries below others, found a few at a time: a subtree may hold most of the database, and be moved again and
//! again.

use roaring::RoaringTreemap;

use super::View;
use crate::{EntryId, StoreError};

/// A walk over subtrees. What one of them has in common with another one is found once.
#[derive(Default, Debug)]
pub struct Subtrees {
    /// Entries whose subordinates were found, or will be.
    taken: RoaringTreemap,
    /// Those whose subordinates will be.
    open: Vec<EntryId>,
    /// The one whose subordinates are being found, and the place up to which they were.
    begun: Option<(EntryId, Vec<u8>)>,
}

/// Entries that are looked at in one go.
const AT_ONCE: usize = 1_000;

impl Subtrees {
    /// Adds the entries below one.
    pub fn add(&mut self, id: EntryId) {
        if self.taken.insert(id) {
            self.open.push(id);
        }
    }

    /// Whether all entries were found.
    pub fn is_done(&self) -> bool {
        self.open.is_empty() && self.begun.is_none()
    }

    /// Calls `found` with some more entries, each after those above it, and at most a thousand. Returns whether all
    /// were found. `view` may be a later one each time.
    ///
    /// # Errors
    /// The storage failed.
    pub fn walk(&mut self, view: View<'_>, found: &mut dyn FnMut(EntryId)) -> Result<bool, StoreError> {
        let mut left = AT_ONCE;
        while left > 0 {
            let begun = self.begun.take();
            let Some((id, place)) = begun.or_else(|| Some((self.open.pop()?, Vec::new()))) else {
                break;
            };
            left -= 1;
            for child in view.children_behind(id, &place)? {
                let (place, child) = child?;
                found(child);
                self.add(child);
                left = left.saturating_sub(1);
                if left == 0 {
                    self.begun = Some((id, place.to_vec()));
                    break;
                }
            }
        }
        Ok(self.is_done())
    }
}
