//! What this server has of an entry beyond what its provider has: it stays when the entry as a whole comes.

use std::collections::{HashMap, HashSet};

use ironbark_model::AttributeDescription;
use ironbark_store::{ChangeRecord, ContextVector, Csn, StoreError, change::RequestedChange};

use super::{incoming::Replicated, logged::modifications, read::ReadRecent};
use crate::{OperationError, overlay::Execution, place};

/// Changes of the log that are looked at, from its end.
const MOST_READ: u64 = 1 << 18;

/// Committed changes that a provider lacked when they were looked for, by entry: numbers of the log. It is kept for a
/// refresh, as each of its entries may ask.
#[derive(Debug, Default)]
pub(super) struct OwnChanges {
    /// What the provider had.
    vector: ContextVector,
    /// Number of the next change to be looked at; 0: none was.
    next: u64,
    of: HashMap<[u8; 16], Vec<u64>>,
}

impl OwnChanges {
    /// Looks at the changes that were committed since; at all if the provider had less than was thought.
    fn renew(&mut self, execution: &Execution<'_, '_>, vector: &ContextVector) -> Result<(), StoreError> {
        let view = execution.view();
        let log = view.log_state()?;
        if !self.vector.iter().all(|csn| vector.covers(csn)) {
            *self = Self::default();
        }
        if self.next == 0 {
            self.vector = vector.clone();
            self.next = log.first.unwrap_or(1).max(log.last.saturating_sub(MOST_READ));
        }
        if self.next > log.last {
            return Ok(());
        }
        for record in view.changes(self.next)? {
            let record = record?;
            if record.position.sequence > log.last {
                break;
            }
            for (uuid, number, csn) in changes_in(&record) {
                let is_whole = record
                    .effects
                    .get(number)
                    .is_some_and(|recorded| place::base_in(recorded).is_some());
                if is_whole || !vector.covers(csn) {
                    self.of.entry(uuid).or_default().push(record.position.sequence);
                }
            }
        }
        self.next = log.last + 1;
        Ok(())
    }
}

/// The entries that a record changes, with the numbers of the effects and their CSNs.
fn changes_in(record: &ChangeRecord) -> impl Iterator<Item = ([u8; 16], usize, Csn)> {
    let effects = record.stamped_effects().enumerate();
    let own = effects.filter(|(_, (recorded, _))| !recorded.marks.internal);
    own.filter_map(|(number, (recorded, csn))| Some((place::entry_in(recorded)?, number, csn)))
}

/// What changes that the provider lacks have done to an entry.
#[derive(Default)]
pub(super) struct Own {
    /// The attributes.
    pub(super) attributes: HashSet<AttributeDescription>,
    /// Whether they gave it another RDN.
    pub(super) is_renamed: bool,
    /// Whether they gave it another superior.
    pub(super) is_moved: bool,
    /// Whether the entry came as a whole from a server that had more of it than the provider.
    pub(super) had_more: bool,
}

impl Own {
    /// Finds it out from the log.
    ///
    /// # Errors
    /// The storage failed.
    pub(super) fn of(
        execution: &mut Execution<'_, '_>,
        change: &Replicated,
        uuid: [u8; 16],
        recent: &ReadRecent,
    ) -> Result<Self, OperationError> {
        execution.show_changes()?;
        let view = execution.view();
        let mut known = change.own_changes();
        known.renew(execution, &recent.vector)?;
        let mut own = Self::default();
        for sequence in known.of.get(&uuid).into_iter().flatten() {
            if let Some(record) = view.changes(*sequence)?.next() {
                own.take(execution, &record?, uuid, recent);
            }
        }
        // The changes of this transaction may still come to nothing, so they are not remembered.
        for record in view.changes(known.next)? {
            own.take(execution, &record?, uuid, recent);
        }
        Ok(own)
    }

    fn take(&mut self, execution: &Execution<'_, '_>, record: &ChangeRecord, uuid: [u8; 16], recent: &ReadRecent) {
        for (entry, number, csn) in changes_in(record) {
            let Some(recorded) = record.effects.get(number).filter(|_| entry == uuid) else {
                continue;
            };
            if let Some(base) = place::base_in(recorded) {
                self.had_more |= base.vector.iter().any(|csn| !recent.vector.covers(csn));
                continue;
            }
            if recent.has(csn) {
                continue;
            }
            if let Some((_, name)) = place::revision_with_name(recorded) {
                self.is_moved = true;
                self.is_renamed |= place::is_aside(name, uuid);
                continue;
            }
            let request = place::request_of(record, number);
            if let Some(RequestedChange::ModifyDn { new_superior, .. }) = request {
                self.is_renamed = true;
                self.is_moved |= new_superior.is_some();
            }
            let changed = modifications(execution.schema(), request, recorded);
            self.attributes
                .extend(changed.into_iter().map(|modification| modification.description));
        }
    }
}
