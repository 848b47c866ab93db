//! The cost of a search, for the record of filters and the slow log.

use std::fmt::{Display, Formatter, Result as FmtResult};

use ironbark_store::DitScope;

use super::{
    run::SearchRun,
    target::{StoredWalk, Target, Walk},
};
use crate::{
    scratch::Scratch,
    statistics::{FilterCost, Searched, filter_without_values},
};

impl SearchRun {
    /// Counts the cost of a target whose walk has ended.
    pub(super) fn count_target(&mut self, target: &Target, scratch: &Scratch) {
        let Walk::Stored(StoredWalk {
            scope,
            plan: Some(plan),
            ..
        }) = &target.walk
        else {
            return;
        };
        let (examined, sent) = std::mem::replace(&mut self.tally.recorded, (self.tally.examined, self.sent));
        if let (Some(suffix), true) = (target.context.suffixes().first(), *scope != DitScope::Base) {
            scratch.shard().record_search(&Searched {
                schema: &self.configuration.schema,
                database: target.context.cache,
                suffix: suffix.pretty(),
                filter: &self.filter,
                plan,
                cost: FilterCost {
                    searches: 1,
                    candidates: self.tally.examined - examined,
                    entries: u64::from(self.sent - sent),
                },
            });
        }
        if let Some(limit) = self.configuration.slow_micros()
            && scratch.directory().monotonic_micros() >= self.origin.received_micros + limit
        {
            self.tally.note_plan(&plan.to_string());
        }
    }
}

/// The slow log's details of a search.
pub(super) struct SearchDetail<'a>(pub(super) &'a SearchRun);

impl Display for SearchDetail<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        let run = self.0;
        let filter = filter_without_values(&run.configuration.schema, &run.filter);
        write!(
            f,
            "nentries={} examined={} filter=\"{filter}\" plan=\"{}\"",
            run.sent_now(),
            run.tally.examined,
            run.tally.plans
        )
    }
}
