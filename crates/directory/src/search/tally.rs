//! What a search has cost so far.

/// What a search has cost so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Candidates that were looked at.
    pub(crate) examined: u64,
    /// Candidates and entries of them that the record of filters has.
    pub(super) recorded: (u64, u32),
    /// Entries that earlier pages of a paged search have sent.
    pub(super) before: u32,
    /// The plans of a search that takes long.
    pub(super) plans: String,
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
