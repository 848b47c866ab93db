//! `logold`: what an entry was before a change goes into the record of the change, if a filter matches it.

use std::{collections::HashSet, sync::Arc};

use ironbark_config::SettingError;
use ironbark_directory::{
    OperationError,
    overlay::{AppliedEffect, EffectHooks, Execution},
};
use ironbark_model::{
    Attribute, AttributeDescription, CompiledFilter, Dn, Entry, Filter, Schema, Truth, entry::EntrySource,
};
use ironbark_store::{
    Effect, Location, RecordedEffect, ValueChange,
    change::{Gone, RequestedChange, TextAttribute},
};

use super::settings::AccesslogConfig;

/// Nesting of a filter.
const MAX_DEPTH: usize = 64;

/// The hook in the transaction.
pub(super) struct Former {
    filter: CompiledFilter,
    /// `logoldattr`.
    always: Vec<AttributeDescription>,
    schema: Arc<Schema>,
}

impl Former {
    /// `None`: nothing former is logged.
    ///
    /// # Errors
    /// A setting names something that the schema lacks.
    pub(super) fn of(settings: &AccesslogConfig, schema: &Arc<Schema>) -> Result<Option<Self>, SettingError> {
        let Some(text) = &settings.old else { return Ok(None) };
        let filter = Filter::parse(text.as_bytes(), MAX_DEPTH).map_err(|error| format!("logold: {error}"))?;
        let attribute = |name: &String| {
            let description = schema.attribute_description(name.as_bytes());
            description.map_err(|error| SettingError::from(format!("logoldattr {name}: {error}")))
        };
        let mut compiled = CompiledFilter::default();
        compiled.compile(schema, &filter);
        Ok(Some(Self {
            filter: compiled,
            always: settings
                .old_attributes
                .iter()
                .map(attribute)
                .collect::<Result<_, _>>()?,
            schema: Arc::clone(schema),
        }))
    }

    /// What is logged of an entry of cn=config as it was before an effect.
    pub(super) fn of_tree(
        &self,
        entry: &Entry,
        recorded: &RecordedEffect,
        requested: &RequestedChange,
    ) -> Vec<TextAttribute> {
        if !self.matches(entry) {
            return Vec::new();
        }
        // As in slapd: what a modify names is logged, also if it stays as it is.
        let touched: Vec<&str> = match (&recorded.effect, requested) {
            (_, RequestedChange::Modify { modifications, .. }) => {
                let names = modifications.iter().map(|change| &*change.attribute);
                names.collect()
            }
            (Effect::Modify { changes, .. }, _) => changes.iter().map(ValueChange::attribute).collect(),
            _ => Vec::new(),
        };
        if let Gone::Entry(attributes) = &recorded.before.gone {
            return attributes.clone();
        }
        let is_wanted = |held: &&Attribute| {
            let name = self.schema.description_text(&held.description);
            self.always.contains(&held.description) || touched.contains(&name.as_str())
        };
        let wanted = entry.attributes.iter().filter(is_wanted);
        wanted.map(|held| self.text(held)).collect()
    }

    fn matches(&self, entry: &Entry) -> bool {
        let source = EntrySource::new(&self.schema, &self.filter, entry);
        self.filter.evaluate(&self.schema, &source, &mut Vec::new()) == Truth::True
    }

    /// A deleted entry.
    fn entry(&self, dn: &str, attributes: &[TextAttribute]) -> Entry {
        let attribute = |(name, values): &TextAttribute| {
            let description = self.schema.attribute_description(name.as_bytes()).ok()?;
            let values = values.clone();
            Some(Attribute { description, values })
        };
        Entry {
            dn: Dn::parse(&self.schema, dn.as_bytes()).unwrap_or_default(),
            attributes: attributes.iter().filter_map(attribute).collect(),
        }
    }

    fn text(&self, attribute: &Attribute) -> TextAttribute {
        let name = self.schema.description_text(&attribute.description);
        (name.into(), attribute.values.clone())
    }

    /// The entry as it was before an effect, and what of it is logged. Overlays may have changed the entry since.
    fn former(&self, execution: &Execution<'_, '_>, number: usize) -> Result<Vec<TextAttribute>, OperationError> {
        let effects = execution.record().effects.get(number..).unwrap_or_default();
        let Some(RecordedEffect { effect, before, .. }) = effects.first() else {
            return Ok(Vec::new());
        };
        let (dn, is_rename) = match effect {
            Effect::Modify { dn, .. } => (dn, false),
            Effect::Rename { new_dn, .. } => (new_dn, true),
            Effect::Add { .. } | Effect::Delete { .. } => return Ok(Vec::new()),
        };
        if is_rename && self.always.is_empty() {
            return Ok(Vec::new());
        }
        let name = Dn::parse(&self.schema, dn.as_bytes()).unwrap_or_default();
        let Location::Entry(id) = execution.view().locate(&name)? else {
            return Ok(Vec::new());
        };
        let mut entry = execution.entry(id)?;
        let is_known = before.entry_uuid != [0; 16];
        let later = effects.iter().skip(1);
        let of_entry = later.filter(|later| is_known && later.before.entry_uuid == before.entry_uuid);
        let mut touched = Vec::new();
        for recorded in effects.first().into_iter().chain(of_entry).rev() {
            let Some(changed) = self.undo_effect(&mut entry, recorded) else {
                return Ok(Vec::new());
            };
            touched = changed;
        }
        if !self.matches(&entry) {
            return Ok(Vec::new());
        }
        let wanted = entry
            .attributes
            .iter()
            .filter(|held| self.always.contains(&held.description) || touched.contains(&held.description));
        Ok(wanted.map(|held| self.text(held)).collect())
    }

    /// Undoes an effect. Returns the attributes that it had changed; `None`: the former values are not known.
    fn undo_effect(&self, entry: &mut Entry, recorded: &RecordedEffect) -> Option<Vec<AttributeDescription>> {
        let (Effect::Modify { changes, .. } | Effect::Rename { changes, .. }) = &recorded.effect else {
            return None;
        };
        let Gone::Values(gone) = &recorded.before.gone else {
            return None;
        };
        let mut touched = Vec::new();
        for (change, gone) in changes.iter().zip(gone).rev() {
            let Ok(description) = self.schema.attribute_description(change.attribute().as_bytes()) else {
                continue;
            };
            Self::undo(entry, &description, change, gone);
            touched.push(description);
        }
        Some(touched)
    }

    /// Undoes one change of an attribute.
    fn undo(entry: &mut Entry, description: &AttributeDescription, change: &ValueChange, gone: &[Vec<u8>]) {
        let at = entry
            .attributes
            .iter()
            .position(|held| held.description == *description);
        let mut values = at.map(|at| entry.attributes.remove(at).values).unwrap_or_default();
        match change {
            ValueChange::Add { values: added, .. } => {
                let added: HashSet<&Vec<u8>> = added.iter().collect();
                values.retain(|value| !added.contains(value));
            }
            ValueChange::Delete { .. } => {}
            ValueChange::Replace { .. } => values.clear(),
        }
        values.extend_from_slice(gone);
        if !values.is_empty() {
            let attribute = Attribute {
                description: description.clone(),
                values,
            };
            let place = at.unwrap_or(entry.attributes.len()).min(entry.attributes.len());
            entry.attributes.insert(place, attribute);
        }
    }
}

impl EffectHooks for Former {
    fn in_transaction(
        &self,
        execution: &mut Execution<'_, '_>,
        applied: AppliedEffect<'_>,
    ) -> Result<(), OperationError> {
        // Overlays that have acted before this one may have added effects.
        let effects = &execution.record().effects;
        let Some(number) = effects.iter().rposition(|recorded| recorded.effect == *applied.effect) else {
            return Ok(());
        };
        let Some(own) = effects.get(number).filter(|recorded| !recorded.marks.internal) else {
            return Ok(());
        };
        let dn: Box<str> = applied.effect.dn().into();
        let attributes = match &own.before.gone {
            Gone::Entry(attributes) if self.matches(&self.entry(&dn, attributes)) => attributes.clone(),
            Gone::Entry(_) => Vec::new(),
            Gone::Values(_) | Gone::Unknown => self.former(execution, number)?,
        };
        if !attributes.is_empty() {
            execution.note_former(dn, attributes);
        }
        Ok(())
    }
}
