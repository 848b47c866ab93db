//! The difference between a stored entry and the one that a provider has sent.

use std::collections::{HashMap, HashSet};

use ironbark_model::{Attribute, AttributeDescription, Dn, Schema};
use ironbark_store::{
    Record, RecordAttribute, ValueChange,
    change::{RequestedChange, RequestedKind, RequestedModification, TextAttribute},
};

use super::{
    mapping::{Asked, ReplicaMapping},
    read::{ReadAttribute, ReadEntry},
};
use crate::{
    Configuration, NamingContext, OperationError,
    edit::draft::stored_attribute,
    overlay::{Execution, overlays_of},
    request::modification::normal_form,
};

/// Decides which attributes of entries are the provider's.
pub(super) struct Provided<'w> {
    configuration: &'w Configuration,
    context: &'w NamingContext,
    asked: Asked,
    has_csn: bool,
}

impl<'w> Provided<'w> {
    pub(super) fn of(execution: &Execution<'w, '_>, mapping: &ReplicaMapping, entry: &ReadEntry) -> Self {
        Self {
            configuration: execution.configuration,
            context: execution.context,
            asked: Asked::of(execution.schema(), &mapping.attributes),
            has_csn: entry.csn.is_some(),
        }
    }

    /// Whether the provider decides on an attribute. Others stay as they are: those that were not asked for, and those
    /// that an overlay makes here.
    fn includes(&self, description: &AttributeDescription) -> bool {
        let known = &self.configuration.well_known;
        (self.has_csn || *description != known.entry_csn)
            && !overlays_of(self.context).maintained.contains(description)
            && self.asked.includes(&self.configuration.schema, known, description)
    }

    /// The sent attributes that the provider decides on.
    fn sent<'a>(&self, entry: &'a ReadEntry) -> impl Iterator<Item = &'a ReadAttribute> {
        entry
            .attributes
            .iter()
            .filter(|attribute| self.includes(&attribute.description))
    }

    /// All attributes of a new entry.
    pub(super) fn whole(&self, entry: &ReadEntry) -> Vec<TextAttribute> {
        let schema = &*self.configuration.schema;
        let text = |description: &AttributeDescription| schema.description_text(description).into();
        self.sent(entry)
            .map(|attribute| (text(&attribute.description), attribute.values.clone()))
            .collect()
    }

    /// The changes that make the stored entry the one that was sent. What has not changed is not touched. A value that
    /// differs only in its spelling is replaced.
    ///
    /// # Errors
    /// The storage failed.
    pub(super) fn changes(&self, entry: &ReadEntry, record: &Record<'_>) -> Result<Vec<ValueChange>, OperationError> {
        let schema = &*self.configuration.schema;
        let mut changes = Vec::new();
        for held in record.attributes() {
            let description = held.description();
            let is_sent = self.sent(entry).any(|sent| sent.description == *description);
            if !is_sent && self.includes(description) {
                changes.push(ValueChange::Replace {
                    attribute: schema.description_text(description).into(),
                    values: Vec::new(),
                });
            }
        }
        for sent in self.sent(entry) {
            let attribute: Box<str> = schema.description_text(&sent.description).into();
            match record.values(&sent.description) {
                None => changes.push(ValueChange::Add {
                    attribute,
                    values: sent.values.clone(),
                }),
                Some(held) => of_values(schema, &attribute, &held, sent, &mut changes)?,
            }
        }
        Ok(changes)
    }
}

fn of_values(
    schema: &Schema,
    attribute: &str,
    held: &RecordAttribute<'_>,
    sent: &ReadAttribute,
    changes: &mut Vec<ValueChange>,
) -> Result<(), OperationError> {
    let wanted: HashMap<&[u8], &[u8]> = sent
        .normals
        .iter()
        .map(Vec::as_slice)
        .zip(sent.values.iter().map(Vec::as_slice))
        .collect();
    let (mut kept, mut gone) = (HashSet::new(), Vec::new());
    for value in held.to_attribute()?.values {
        let normal = normal_form(schema, &sent.description, &value);
        if wanted.get(normal.as_slice()).is_some_and(|wanted| *wanted == value) {
            kept.insert(normal);
        } else {
            gone.push(value);
        }
    }
    if kept.is_empty() {
        changes.push(ValueChange::Replace {
            attribute: attribute.into(),
            values: sent.values.clone(),
        });
        return Ok(());
    }
    let pairs = sent.normals.iter().zip(&sent.values);
    let new: Vec<_> = pairs
        .filter(|(normal, _)| !kept.contains(*normal))
        .map(|(_, value)| value.clone())
        .collect();
    let attribute = || attribute.into();
    if !gone.is_empty() {
        changes.push(ValueChange::Delete {
            attribute: attribute(),
            values: gone,
        });
    }
    if !new.is_empty() {
        changes.push(ValueChange::Add {
            attribute: attribute(),
            values: new,
        });
    }
    Ok(())
}

/// The watched attributes that changes are about, as they were. A big set is included only if it goes as a whole.
///
/// # Errors
/// The storage failed.
pub(super) fn watched_before(
    execution: &Execution<'_, '_>,
    record: &Record<'_>,
    changes: &[ValueChange],
) -> Result<Vec<Attribute>, OperationError> {
    let mut before = Vec::new();
    for description in &overlays_of(execution.context).watched {
        let name = execution.name_of(description);
        let mut about = changes.iter().filter(|change| change.attribute() == name).peekable();
        let is_big = record.values(description).is_some_and(|held| held.is_external());
        let is_wanted =
            about.peek().is_some() && (!is_big || about.any(|change| matches!(change, ValueChange::Replace { .. })));
        if is_wanted && let Some(attribute) = stored_attribute(record, description)? {
            before.push(attribute);
        }
    }
    Ok(before)
}

/// Changes of an entry, as the log of requests has them.
pub(super) fn requested(dn: &Dn, changes: &[ValueChange]) -> RequestedChange {
    let modifications = changes.iter().map(|change| {
        let (kind, attribute, values) = match change {
            ValueChange::Add { attribute, values } => (RequestedKind::Add, attribute, values),
            ValueChange::Delete { attribute, values } => (RequestedKind::Delete, attribute, values),
            ValueChange::Replace { attribute, values } => (RequestedKind::Replace, attribute, values),
        };
        RequestedModification {
            kind,
            attribute: attribute.clone(),
            values: values.clone(),
        }
    });
    RequestedChange::Modify {
        dn: dn.pretty().into(),
        modifications: modifications.collect(),
    }
}
