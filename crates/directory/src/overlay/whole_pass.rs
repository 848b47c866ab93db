//! Passes of overlays over all entries of a database, because no index answers what they ask.
//!
//! Writes wait meanwhile. So a pass may have a limit, the log tells of a long one, and it counts among the searches of
//! cn=Monitor, where `ironbark advise` finds the missing index.

use ironbark_model::{CompiledFilter, ResultCode};
use ironbark_store::Plan;

use super::Execution;
use crate::{
    OperationError,
    statistics::{FilterCost, Searched},
};

/// A pass that is about to begin.
pub struct WholePass<'a> {
    /// The name of the overlay.
    pub overlay: &'static str,
    /// What is asked.
    pub filter: &'a CompiledFilter,
    /// The plan for it, which finds no index.
    pub plan: &'a Plan,
    /// In a database with more entries the operation is refused; 0: no limit.
    pub limit: u32,
}

/// The log tells of a pass over as many entries: it takes a tenth of a second, or more.
const LARGE: u64 = 10_000;

impl Execution<'_, '_> {
    /// Call this before an overlay reads all entries.
    ///
    /// # Errors
    /// `adminLimitExceeded`: there are more entries than its limit. The storage failed.
    pub fn begin_whole_pass(&self, pass: &WholePass<'_>) -> Result<(), OperationError> {
        let entries = self.view().entry_count()?;
        if let Some(suffix) = self.context.suffixes().first() {
            self.directory.statistics().shared().record_search(&Searched {
                schema: self.schema(),
                database: self.context.cache,
                suffix: suffix.pretty(),
                filter: pass.filter,
                plan: pass.plan,
                cost: FilterCost {
                    searches: 1,
                    candidates: entries,
                    entries: 0,
                },
            });
        }
        let is_refused = pass.limit != 0 && entries > pass.limit.into();
        if is_refused || entries >= LARGE {
            let names: Vec<_> = pass.plan.unindexed_terms().map(|term| term.attribute).collect();
            let end = if is_refused { "refused" } else { "all are read" };
            let (origin, overlay, names) = (self.origin, pass.overlay, names.join(", "));
            self.warn(format_args!(
                "conn={} op={}: {overlay}: {entries} entries, and no eq index of {names}: {end}",
                origin.connection, origin.operation,
            ));
        }
        if is_refused {
            let text = "an overlay would have to read too many entries: an index is missing";
            return Err(OperationError::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text));
        }
        Ok(())
    }
}
