//! How to answer a search, and the candidates that follow from it.

use ironbark_model::CompiledFilter;

use super::{Candidates, Plan, planner};
use crate::{EntryGuards, EntryId, Scope, StoreError, View};

impl<'t> View<'t> {
    /// Chooses how to answer a search. `base` is the ID of the base entry; 0 stands for the root above the topmost
    /// entries (the base `""` of a database with the empty suffix that has no entry of that name). The plan prints as
    /// `ironbark explain` shows it.
    pub fn plan(&self, base: EntryId, scope: Scope, filter: &CompiledFilter) -> Result<Plan, StoreError> {
        planner::plan(*self, (base, scope), filter, None)
    }
    /// As [`View::plan`], for somebody who may not be answered by everything: chains go no further than `guards` let
    /// them.
    pub fn plan_guarded(
        &self,
        (base, scope): (EntryId, Scope),
        filter: &CompiledFilter,
        guards: Option<&dyn EntryGuards>,
    ) -> Result<Plan, StoreError> {
        planner::plan(*self, (base, scope), filter, guards)
    }
    /// The candidates of a plan with IDs above `after`, ascending. The plan may be of an earlier snapshot: entries that
    /// came since may be missed, those that went are passed over.
    pub fn candidates(&self, plan: &Plan, after: EntryId) -> Result<Candidates<'t>, StoreError> {
        Candidates::new(*self, plan, after)
    }
}
