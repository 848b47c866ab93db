//! Add (RFC 4511 §4.7).

use std::collections::HashMap;

use ironbark_config::{Operations, access::Privileges};
use ironbark_ldap_proto::AddRequest;
use ironbark_model::{Attribute, AttributeDescription, Dn, Entry, Schema, schema::entry_check::CheckedAttribute};
use ironbark_store::{ChangeKind, Effect, EntryId, Location, Record, View, change::RequestedChange};

use super::{
    entry_rules,
    modify::{self, is_granted},
    read_entry,
    write_checks::{self, grants_on_root, require},
};
use crate::{
    OperationError,
    access::{Target, WriteCheck, assertion, disclosure::Ancestor},
    backend::written::Success,
    overlay::{Before, Execution, Outcome, OutcomeChange},
    refusal::{AddRefusal, Failure},
    request::modification::{self, Modification, ModificationKind, Reading, normal_form},
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
    let overlays = execution.context.overlays();
    let restricted = execution.context.settings.restrict.operations;
    if overlays.adds.is_empty() || restricted.contains(Operations::MODIFY) {
        return Ok(None);
    }
    let view = execution.view();
    let Location::Entry(id) = execution.place_of(&entry.dn)? else {
        return Ok(None);
    };
    let record = write_checks::record_of(view, id)?;
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
    let overlays = execution.context.overlays();
    if overlays.content.is_empty() && overlays.outcomes.is_empty() {
        return Ok(());
    }
    require_rights(execution, entry, named, modifications)?;
    for overlay in &overlays.content {
        overlay.before_add(execution, entry)?;
    }
    execution.check_computed()?;
    execution.check_outcome(Outcome {
        name: &entry.dn,
        change: OutcomeChange::Add(entry),
        state: entry,
    })
}

/// Checks an entry against the schema and adds the server's own attributes. These are added even if the check fails.
fn complete(
    execution: &Execution<'_, '_>,
    entry: &mut Entry,
    named: &[AttributeDescription],
) -> Result<(), OperationError> {
    let checked = add_structural_class(execution, entry);
    put_last(entry, named);
    add_operational(execution, entry)?;
    checked
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
    let id = execution.apply_own(ChangeKind::Add, Effect::Add { dn, attributes }, Before::default())?;
    if execution.context.settings.multi_provider {
        super::adoption::revise_adopted(execution, id)?;
    }
    Ok(Success {
        post_read: read_entry::post_read(execution, id)?,
        ..Success::default()
    })
}

/// A new entry as the log records the request for it.
pub(super) fn requested(schema: &Schema, entry: &Entry) -> RequestedChange {
    let attributes = entry.attributes.iter().map(|attribute| {
        let name = schema.description_text(&attribute.description);
        (name.into(), attribute.values.clone())
    });
    RequestedChange::Add {
        dn: entry.dn.pretty().into(),
        attributes: attributes.collect(),
    }
}

/// The entry as requested. Values of an attribute that is named more than once are joined.
pub(super) fn entry_of(dn: Dn, modifications: &[Modification]) -> Entry {
    let mut entry = Entry::new(dn);
    let mut places: HashMap<&AttributeDescription, usize> = HashMap::new();
    for modification in modifications {
        let place = *places
            .entry(&modification.description)
            .or_insert(entry.attributes.len());
        match entry.attributes.get_mut(place) {
            Some(attribute) => attribute.values.extend_from_slice(&modification.values),
            None => entry.attributes.push(Attribute {
                description: modification.description.clone(),
                values: modification.values.clone(),
            }),
        }
    }
    entry
}

/// slapd merges repeated attributes first and refuses them after its other checks.
pub(super) fn refuse_repetition(schema: &Schema, modifications: &[Modification]) -> Result<(), AddRefusal> {
    let mut seen: Vec<&AttributeDescription> = modifications
        .iter()
        .map(|modification| &modification.description)
        .collect();
    seen.sort_unstable();
    let repeated = seen.windows(2).find_map(|pair| match pair {
        [first, second] if first == second => Some(*first),
        _ => None,
    });
    match repeated {
        None => Ok(()),
        Some(description) => Err(AddRefusal::RepeatedAttribute {
            attribute: schema.description_text(description),
        }),
    }
}

/// Adds values of the RDN that the request leaves out (RFC 4511 §4.7). Returns the attributes that this adds. A
/// single-valued attribute keeps its value; the check of the schema then refuses the entry.
fn add_naming_values(schema: &Schema, entry: &mut Entry) -> Result<Vec<AttributeDescription>, OperationError> {
    let mut added = Vec::new();
    entry_rules::check_naming_types(schema, &entry.dn)?;
    for (description, value) in entry.dn.leaf_assertions(schema) {
        let attribute_type = schema.attribute_type(description.attribute_type);
        let normal = normal_form(schema, &description, &value);
        match entry.attribute_mut(&description) {
            None => {
                added.push(description.clone());
                entry.attributes.push(Attribute {
                    description,
                    values: vec![value],
                });
            }
            Some(attribute) => {
                let is_there = has_value(schema, attribute, &normal);
                if !is_there && !attribute_type.single_value {
                    attribute.values.push(value);
                }
            }
        }
    }
    Ok(added)
}

fn has_value(schema: &Schema, attribute: &Attribute, normal: &[u8]) -> bool {
    let mut values = attribute.values.iter();
    values.any(|known| normal_form(schema, &attribute.description, known) == normal)
}

/// Gives an entry the attributes of its RDN that it lacks as a whole (RFC 4511 §4.7).
pub(super) fn name(schema: &Schema, entry: &mut Entry) {
    for (description, value) in entry.dn.leaf_assertions(schema) {
        if entry.attribute(&description).is_none() {
            let values = vec![value];
            entry.attributes.push(Attribute { description, values });
        }
    }
}

/// slapd adds the structural class to an entry before the attributes that only the name adds.
fn put_last(entry: &mut Entry, named: &[AttributeDescription]) {
    for description in named {
        let attribute = entry.remove_attribute(description);
        entry.attributes.extend(attribute);
    }
}

/// Checks the entry against the schema and adds its structural class.
fn add_structural_class(execution: &Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
    let schema = execution.schema();
    let known = &execution.configuration.well_known;
    let attributes: Vec<CheckedAttribute<'_>> = entry
        .attributes
        .iter()
        .map(|attribute| CheckedAttribute {
            description: &attribute.description,
            value_count: attribute.values.len(),
        })
        .collect();
    let classes = entry
        .attribute(&known.object_class)
        .map_or(&[][..], |attribute| &attribute.values);
    let checked = entry_rules::Checked {
        name: &entry.dn,
        classes,
        attributes: &attributes,
        former: entry_rules::Former::Nothing,
        relax: execution.is_relaxed(),
        may_be_dynamic: execution.context.overlays().keeps_dynamic_entries(),
    };
    let holds = |description: &AttributeDescription, normal: &[u8]| {
        let attribute = entry.attribute(description);
        Ok(attribute.is_some_and(|attribute| has_value(schema, attribute, normal)))
    };
    let structural = entry_rules::check(schema, &checked, &holds)?;
    let name = schema.object_class(structural).name().as_bytes().to_vec();
    add_if_absent(entry, &known.structural_object_class, name);
    Ok(())
}

/// Adds the server's own attributes to a new entry, except those that a manager has set under relaxed rules.
fn add_operational(execution: &Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
    if !execution.context.settings.last_modified {
        return Ok(());
    }
    let known = &execution.configuration.well_known;
    if entry.attribute(&known.entry_uuid).is_none() {
        let uuid = execution.directory.randomness().uuid_v4().map_err(|error| {
            tracing::error!(target: "any", "making an entryUUID: {error}");
            Failure::Internal
        })?;
        add_if_absent(entry, &known.entry_uuid, uuid.to_string().into_bytes());
    }
    let author = write_checks::author(execution);
    let stamp = &execution.stamp;
    add_if_absent(entry, &known.creators_name, author.into());
    add_if_absent(entry, &known.create_timestamp, stamp.time.as_str().into());
    add_if_absent(entry, &known.entry_csn, stamp.csn.as_str().into());
    add_if_absent(entry, &known.modifiers_name, author.into());
    add_if_absent(entry, &known.modify_timestamp, stamp.time.as_str().into());
    Ok(())
}

fn add_if_absent(entry: &mut Entry, description: &AttributeDescription, value: Vec<u8>) {
    if entry.attribute(description).is_none() {
        entry.attributes.push(Attribute {
            description: description.clone(),
            values: vec![value],
        });
    }
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
            Some((id, depth)) if depth + 1 == dn.depth() => Superior::Entry(write_checks::record_of(view, id)?),
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
    write_checks::refuse_used_uuid(execution, modifications, None)
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
