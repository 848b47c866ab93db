//! Two entries of one name: one of them keeps it.

use ironbark_model::Dn;
use ironbark_store::{ChangeKind, Csn, Effect, EntryId, Record, ValueChange};

use super::{
    find::find,
    mapping::ReplicaMapping,
    place::{Aftermath, Told},
    placing::{Moves, Spot},
};
use crate::{
    OperationError,
    backend::conflicts::{Conflict, ConflictKind, ConflictSide},
    edit::{
        apply::{Before, apply_implied, apply_own},
        checks, delete,
    },
    overlay::Execution,
    place::uuid_text,
    request::modification::normal_form,
};

/// Who of two entries has the greater claim to a name: the one whose CSN is greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Claim {
    /// `None`, if the entry has none, is less than any.
    pub(super) csn: Option<Csn>,
    /// Decides between equal ones. Zeros: the entry has none.
    pub(super) uuid: [u8; 16],
}

impl Claim {
    /// The claim of a stored entry.
    pub(super) fn of(execution: &Execution<'_, '_>, record: &Record<'_>) -> Result<Self, OperationError> {
        let known = &execution.configuration.well_known;
        let first = |description| -> Result<Option<Vec<u8>>, OperationError> {
            let held = record.values(description).map(|held| held.to_attribute()).transpose()?;
            Ok(held.and_then(|held| held.values.into_iter().next()))
        };
        let uuid = first(&known.entry_uuid)?.map(|uuid| normal_form(execution.schema(), &known.entry_uuid, &uuid));
        Ok(Self {
            csn: first(&known.entry_csn)?.and_then(|csn| Csn::parse(&csn)),
            uuid: uuid.and_then(|uuid| uuid.try_into().ok()).unwrap_or_default(),
        })
    }

    /// Whether one server has made both versions. Then they are in no conflict: whoever had the name first has left it
    /// by a version that is still to come. Where values are merged, the last change of an entry does not say who has
    /// given it its name, and nothing is still to come: a log is in order.
    pub(super) fn is_of_same_server(&self, other: &Self, mapping: &ReplicaMapping) -> bool {
        let server = |claim: &Self| claim.csn.filter(|csn| !csn.is_revision()).map(Csn::server_id);
        !mapping.merges_values && server(self).is_some() && server(self) == server(other)
    }
}

impl From<Claim> for ConflictSide {
    fn from(Claim { csn, uuid }: Claim) -> Self {
        Self { uuid, csn }
    }
}

/// Notes that a version of an entry lost to a greater one that was made at the same time, at another server.
pub(super) fn note_version(execution: &mut Execution<'_, '_>, name: &Dn, uuid: [u8; 16], winner: Csn, loser: Csn) {
    if winner.server_id() != loser.server_id() {
        let side = |csn| Claim { csn: Some(csn), uuid };
        note(
            execution,
            ConflictKind::Version,
            name.pretty(),
            side(winner),
            side(loser),
        );
    }
}

/// Notes that a change of an entry lost to its delete, by their CSNs.
pub(super) fn note_deleted(
    execution: &mut Execution<'_, '_>,
    name: &str,
    uuid: [u8; 16],
    deleted: Option<Csn>,
    changed: Option<Csn>,
) {
    let side = |csn| Claim { csn, uuid };
    note(execution, ConflictKind::Delete, name, side(deleted), side(changed));
}

/// Notes a conflict. It is kept when the transaction is committed.
pub(super) fn note(execution: &mut Execution<'_, '_>, kind: ConflictKind, name: &str, winner: Claim, loser: Claim) {
    note_with(execution, kind, name, None, winner, loser);
}

/// Notes it, unless the provider is the only one: then it is right, and there is no conflict.
fn note_among(
    execution: &mut Execution<'_, '_>,
    mapping: &ReplicaMapping,
    kind: ConflictKind,
    name: &str,
    other: Option<&Dn>,
    winner: Claim,
    loser: Claim,
) {
    if mapping.multi_provider {
        note_with(execution, kind, name, other, winner, loser);
    }
}

fn note_with(
    execution: &mut Execution<'_, '_>,
    kind: ConflictKind,
    name: &str,
    other: Option<&Dn>,
    winner: Claim,
    loser: Claim,
) {
    execution.conflicts.push(Conflict {
        kind,
        name: name.into(),
        other_name: other.map(|other| other.pretty().into()),
        winner: winner.into(),
        loser: loser.into(),
    });
}

/// Takes the name from an entry that is in the way, because the provider says whose name it is. The entry moves aside
/// with what is below it, to a name that is made of its UUID: the provider tells later in the same session where it is
/// now, or that it is gone. The suffix cannot move, and an entry without a UUID cannot be told of: they go. `winner`
/// has the name then. `told` is as of [`drop_entry`].
///
/// # Errors
/// The storage failed, or an overlay refused.
pub(super) fn set_aside(
    execution: &mut Execution<'_, '_>,
    mapping: &ReplicaMapping,
    id: EntryId,
    winner: Claim,
    mut told: Option<&mut Aftermath>,
) -> Result<(), OperationError> {
    execution.has_displaced = true;
    let (claim, name) = {
        let view = execution.view();
        let record = checks::record_of(view, id)?;
        (Claim::of(execution, &record)?, view.dn(id)?)
    };
    let aside = aside_of(execution, &name, claim.uuid);
    let must_go = claim.uuid == [0; 16] || execution.context.is_suffix(&name) || aside == name;
    let spot = if must_go {
        None
    } else {
        Some(Spot::of(execution, &aside)?)
    };
    match spot {
        Some(Spot::Free) => {}
        // What its provider has told below that name before belongs to it.
        Some(Spot::Glue(glue)) => {
            let mut moves = Moves::new(mapping, &aside, told.is_some());
            moves.children(execution, glue, &name, 0)?;
            if let (Some(told), Some(further)) = (&mut told, moves.told) {
                told.append(further);
            }
        }
        Some(Spot::Entry(_)) | None => {
            note_among(
                execution,
                mapping,
                ConflictKind::Name,
                name.pretty(),
                None,
                winner,
                claim,
            );
            return drop_entry(execution, id, told);
        }
    }
    tracing::info!(target: "sync", "\"{}\": has given its name away, and is now \"{}\"", name.pretty(), aside.pretty());
    note_among(
        execution,
        mapping,
        ConflictKind::Aside,
        name.pretty(),
        Some(&aside),
        winner,
        claim,
    );
    let effect = Effect::Rename {
        dn: name.pretty().into(),
        new_dn: aside.pretty().into(),
        changes: Vec::new(),
    };
    if mapping.merges_values || mapping.multi_provider && claim.is_of_same_server(&winner, mapping) {
        // Others decide for themselves, or are told by a revision. slapd, and whoever else has deleted the entry, would
        // take it for a new one.
        apply_implied(execution, ChangeKind::ModifyDn, effect, Before::default())?;
    } else {
        apply_own(execution, ChangeKind::ModifyDn, effect, Before::default())?;
    }
    Ok(())
}

/// The name beside another one that is made of the UUID of an entry.
pub(super) fn aside_of(execution: &Execution<'_, '_>, name: &Dn, uuid: [u8; 16]) -> Dn {
    let leaf = format!("entryUUID={}", uuid_text(uuid));
    let leaf = Dn::parse(execution.schema(), leaf.as_bytes()).unwrap_or_default();
    name.parent().unwrap_or_default().child(&leaf)
}

/// The name of an entry that comes without its superior, which has lost its own name here, if another entry has the
/// name that is left to it: the one that is made of its UUID. The provider has both, in different places, and has told
/// of the other one, or will: that one keeps the name, and none is lost. The same goes for an entry that comes late,
/// when its server has given the name to the other one since (`true`): its next version is on its way.
///
/// # Errors
/// The storage failed.
pub(super) fn without_superior(
    execution: &Execution<'_, '_>,
    mapping: &ReplicaMapping,
    told: &Told,
    claim: Claim,
    name: &Dn,
) -> Result<Option<(Dn, bool)>, OperationError> {
    let is_here = match told.superior {
        Some(superior) => find(execution, superior)?.is_some(),
        None => true,
    };
    let Spot::Entry(holder) = Spot::of(execution, name)? else {
        return Ok(None);
    };
    let record = checks::record_of(execution.view(), holder)?;
    let held = Claim::of(execution, &record)?;
    let is_other = held.uuid != claim.uuid;
    let is_in_the_way = is_other && !is_here && told.knew(held.csn) != Some(false);
    let was_there_first = is_other && held.is_of_same_server(&claim, mapping) && held > claim;
    let goes_aside = (is_in_the_way || was_there_first) && !execution.context.is_suffix(name);
    Ok(goes_aside.then(|| (aside_of(execution, name, claim.uuid), was_there_first)))
}

/// Tells of a move that was not carried out: `loser` was to move below `winner`, which is below it.
pub(super) fn tell_cycle(execution: &mut Execution<'_, '_>, name: &Dn, to: &Dn, winner: Claim, loser: Claim) {
    note_with(execution, ConflictKind::Cycle, name.pretty(), Some(to), winner, loser);
    tracing::warn!(
        target: "sync",
        "conflict: \"{}\" stays where it is: \"{}\" is below it",
        name.pretty(),
        to.pretty()
    );
}

/// Removes an entry that has lost its name. What is below it stays under the name.
///
/// Where providers tell places (`told`), others may have decided otherwise, by another version of the entry: its end is
/// told to all, and is final. Otherwise it leaves no tombstone: a later change of it may come.
///
/// # Errors
/// The storage failed, or an overlay refused.
pub(super) fn drop_entry(
    execution: &mut Execution<'_, '_>,
    id: EntryId,
    told: Option<&mut Aftermath>,
) -> Result<(), OperationError> {
    let name = execution.view().dn(id)?;
    if let Some(told) = told {
        told.take_up_below(execution, id)?;
        let record = checks::record_of(execution.view(), id)?;
        told.buried.extend(record.entry_uuid()?);
        return delete::give_up(execution, id);
    }
    // A tombstone is for a UUID.
    execution.apply_further(Effect::Modify {
        dn: name.pretty().into(),
        changes: vec![ValueChange::Replace {
            attribute: "entryUUID".into(),
            values: Vec::new(),
        }],
    })?;
    delete::give_up(execution, id)
}

/// Tells of two entries of one name. The row of the change has the content of the loser; the log has only names.
pub(super) fn tell(execution: &mut Execution<'_, '_>, name: &Dn, winner: Claim, loser: Claim, attributes: &[String]) {
    note(execution, ConflictKind::Name, name.pretty(), winner, loser);
    let text = |csn: Option<Csn>| csn.map(Csn::text).unwrap_or_default();
    tracing::warn!(
        target: "sync",
        "conflict: \"{}\": entryUUID {} of {} has the name, {} of {} goes, with {}",
        name.pretty(),
        uuid_text(winner.uuid),
        text(winner.csn),
        uuid_text(loser.uuid),
        text(loser.csn),
        attributes.join(" ")
    );
}

/// The names of the attributes of a stored entry.
pub(super) fn names_of(execution: &Execution<'_, '_>, record: &Record<'_>) -> Vec<String> {
    let attributes = record.attributes();
    attributes.map(|held| execution.name_of(held.description())).collect()
}
