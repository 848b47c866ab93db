//! What a search has cost: for the record of filters and the slow log.

use std::fmt::{Display, Formatter, Result as FmtResult};

use ironbark_store::Scope;

use super::{
    SearchRun,
    target::{Target, Walk},
};
use crate::{
    statistics::{FilterCost, Searched, filter_without_values},
    worker::Scratch,
};

/// What a search has cost so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Candidates that were looked at.
    pub(crate) examined: u64,
    /// Candidates and entries of them that the record of filters has.
    recorded: (u64, u32),
    /// Entries that earlier pages of a paged search have sent.
    before: u32,
    /// The plans of a search that takes long.
    plans: String,
}

impl SearchRun {
    /// Entries that were sent, without those of earlier pages.
    pub(crate) fn sent_now(&self) -> u32 {
        self.sent.saturating_sub(self.tally.before)
    }

    /// A target has been walked over: counts what it took.
    pub(super) fn count_target(&mut self, target: &Target, scratch: &Scratch) {
        let Walk::Stored {
            scope,
            plan: Some(plan),
            ..
        } = &target.walk
        else {
            return;
        };
        let (examined, sent) = std::mem::replace(&mut self.tally.recorded, (self.tally.examined, self.sent));
        if let (Some(suffix), true) = (target.context.suffixes().first(), *scope != Scope::Base) {
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

impl Tally {
    /// That of the next page of a search that has sent so many entries.
    pub(super) fn after(sent: u32) -> Self {
        Self {
            recorded: (0, sent),
            before: sent,
            ..Self::default()
        }
    }

    /// Keeps a plan on one line, unless there are many already.
    fn note_plan(&mut self, plan: &str) {
        const MOST_OCTETS: usize = 2_000;
        if self.plans.len() > MOST_OCTETS {
            return;
        }
        for line in plan.lines() {
            if !self.plans.is_empty() {
                self.plans.push_str("; ");
            }
            self.plans.push_str(line.trim_start());
        }
    }
}

/// What the slow log says of a search.
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
