//! What the own log tells of an entry: the changes that are newer than one that comes late.

use ironbark_model::{Dn, Schema};
use ironbark_store::{
    ChangeRecord, Csn, Effect, RecordedEffect, StoreError, ValueChange, View,
    change::{Gone, RequestedChange, RequestedKind, RequestedModification},
};

use super::read::of_requested;
use crate::{
    edit::{log_back::read_back, rename},
    place,
    request::modification::Modification,
};

/// The newer changes of an entry.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of the changes")]
pub(super) struct Newer {
    /// In the order of their CSNs.
    pub(super) modifications: Vec<Modification>,
    /// Whether it got another RDN.
    pub(super) is_renamed: bool,
    /// Whether it got another superior.
    pub(super) is_moved: bool,
    /// Whether the log tells all of them.
    pub(super) is_complete: bool,
    /// Whether the entry came as a whole with the change in it.
    pub(super) is_contained: bool,
}

impl Newer {
    /// What is newer than a change that came with the entry as a whole.
    pub(super) fn containing() -> Self {
        Self {
            is_renamed: true,
            is_moved: true,
            is_complete: true,
            is_contained: true,
            ..Self::default()
        }
    }
}

/// The changes of the entry of this UUID that are newer than the one of `csn`, which comes late; `None`: that one was
/// made before. A revision counts by another CSN than that of the change that made it (`told`). The view must show the
/// changes of its transaction.
///
/// # Errors
/// The storage failed.
pub(super) fn newer_than(
    view: View<'_>,
    schema: &Schema,
    uuid: [u8; 16],
    csn: Csn,
    told: Csn,
) -> Result<Option<Newer>, StoreError> {
    let mut search = Search {
        schema,
        uuid,
        csn,
        told,
        newer: Newer::default(),
        found: Vec::new(),
        was_made: false,
    };
    read_back(view, &mut search, Search::take, |search| {
        search.newer.is_complete || search.was_made
    })?;
    let Search {
        mut newer,
        mut found,
        was_made,
        ..
    } = search;
    if was_made {
        return Ok(None);
    }
    found.sort_by_key(|(csn, _)| *csn);
    newer.modifications = found.into_iter().flat_map(|(_, modifications)| modifications).collect();
    Ok(Some(newer))
}

/// The search for newer changes.
struct Search<'s> {
    schema: &'s Schema,
    uuid: [u8; 16],
    csn: Csn,
    told: Csn,
    newer: Newer,
    found: Vec<(Csn, Vec<Modification>)>,
    /// Whether the change itself was found.
    was_made: bool,
}

impl Search<'_> {
    fn take(&mut self, record: &ChangeRecord) {
        for (number, recorded) in record.effects.iter().enumerate() {
            let is_its = place::entry_in(recorded) == Some(self.uuid) && !recorded.marks.internal;
            if is_its && !record.adds_anew(number) {
                self.take_effect(record, number, recorded);
            }
        }
    }

    fn take_effect(&mut self, record: &ChangeRecord, number: usize, recorded: &RecordedEffect) {
        let (made, csn) = (record.effect_csn(number), self.csn);
        if let Some(base) = place::base_in(recorded) {
            // What is newer in an entry that came as a whole, its recent changes tell.
            if !matches!(recorded.effect, Effect::Add { .. }) {
                return;
            }
            if base.vector.covers(self.told) {
                self.newer = Newer::containing();
            }
            self.newer.is_complete = true;
            return;
        }
        self.was_made |= made == csn;
        // The entry's CSN only grows: what came before this change is older.
        self.newer.is_complete |= begins(recorded, csn.version());
        if let Some(revision) = place::revision_in(recorded) {
            // It gives name and place alone. Other revisions of the same change may be less or greater.
            self.newer.is_renamed |= revision > csn && is_set_aside(recorded, self.uuid);
            self.newer.is_moved |= revision > csn;
        } else if made > csn {
            let requested = place::request_of(record, number);
            // A rename that nobody has asked for follows from another change.
            if let Some(RequestedChange::ModifyDn { new_superior, .. }) = requested {
                self.newer.is_renamed = true;
                self.newer.is_moved |= new_superior.is_some();
            }
            self.found.push((made, modifications(self.schema, requested, recorded)));
        }
    }
}

/// Whether the entry was older than `csn` before this change, or was not there.
fn begins(recorded: &RecordedEffect, csn: Csn) -> bool {
    let changes = match &recorded.effect {
        Effect::Add { .. } => return true,
        Effect::Delete { .. } => return false,
        Effect::Modify { changes, .. } | Effect::Rename { changes, .. } => changes,
    };
    let Gone::Values(gone) = &recorded.before.gone else {
        return false;
    };
    let of_csn = changes
        .iter()
        .zip(gone)
        .filter(|(change, _)| change.attribute() == "entryCSN");
    let mut former = of_csn.flat_map(|(_, values)| values);
    former.any(|value| Csn::parse(value).is_some_and(|former| former < csn))
}

/// Whether it has left the entry with the name of one that was set aside.
fn is_set_aside(recorded: &RecordedEffect, uuid: [u8; 16]) -> bool {
    let name = match &recorded.effect {
        Effect::Rename { new_dn, .. } => new_dn,
        other => other.dn(),
    };
    place::is_aside(name, uuid)
}

/// What was asked for, if the log has it: a request that changed nothing here counts as well.
pub(in crate::replica) fn modifications(
    schema: &Schema,
    requested: Option<&RequestedChange>,
    recorded: &RecordedEffect,
) -> Vec<Modification> {
    let read = match requested {
        Some(RequestedChange::Modify { modifications, .. }) => Some(
            modifications
                .iter()
                .filter_map(|change| of_request(schema, change))
                .collect(),
        ),
        Some(RequestedChange::ModifyDn {
            dn,
            new_rdn,
            delete_old_rdn,
            ..
        }) => of_rename(schema, dn, new_rdn, *delete_old_rdn),
        _ => None,
    };
    read.unwrap_or_else(|| of_effect(schema, &recorded.effect))
}

fn of_request(schema: &Schema, change: &RequestedModification) -> Option<Modification> {
    let description = schema.attribute_description(change.attribute.as_bytes()).ok()?;
    Some(of_requested(schema, change.kind, description, change.values.clone()))
}

fn of_rename(schema: &Schema, dn: &str, new_rdn: &str, delete_old_rdn: bool) -> Option<Vec<Modification>> {
    let dn = Dn::parse(schema, dn.as_bytes()).ok()?;
    let new_rdn = Dn::parse(schema, new_rdn.as_bytes()).ok()?;
    rename::modifications_of(schema, &dn, &new_rdn, delete_old_rdn).ok()
}

fn of_effect(schema: &Schema, effect: &Effect) -> Vec<Modification> {
    let set = |attribute: &str, kind, values: &[Vec<u8>]| {
        let change = RequestedModification {
            kind,
            attribute: attribute.into(),
            values: values.to_vec(),
        };
        of_request(schema, &change)
    };
    match effect {
        Effect::Delete { .. } => Vec::new(),
        Effect::Add { attributes, .. } => {
            let all = attributes.iter();
            all.filter_map(|(attribute, values)| set(attribute, RequestedKind::Replace, values))
                .collect()
        }
        Effect::Modify { changes, .. } | Effect::Rename { changes, .. } => {
            let all = changes.iter().map(|change| match change {
                ValueChange::Add { attribute, values } => (attribute, RequestedKind::Add, values),
                ValueChange::Delete { attribute, values } => (attribute, RequestedKind::Delete, values),
                ValueChange::Replace { attribute, values } => (attribute, RequestedKind::Replace, values),
            });
            all.filter_map(|(attribute, kind, values)| set(attribute, kind, values))
                .collect()
        }
    }
}
