//! How to answer a search, and the resulting candidates.

use ironbark_model::CompiledFilter;

use super::{Candidates, Plan, planner};
use crate::{DitScope, EntryGuards, EntryId, StoreError, View};

impl<'t> View<'t> {
    /// Chooses how to answer a search. `base` is the ID of the base entry; 0 stands for the root above the topmost
    /// entries (the base `""` of a database with the empty suffix that has no entry of that name). The plan prints as
    /// `ironbark explain` shows it.
    pub fn plan(&self, base: EntryId, scope: DitScope, filter: &CompiledFilter) -> Result<Plan, StoreError> {
        planner::plan(*self, base, scope, filter, None)
    }
    /// As [`View::plan`], for a requester that may not see everything: chains go only as far as `guards` allow.
    pub fn plan_guarded(
        &self,
        base: EntryId,
        scope: DitScope,
        filter: &CompiledFilter,
        guards: Option<&dyn EntryGuards>,
    ) -> Result<Plan, StoreError> {
        planner::plan(*self, base, scope, filter, guards)
    }
    /// The candidates of a plan with IDs above `after`, ascending. The plan may be of an earlier snapshot: it may miss
    /// newer entries, and it skips deleted ones.
    pub fn candidates(&self, plan: &Plan, after: EntryId) -> Result<Candidates<'t>, StoreError> {
        Candidates::new(*self, plan, after)
    }
}
