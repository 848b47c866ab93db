//! Reading an entry as a provider has sent it: names and values as they are here.

use std::collections::{HashMap, HashSet};

use ironbark_model::{
    Attribute, AttributeDescription, Dn, Entry, Schema,
    schema::entry_check::{CheckedAttribute, structural_class_of},
};
use ironbark_store::{ContextVector, Csn};

use super::{
    incoming::ReplicatedEntry,
    logged::{self, LoggedChange, ReadLogged},
    mapping::{Asked, ReplicaMapping},
    place::Told,
    recent::Recent,
};
use crate::{
    Configuration, OperationError,
    backend::complete,
    edit::entry_rules,
    place::{Base, LOGGED_BASE, PLACE, uuid_text},
    recent::RECENT,
    refusal::ReplicaRefusal,
    request::modification::normal_form,
};

/// An entry of a provider, with names and values as they are here.
pub(super) struct ReadEntry {
    pub(super) dn: Dn,
    pub(super) uuid: [u8; 16],
    /// `None` only if the mapping allows that.
    pub(super) csn: Option<Csn>,
    /// Its place, if the provider tells it.
    pub(super) place: Option<Told>,
    /// Its recent changes, if the provider tells them, and values are merged.
    pub(super) recent: Option<ReadRecent>,
    /// In the provider's order, none twice.
    pub(super) attributes: Vec<ReadAttribute>,
}

/// The recent changes of an entry, with names and values as they are here.
pub(super) struct ReadRecent {
    /// What the provider has of the entry.
    pub(super) vector: ContextVector,
    /// The CSN of the entry's add, if that is one of the changes.
    pub(super) added: Option<Csn>,
    /// The others, with their CSNs, in the provider's order.
    pub(super) changes: Vec<(Csn, ReadLogged)>,
}

impl ReadRecent {
    /// What is known of an entry of this base.
    pub(super) fn of(base: &Base) -> Self {
        Self {
            vector: base.vector.clone(),
            added: base.added,
            changes: Vec::new(),
        }
    }

    /// What is in the entry, for the record of its add.
    pub(super) fn base(&self) -> Base {
        Base {
            added: self.added,
            vector: self.vector.clone(),
        }
    }

    /// Whether the provider has had a change of the entry.
    pub(super) fn has(&self, csn: Csn) -> bool {
        let mut told = self.changes.iter().map(|(told, _)| *told).chain(self.added);
        self.vector.covers(csn) || told.any(|told| told == csn)
    }
}

/// An attribute that the consumer has asked for. It has values, none twice.
#[derive(Clone)]
pub(super) struct ReadAttribute {
    pub(super) description: AttributeDescription,
    pub(super) values: Vec<Vec<u8>>,
    /// Normal forms of the values.
    pub(super) normals: Vec<Vec<u8>>,
}

impl ReadEntry {
    /// Its UUID as text, its CSN, and the entry.
    pub(super) fn into_entry(self) -> (String, Option<Csn>, Entry) {
        let attributes = self.attributes.into_iter().map(|held| Attribute {
            description: held.description,
            values: held.values,
        });
        let entry = Entry {
            dn: self.dn,
            attributes: attributes.collect(),
        };
        (uuid_text(self.uuid), self.csn, entry)
    }
}

/// Reads an entry.
///
/// # Errors
/// `invalidDNSyntax`, `undefinedAttributeType`; `unwillingToPerform`: it is out of scope, or has no CSN; with
/// `schemachecking` also what an add would be refused with.
pub(super) fn read(
    configuration: &Configuration,
    entry: &ReplicatedEntry,
    mapping: &ReplicaMapping,
) -> Result<ReadEntry, OperationError> {
    let schema = &*configuration.schema;
    let known = &configuration.well_known;
    let name = || String::from(&*entry.dn);
    let remote = Dn::parse(schema, entry.dn.as_bytes())
        .ok()
        .filter(|dn| !dn.has_unknown_leaf_type(schema))
        .ok_or_else(|| ReplicaRefusal::InvalidName { name: name() })?;
    let dn = mapping
        .local_name(&remote)
        .ok_or_else(|| ReplicaRefusal::OutOfScope { name: name() })?;
    let mut attributes = attributes(configuration, entry, mapping)?;
    let find = |description: &AttributeDescription| {
        let mut all = attributes.iter();
        all.find(|attribute| attribute.description == *description)
    };
    let csn = find(&known.entry_csn).and_then(|held| Csn::parse(held.values.first()?));
    if csn.is_none() && mapping.needs_csn {
        return Err(ReplicaRefusal::NoCsn { name: name() }.into());
    }
    match find(&known.entry_uuid) {
        Some(held) if held.normals.iter().any(|normal| *normal != entry.uuid) => {
            return Err(ReplicaRefusal::WrongUuid { name: name() }.into());
        }
        Some(_) => {}
        None => attributes.push(ReadAttribute {
            description: known.entry_uuid.clone(),
            values: vec![uuid_text(entry.uuid).into_bytes()],
            normals: vec![entry.uuid.to_vec()],
        }),
    }
    if mapping.own_csns {
        attributes.extend(structural_class(configuration, &attributes));
    }
    let recent = recent(configuration, entry, mapping)?;
    let read = ReadEntry {
        dn,
        uuid: entry.uuid,
        csn,
        place: place(entry, mapping),
        recent,
        attributes,
    };
    if mapping.schema_checking {
        check(configuration, &read)?;
    }
    Ok(read)
}

/// `structuralObjectClass`, which a server of another kind does not send. `None`: the classes have none.
fn structural_class(configuration: &Configuration, attributes: &[ReadAttribute]) -> Option<ReadAttribute> {
    let (schema, known) = (&*configuration.schema, &configuration.well_known);
    let mut all = attributes.iter();
    let classes = all.find(|attribute| attribute.description == known.object_class)?;
    let class = structural_name(schema, classes.values.iter().map(Vec::as_slice))?;
    let description = known.structural_object_class.clone();
    let normals = vec![normal_form(schema, &description, &class)];
    Some(ReadAttribute {
        description,
        values: vec![class],
        normals,
    })
}

/// The name of the structural class of these classes, if they have one.
pub(super) fn structural_name<'a>(schema: &Schema, classes: impl IntoIterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let number = structural_class_of(schema, classes).ok()?;
    Some(schema.object_class(number).name().as_bytes().to_vec())
}

/// Whether an attribute says something of the entry at its provider.
fn is_of_provider(name: &str) -> bool {
    [PLACE, RECENT, LOGGED_BASE]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// The values of an attribute that says something of the entry at its provider.
fn told<'a>(entry: &'a ReplicatedEntry, mapping: &ReplicaMapping, attribute: &str) -> Option<&'a [Vec<u8>]> {
    let mut attributes = entry.attributes.iter().filter(|_| mapping.multi_provider);
    let (_, values) = attributes.find(|(name, _)| name.eq_ignore_ascii_case(attribute))?;
    Some(values)
}

/// The place of the entry. Only where others write, names alone do not tell enough.
fn place(entry: &ReplicatedEntry, mapping: &ReplicaMapping) -> Option<Told> {
    Told::parse(told(entry, mapping, PLACE)?.first()?)
}

/// The recent changes of the entry. One that says nothing here, as its names are unknown, is left out: the entry as a
/// whole counts. Those of an entry that came to the provider as a whole follow in its log.
fn recent(
    configuration: &Configuration,
    entry: &ReplicatedEntry,
    mapping: &ReplicaMapping,
) -> Result<Option<ReadRecent>, OperationError> {
    if !mapping.merges_values {
        return Ok(None);
    }
    let invalid = || {
        let name = entry.dn.to_string();
        OperationError::from(ReplicaRefusal::InvalidRecent { name })
    };
    if let Some(values) = told(entry, mapping, LOGGED_BASE) {
        let base = values.first().and_then(|value| Base::parse(value));
        return Ok(Some(ReadRecent::of(&base.ok_or_else(invalid)?)));
    }
    let Some(values) = told(entry, mapping, RECENT) else {
        return Ok(None);
    };
    let Recent { vector, added, changes } = Recent::parse(values).ok_or_else(invalid)?;
    let is_its = |(_, change): &(Csn, LoggedChange)| change.uuid == Some(entry.uuid);
    let read = |(csn, change): (Csn, LoggedChange)| Some((csn, logged::read(configuration, &change, mapping).ok()?));
    Ok(Some(ReadRecent {
        vector,
        added,
        changes: changes.into_iter().filter(is_its).filter_map(read).collect(),
    }))
}

/// The attributes that are the provider's, without those that are computed here.
fn attributes(
    configuration: &Configuration,
    entry: &ReplicatedEntry,
    mapping: &ReplicaMapping,
) -> Result<Vec<ReadAttribute>, ReplicaRefusal> {
    let schema = &*configuration.schema;
    let known = &configuration.well_known;
    let asked = Asked::of(schema, &mapping.attributes);
    let mut read: Vec<ReadAttribute> = Vec::with_capacity(entry.attributes.len());
    let mut places: HashMap<AttributeDescription, (usize, HashSet<Vec<u8>>)> = HashMap::new();
    for (attribute, values) in entry.attributes.iter().filter(|(name, _)| !is_of_provider(name)) {
        let unknown = |reason: String| ReplicaRefusal::UnknownAttribute {
            name: (*entry.dn).into(),
            attribute: (**attribute).into(),
            reason,
        };
        let description = schema
            .attribute_description(attribute.as_bytes())
            .map_err(|error| unknown(error.to_string()))?;
        let is_own = description == known.context_csn || complete::follows_from_tree(configuration, &description);
        if values.is_empty() || is_own || !asked.includes(schema, known, &description) {
            continue;
        }
        if !schema.is_storable(&description) {
            return Err(unknown("it cannot be stored with these options".into()));
        }
        let (place, seen) = places.entry(description.clone()).or_insert_with(|| {
            read.push(ReadAttribute {
                description: description.clone(),
                values: Vec::with_capacity(values.len()),
                normals: Vec::with_capacity(values.len()),
            });
            (read.len() - 1, HashSet::new())
        });
        let Some(held) = read.get_mut(*place) else { continue };
        for value in values {
            let value = mapping.local_value(schema, &description, value);
            let normal = normal_form(schema, &description, &value);
            if seen.insert(normal.clone()) {
                held.values.push(value);
                held.normals.push(normal);
            }
        }
    }
    Ok(read)
}

/// Checks the entry as an add is checked. The error names the entry.
fn check(configuration: &Configuration, entry: &ReadEntry) -> Result<(), OperationError> {
    let schema = &*configuration.schema;
    let known = &configuration.well_known;
    for ReadAttribute {
        description, values, ..
    } in &entry.attributes
    {
        let validate = schema.attribute_type(description.attribute_type).syntax.validate;
        if values.iter().any(|value| validate(schema, value).is_err()) {
            let (name, attribute) = (entry.dn.pretty().to_owned(), schema.description_text(description));
            return Err(ReplicaRefusal::InvalidValue { name, attribute }.into());
        }
    }
    let find = |description: &AttributeDescription| {
        let mut all = entry.attributes.iter();
        all.find(|attribute| attribute.description == *description)
    };
    let attributes: Vec<CheckedAttribute<'_>> = entry
        .attributes
        .iter()
        .map(|attribute| CheckedAttribute {
            description: &attribute.description,
            value_count: attribute.values.len(),
        })
        .collect();
    let structural = find(&known.structural_object_class).and_then(|held| held.values.first());
    let checked = entry_rules::Checked {
        name: &entry.dn,
        classes: find(&known.object_class).map_or(&[][..], |held| &held.values),
        attributes: &attributes,
        former: structural.map_or(entry_rules::Former::Nothing, |class| {
            entry_rules::Former::Entry(Some(class))
        }),
        relax: false,
        may_be_dynamic: true,
    };
    let holds = |description: &AttributeDescription, normal: &[u8]| {
        Ok(find(description).is_some_and(|held| held.normals.iter().any(|held| held == normal)))
    };
    match entry_rules::check(schema, &checked, &holds) {
        Ok(_) => Ok(()),
        Err(error) => {
            let text = format!("\"{}\": {}", entry.dn.pretty(), error.diagnostic_message);
            Err(OperationError::new(error.result_code, text))
        }
    }
}
