//! The recent changes of entries: what a consumer that merges values must know of an entry besides its values.
//!
//! They are those which the consumer lacks, and of an entry that it lacks all that the log has: a change that comes
//! late from a third server may be older than they are. The log of changes is read once, and once more up to the moment
//! at which each entry is sent; only numbers of changes are held.
//!
//! Who may see what: a change tells values that are gone by now. So only a consumer that gets every entry of the
//! database with all values is told changes, as it would be told them by the access log.

use std::collections::{HashMap, HashSet};

use ironbark_store::{ContextVector, Effect, StoreError, View};

use crate::{place, recent};

/// Changes of the log that are looked at, from its end. A consumer reads no more of its own (`log_back.rs`).
const MOST_READ: u64 = 1 << 18;
/// Changes that are held, for all entries; more are not told.
const MOST_HELD: usize = 1 << 19;
/// Changes of one entry, and octets of them, beyond which none is told.
const MOST_OF_ENTRY: usize = 4_096;
const MOST_OCTETS: usize = 1 << 20;

/// The changes of all entries.
pub(super) struct Recent {
    /// What the consumer has; empty if it did not say so.
    known: ContextVector,
    /// Number of the next change of the log.
    next: u64,
    of: HashMap<[u8; 16], Vec<Change>>,
    /// Entries that the consumer lacks.
    added: HashSet<[u8; 16]>,
    held: usize,
}

/// A change of an entry, by its place in the log.
#[derive(Clone, Copy)]
struct Change {
    sequence: u64,
    effect: u32,
    /// Whether the consumer lacks it.
    is_news: bool,
}

impl Recent {
    /// Begins to read the log of changes for a consumer that has these CSNs.
    ///
    /// # Errors
    /// The storage failed.
    pub(super) fn begin(view: View<'_>, known: &ContextVector) -> Result<Self, StoreError> {
        let log = view.log_state()?;
        Ok(Self {
            known: known.clone(),
            next: log.first.unwrap_or_default().max(log.last.saturating_sub(MOST_READ)),
            of: HashMap::new(),
            added: HashSet::new(),
            held: 0,
        })
    }

    /// Reads so many changes at most. `true`: up to the last one.
    pub(super) fn read(&mut self, view: View<'_>, most: usize) -> Result<bool, StoreError> {
        let last = view.log_state()?.last;
        if self.next > last || self.held > MOST_HELD {
            return Ok(true);
        }
        for record in view.changes(self.next)?.take(most) {
            let record = record?;
            self.next = record.position.sequence + 1;
            for (number, (recorded, csn)) in record.stamped_effects().enumerate() {
                let Some(uuid) = place::entry_in(recorded).filter(|_| recorded.is_told()) else {
                    continue;
                };
                let is_news = !self.known.is_empty() && !self.known.covers(csn);
                if is_news && matches!(recorded.effect, Effect::Add { .. }) {
                    self.added.insert(uuid);
                }
                if is_news || self.known.is_empty() || self.added.contains(&uuid) {
                    self.held += 1;
                    self.of.entry(uuid).or_default().push(Change {
                        sequence: record.position.sequence,
                        effect: u32::try_from(number).unwrap_or(u32::MAX),
                        is_news,
                    });
                }
            }
        }
        if self.held > MOST_HELD {
            (self.of, self.added) = (HashMap::new(), HashSet::new());
        }
        Ok(self.next > last)
    }

    /// Whether the consumer lacks a change of an entry.
    pub(super) fn has_news_of(&self, uuid: &[u8; 16]) -> bool {
        let changes = self.of.get(uuid);
        changes.is_some_and(|changes| changes.iter().any(|change| change.is_news))
    }

    /// The values of the attribute for an entry.
    ///
    /// # Errors
    /// The storage failed.
    pub(super) fn values(
        &self,
        view: View<'_>,
        vector: &ContextVector,
        uuid: &[u8; 16],
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        // An entry that came as a whole may have more than the vector says.
        let mut vector = vector.clone();
        let mut values = Vec::new();
        let changes = self.of.get(uuid).map(Vec::as_slice).unwrap_or_default();
        let mut octets = 0;
        for change in changes {
            let Some(record) = view.changes(change.sequence)?.next().transpose()? else {
                break;
            };
            // It was trimmed since.
            if record.position.sequence != change.sequence {
                continue;
            }
            let number = change.effect as usize;
            if let Some(base) = record.effects.get(number).and_then(place::base_in) {
                base.vector.iter().for_each(|csn| _ = vector.merge(csn));
            }
            values.extend(recent::value(&record, number));
            octets += values.last().map_or(0, Vec::len);
        }
        if values.len() > MOST_OF_ENTRY || octets > MOST_OCTETS {
            values.clear();
        }
        values.insert(0, recent::first_value(&vector));
        Ok(values)
    }
}
