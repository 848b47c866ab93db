//! Items about attributes that entries have without holding them: the entries that hold such a value, and those that
//! may derive one.

use super::planner::{Answer, Planner};
use crate::{DerivedAttributes, DerivedCandidates, FilterItem, Purpose, StoreError, posting::IdSet};

impl<'p, 't> Planner<'p, 't> {
    /// The item, if derived values may satisfy it.
    pub(super) fn derived_item(&self, at: usize) -> Option<(&'t dyn DerivedAttributes, FilterItem<'p>)> {
        let slot = self.filter.nodes.get(at)?.slot()?;
        let derived = self.view.deriving_of(self.filter.slot(slot)?, Purpose::Match)?;
        let filter = self.filter;
        let most = self.derived_worth.unwrap_or(0);
        let item = FilterItem { filter, at, slot, most };
        Some((derived, item))
    }

    pub(super) fn derived_answer(
        &mut self,
        at: usize,
        derived: &dyn DerivedAttributes,
        item: &FilterItem<'_>,
    ) -> Result<Answer, StoreError> {
        if self.derived_worth.is_none() {
            return Ok(Answer::Later);
        }
        let may_derive = derived.candidates(self.view, item)?;
        // A chain goes through stored and derived values: who derives them answers for both.
        let stored = if item.is_chain() {
            Answer::Set(IdSet::Nothing, true)
        } else {
            match self.fetch_leaf(at)? {
                Answer::Lists(lists, exact) => Answer::Set(lists.read(self.view)?, exact),
                answer => answer,
            }
        };
        Ok(match (stored, may_derive) {
            (Answer::Everything, _) | (_, DerivedCandidates::Everything) => Answer::Everything,
            (Answer::Set(mut set, _), DerivedCandidates::Ids(ids)) => {
                set.unite(IdSet::of_treemap(ids));
                // Stored values may be hidden, so not all of these match.
                Answer::Set(set, false)
            }
            _ => Answer::Unknown,
        })
    }
}
