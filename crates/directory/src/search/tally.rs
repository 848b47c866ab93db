//! The cost of a search so far.

/// The cost of a search so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Candidates that were considered.
    pub(crate) examined: u64,
    /// Candidates and entries that the record of filters already has.
    pub(super) recorded: (u64, u32),
    /// Entries that were sent on earlier pages.
    pub(super) before: u32,
    /// The plans, as text, if the search is slow.
    pub(super) plans: String,
}

impl Tally {
    /// The tally for the next page, after `sent` entries.
    pub(super) fn after(sent: u32) -> Self {
        Self {
            recorded: (0, sent),
            before: sent,
            ..Self::default()
        }
    }

    /// Adds a plan to the line, unless there are many already.
    pub(super) fn note_plan(&mut self, plan: &str) {
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
