//! The recent changes of an entry as a provider has told them ([`crate::RECENT_ATTRIBUTE`]).

use ironbark_store::{ChangeRecord, ContextVector, Csn, Effect, change::RequestedChange};

use super::logged::{LoggedChange, LoggedOperation};
use crate::place::{self, LOGGED_PLACE};

/// What a provider has told of an entry.
pub(super) struct Recent {
    /// What the provider has of the entry.
    pub(super) vector: ContextVector,
    /// The CSN of the entry's add, if that is one of the changes.
    pub(super) added: Option<Csn>,
    /// The other changes with their CSNs, in the order in which the provider made them.
    pub(super) changes: Vec<(Csn, LoggedChange)>,
}

impl Recent {
    /// Reads the values of the attribute. `None`: they have another form.
    pub(super) fn parse(values: &[Vec<u8>]) -> Option<Self> {
        let (vector, records) = values.split_first()?;
        let vector = std::str::from_utf8(vector).ok()?.split_whitespace();
        let vector: Option<Vec<Csn>> = vector.map(|csn| Csn::parse(csn.as_bytes())).collect();
        let mut recent = Self {
            vector: vector?.into_iter().collect(),
            added: None,
            changes: Vec::with_capacity(records.len()),
        };
        for octets in records {
            let record = ChangeRecord::decode(octets).ok()?;
            if matches!(record.effects.first()?.effect, Effect::Add { .. }) {
                recent.added = Some(record.csn);
            } else {
                recent.changes.push((record.csn, read(record)?));
            }
        }
        Some(recent)
    }
}

/// The change of a value.
fn read(record: ChangeRecord) -> Option<LoggedChange> {
    let told = record.effects.into_iter().next()?;
    let place = told.before.kept.iter().find(|(name, _)| **name == *LOGGED_PLACE);
    let place = place
        .and_then(|(_, values)| values.first())
        .map(|place| Box::from(&**place));
    let revision = place::revision_in(&told);
    let mut requested = record.requested.into_iter();
    let (dn, operation) = match (revision, requested.next(), told.effect) {
        (Some(revision), _, effect) => {
            let place = place?;
            (effect.dn().into(), LoggedOperation::Settle { revision, place })
        }
        (None, Some(RequestedChange::Modify { dn, modifications }), _) => (dn, LoggedOperation::Modify(modifications)),
        (
            None,
            Some(RequestedChange::ModifyDn {
                dn,
                new_rdn,
                delete_old_rdn,
                new_superior,
            }),
            Effect::Rename { new_dn, .. },
        ) => {
            let RequestedChange::Modify { modifications, .. } = requested.next()? else {
                return None;
            };
            let operation = LoggedOperation::ModifyDn {
                new_rdn,
                delete_old_rdn,
                new_superior,
                modifications,
                place: place.map(|place| (new_dn, place)),
            };
            (dn, operation)
        }
        _ => return None,
    };
    let uuid = Some(told.before.entry_uuid);
    Some(LoggedChange {
        dn,
        uuid,
        operation,
        base: None,
    })
}
