//! Deletes expired entries, leaves first.

use std::time::Duration;

use ironbark_directory::{
    OperationError, edit,
    overlay::{Execution, TimerHooks},
    stamp::generalized_time,
};
use ironbark_model::{Budget, CompiledFilter, Filter, Truth, filter::Assertion};
use ironbark_store::{DitScope, EntryId, Location};

use super::{Dds, refusal::DdsRefusal};

/// Seconds between two searches for expired entries, unless a setting says otherwise.
const INTERVAL_S: u64 = 3_600;
/// Steps that one search for expired entries may take, on the thread that all writes of a database wait for.
const LOOK_STEPS: u64 = 1_000_000;

impl TimerHooks for Dds {
    fn period(&self) -> Duration {
        Duration::from_secs(self.settings.interval_s.unwrap_or(INTERVAL_S))
    }

    fn step(&self, execution: &mut Execution<'_, '_>) -> Result<(), OperationError> {
        let now_s = execution.directory.clock().now().unix_seconds();
        let tolerance_s = self.settings.tolerance_s.unwrap_or_default();
        let until = generalized_time::text(now_s.saturating_sub_unsigned(tolerance_s));
        let expired = Filter::And(vec![
            of_class(),
            Filter::LessOrEqual(Assertion {
                attribute: b"entryExpireTimestamp"[..].into(),
                value: until.as_bytes().into(),
            }),
        ]);
        let mut leaf = None;
        self.look(execution, &expired, &mut |execution, id| {
            if execution.view().has_subordinates(id)? {
                return Ok(true);
            }
            leaf = Some(id);
            Ok(false)
        })?;
        if let Some(id) = leaf {
            let dn = execution.view().dn(id)?;
            edit::delete_internally(execution, &dn)?;
            tracing::info!(target: "stats", "DDS dn=\"{}\" expired.", dn.pretty());
        }
        Ok(())
    }
}

fn of_class() -> Filter<'static> {
    Filter::Equality(Assertion {
        attribute: b"objectClass"[..].into(),
        value: b"dynamicObject"[..].into(),
    })
}

impl Dds {
    /// The number of dynamic entries, counted up to `most`.
    pub(super) fn number_up_to(&self, execution: &Execution<'_, '_>, most: u32) -> Result<u32, OperationError> {
        let mut number = 0;
        self.look(execution, &of_class(), &mut |_, _| {
            number += 1;
            Ok(number < most)
        })?;
        Ok(number)
    }

    /// Visits entries of the database that match a filter, as long as `visit` wants more.
    fn look(
        &self,
        execution: &Execution<'_, '_>,
        filter: &Filter<'_>,
        visit: &mut dyn FnMut(&Execution<'_, '_>, EntryId) -> Result<bool, OperationError>,
    ) -> Result<(), OperationError> {
        let work = Budget::new(LOOK_STEPS);
        let view = execution.view().under(&work);
        let mut compiled = CompiledFilter::default();
        compiled.compile(&self.schema, filter);
        let mut scratch = Vec::new();
        for suffix in execution.context.suffixes() {
            let Location::Entry(base) = view.locate(suffix)? else {
                continue;
            };
            let plan = view.plan(base, DitScope::Subtree, &compiled)?;
            let mut candidates = view.candidates(&plan, 0)?;
            while let Some(id) = candidates.next_id()? {
                if !view.spend(1) {
                    return Err(DdsRefusal::TooMuchWork.into());
                }
                let Some(record) = view.record(id)? else { continue };
                if record.evaluate_planned(&plan, &compiled, &mut scratch) == Truth::True && !visit(execution, id)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
