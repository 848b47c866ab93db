//! Add (RFC 4511 §4.7).

use ironbark_config::{Operations, access::Privileges};
use ironbark_ldap_proto::AddRequest;
use ironbark_model::{AttributeDescription, Dn, Entry};
use ironbark_store::{ChangeKind, Effect, EntryId, Location, Record, View};

use super::{modify, read_entry};
use crate::{
    OperationError,
    access::{Target, WriteCheck, assertion, disclosure::Ancestor},
    backend::written::Success,
    edit::{
        adoption,
        apply::{Before, apply_own},
        checks::{self, grants_on_root, require},
        new_entry::{add_naming_values, complete, entry_of, refuse_repetition},
        rights::is_granted,
    },
    overlay::{Execution, Outcome, OutcomeChange, overlays_of},
    refusal::AddRefusal,
    request::modification::{self, Modification, ModificationKind, Reading},
};

/// The attributes of a request.
///
/// # Errors
/// `protocolError`, and those of [`Modification::requested`].
pub(crate) fn modifications_of(
    reading: Reading<'_>,
    request: &AddRequest<'_>,
) -> Result<Vec<Modification>, OperationError> {
    if request.attributes.is_empty() {
        return Err(AddRefusal::NoAttributes.into());
    }
    request
        .attributes
        .iter()
        .map(|attribute| {
            Modification::requested(reading, ModificationKind::Add, attribute.description, attribute.values)
        })
        .collect()
}

/// Executes an add request.
pub(crate) fn execute(
    execution: &mut Execution<'_, '_>,
    dn: &Dn,
    modifications: &[Modification],
) -> Result<Success, OperationError> {
    let schema = execution.schema();
    let mut modifications = modifications.to_vec();
    let mut entry = entry_of(dn.clone(), &modifications);
    let named = add_naming_values(schema, &mut entry)?;
    if execution.origin.identity.is_tool {
        modification::permit_all(schema, &mut modifications);
    } else {
        modification::check_permitted(schema, &mut modifications, execution.is_relaxed())?;
    }
    refuse_repetition(schema, &modifications)?;
    if let Some(changes) = changes_instead(execution, &entry)? {
        return modify::run_instead_of_add(execution, dn, changes);
    }
    ask_overlays(execution, &mut entry, &named, &modifications)?;
    complete(execution, &mut entry, &named)?;
    place(execution, &mut entry, &modifications)?;
    apply(execution, entry)
}

/// The changes that overlays make of an add of an entry that is there, for a client that may add an entry like this and
/// may know of the one that is there. For others the request is an add like any other.
fn changes_instead(execution: &Execution<'_, '_>, entry: &Entry) -> Result<Option<Vec<Modification>>, OperationError> {
    let overlays = overlays_of(execution.context);
    let restricted = execution.context.settings.restrict.operations;
    if overlays.adds.is_empty() || restricted.contains(Operations::MODIFY) {
        return Ok(None);
    }
    let view = execution.view();
    let Location::Entry(id) = execution.place_of(&entry.dn)? else {
        return Ok(None);
    };
    let record = checks::record_of(view, id)?;
    if record.is_glue() || !execution.disclosure().discloses_entry(id)? {
        return Ok(None);
    }
    let check = WriteCheck::on_entry(execution.requester(), entry).within(view);
    if !check.permits(Target::Entry, execution.needed_on_entry(Privileges::ADD)) {
        return Ok(None);
    }
    for overlay in &overlays.adds {
        if let Some(changes) = overlay.instead_of_add(execution, &record, entry)? {
            return Ok(Some(changes));
        }
    }
    Ok(None)
}

/// Shows the entry to overlays before the schema check, as in slapd.
fn ask_overlays(
    execution: &mut Execution<'_, '_>,
    entry: &mut Entry,
    named: &[AttributeDescription],
    modifications: &[Modification],
) -> Result<(), OperationError> {
    let overlays = overlays_of(execution.context);
    if overlays.content.is_empty() && overlays.outcomes.is_empty() {
        return Ok(());
    }
    require_rights(execution, entry, named, modifications)?;
    for overlay in &overlays.content {
        overlay.before_add(execution, entry)?;
    }
    execution.check_computed()?;
    checks::check_outcome(
        execution,
        Outcome {
            name: &entry.dn,
            change: OutcomeChange::Add(entry),
            state: entry,
        },
    )
}

/// The answers of overlays depend on values that the client may not see, so overlays are asked only about permitted
/// entries. A client without the rights is refused in the same way as without overlays.
fn require_rights(
    execution: &Execution<'_, '_>,
    entry: &Entry,
    named: &[AttributeDescription],
    modifications: &[Modification],
) -> Result<(), OperationError> {
    if execution.subject().is_root {
        return Ok(());
    }
    // The rules see the entry as it would be stored without the overlays.
    let mut draft = entry.clone();
    let completed = complete(execution, &mut draft, named);
    let view = execution.view();
    if Place::find(execution, view, &draft.dn)?.is_granted(execution, view)
        && check_rights(execution, &draft, modifications).is_ok()
    {
        return Ok(());
    }
    completed?;
    place(execution, &mut draft, modifications)?;
    Err(AddRefusal::NoAccess.into())
}

fn apply(execution: &mut Execution<'_, '_>, entry: Entry) -> Result<Success, OperationError> {
    let schema = execution.schema();
    let dn: Box<str> = entry.dn.pretty().into();
    execution.note_next_effect();
    let attributes = entry
        .attributes
        .into_iter()
        .map(|attribute| (schema.description_text(&attribute.description).into(), attribute.values))
        .collect();
    let id = apply_own(
        execution,
        ChangeKind::Add,
        Effect::Add { dn, attributes },
        Before::default(),
    )?;
    if execution.context.settings.multi_provider {
        adoption::revise_adopted(execution, id)?;
    }
    Ok(Success {
        post_read: read_entry::post_read(execution, id)?,
        ..Success::default()
    })
}

/// The superior of a new entry.
enum Superior<'t> {
    /// The root of the DIT, which is no entry.
    Root,
    Entry(Record<'t>),
    /// There is none; with the deepest existing entry above.
    Missing(Ancestor),
}

/// The place of a new entry.
struct Place<'t> {
    superior: Superior<'t>,
    /// The existing entry of this name, unless it is a referral that the subject may not know about.
    occupant: Option<EntryId>,
    is_occupied: bool,
}

impl<'t> Place<'t> {
    fn find(execution: &Execution<'_, '_>, view: View<'t>, dn: &Dn) -> Result<Self, OperationError> {
        let context = execution.context;
        let location = view.locate(dn)?;
        // The entry takes the place of glue.
        let is_glue = match location {
            Location::Entry(id) => context.hides_glue() && view.record(id)?.is_some_and(|record| record.is_glue()),
            Location::Missing { .. } => false,
        };
        let is_occupied = !is_glue && matches!(location, Location::Entry(_));
        let (occupant, ancestor) = match execution.seen(dn, location)? {
            Location::Entry(id) if is_glue => (None, execution.disclosure().above(id, dn.depth())?),
            Location::Missing { ancestor } => (None, ancestor),
            Location::Entry(id) => (Some(id), execution.disclosure().above(id, dn.depth())?),
        };
        // The root entry of a database of the empty suffix need not exist.
        let is_below_absent_root = ancestor.is_none() && dn.depth() == 1 && context.is_suffix(&Dn::root());
        let superior = match ancestor {
            _ if is_below_absent_root || context.is_suffix(dn) => Superior::Root,
            Some((id, depth)) if depth + 1 == dn.depth() => Superior::Entry(checks::record_of(view, id)?),
            _ => Superior::Missing(ancestor),
        };
        Ok(Self {
            superior,
            occupant,
            is_occupied,
        })
    }

    /// Whether the access rules allow an entry here; never without a superior.
    fn is_granted(&self, execution: &Execution<'_, '_>, view: View<'_>) -> bool {
        let requester = execution.requester();
        match &self.superior {
            Superior::Root => grants_on_root(execution, Privileges::ADD),
            Superior::Entry(record) => {
                WriteCheck::on_record(requester, record, view).permits(Target::Children, Privileges::ADD)
            }
            Superior::Missing(_) => false,
        }
    }
}

/// Finds the entry's place: it must be free, its superior must exist and may have subordinates, and the access rules
/// must grant it.
fn place(
    execution: &Execution<'_, '_>,
    entry: &mut Entry,
    modifications: &[Modification],
) -> Result<(), OperationError> {
    let requester = execution.requester();
    let view = execution.view();
    if let Some(filter) = execution.controls.assertion() {
        let check = WriteCheck::on_entry(requester, entry).within(view);
        assertion::check_assertion(requester.configuration, &check, entry, filter)?;
    }
    let place = Place::find(execution, view, &entry.dn)?;
    // Otherwise only a client that may add an entry there learns that one exists.
    if let Some(id) = place.occupant
        && execution.disclosure().discloses_entry(id)?
    {
        return Err(AddRefusal::Exists.into());
    }
    if let Superior::Missing(ancestor) = place.superior {
        return Err(match ancestor {
            None => OperationError::no_such_object(String::new()),
            Some(_) => execution.missing(&entry.dn, ancestor),
        });
    }
    require(place.is_granted(execution, view), AddRefusal::NoAccessToParent)?;
    if let Superior::Entry(record) = &place.superior {
        let name = view.dn(record.id)?;
        check_superior(execution, record, &entry.dn, &name)?;
        entry.dn = entry.dn.with_new_superior(&name).unwrap_or_default();
    }
    check_rights(execution, entry, modifications)?;
    if place.is_occupied {
        return Err(AddRefusal::Exists.into());
    }
    checks::refuse_used_uuid(execution, modifications, None)
}

/// Checks the rights on the new entry itself.
fn check_rights(
    execution: &Execution<'_, '_>,
    entry: &Entry,
    modifications: &[Modification],
) -> Result<(), OperationError> {
    let requester = execution.requester();
    let check = WriteCheck::on_entry(requester, entry).within(execution.view());
    require(
        check.permits(Target::Entry, execution.needed_on_entry(Privileges::ADD)),
        AddRefusal::NoAccessToEntry,
    )?;
    let attributes_granted = !requester.context.settings.add_content_acl
        || modifications
            .iter()
            .all(|modification| is_granted(&check, modification));
    require(attributes_granted, AddRefusal::NoAccessToAttribute)
}

fn check_superior(
    execution: &Execution<'_, '_>,
    record: &Record<'_>,
    dn: &Dn,
    name: &Dn,
) -> Result<(), OperationError> {
    if record.is_subentry() {
        return Err(AddRefusal::ParentIsSubentry.into());
    }
    if record.is_alias() {
        return Err(AddRefusal::ParentIsAlias.into());
    }
    if record.is_referral() {
        return Err(execution.missing(dn, Some((record.id, name.depth()))));
    }
    Ok(())
}
