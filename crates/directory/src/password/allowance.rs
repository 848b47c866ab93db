//! The work of all comparisons of one request.

use super::{limit::MOST_WORK, work};

/// Octets that are hashed in one part of that work.
const OCTETS_PER_PART: u64 = 3_000;

/// What the comparisons of a request have cost so far. An entry may have any number of stored passwords.
#[derive(Clone, Default, Debug)]
pub struct Allowance {
    spent: u64,
}

impl Allowance {
    /// Takes the work of one comparison. False: the comparisons before it have taken all that there is.
    pub fn take(&mut self, stored: &[u8], presented: &[u8]) -> bool {
        if self.spent >= MOST_WORK {
            return false;
        }
        let octets = stored.len().saturating_add(presented.len()) as u64;
        self.spent = self
            .spent
            .saturating_add(work(stored))
            .saturating_add(octets / OCTETS_PER_PART);
        if self.spent >= MOST_WORK {
            tracing::warn!(
                target: "any",
                "an entry has so many stored passwords, or such costly ones, that no more of them are compared for one \
                 request"
            );
        }
        true
    }
}
