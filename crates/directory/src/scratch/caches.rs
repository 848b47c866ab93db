//! The caches of a thread, of each kind one for each database.

use std::sync::Arc;

use ironbark_store::{AnswerCache, Version};

use super::DnCache;
use crate::overlay::facts::{Facts, KnownFacts};

/// The caches for one database.
#[derive(Default)]
pub(super) struct Caches {
    pub(super) names: DnCache,
    pub(super) answers: AnswerCache,
    /// The facts of its overlays, and the version of the snapshot that they are of.
    pub(super) facts: Option<(Arc<KnownFacts>, Version, Arc<Facts>)>,
    /// Whether it holds referral entries, and the version of the snapshot that does.
    pub(super) referrals: Option<(Version, bool)>,
}

/// The caches for all databases, by their numbers (`NamingContext::cache`). Nearly every look is for the database of
/// the look before.
#[derive(Default)]
pub(super) struct AllCaches {
    number: u64,
    latest: Caches,
    others: Vec<(u64, Caches)>,
}

impl AllCaches {
    /// Those of a database; empty ones if it has none yet.
    #[inline]
    pub(super) fn of(&mut self, number: u64) -> &mut Caches {
        if self.number != number {
            self.turn_to(number);
        }
        &mut self.latest
    }

    #[cold]
    fn turn_to(&mut self, number: u64) {
        let known = self.others.iter().position(|(known, _)| *known == number);
        let next = known.map_or((number, Caches::default()), |place| self.others.swap_remove(place));
        let former = (self.number, std::mem::take(&mut self.latest));
        self.others.push(former);
        (self.number, self.latest) = next;
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
