//! Writes a visible entry as a search result entry into the output buffer.

use std::{cell::Cell, ops::ControlFlow};

use ironbark_ldap_proto::{
    EncodeControl, MessageId, SearchEntryWriter,
    controls::{Control, SyncState},
};
use ironbark_model::{Attribute, AttributeDescription, Budget, CompiledFilter, Dn, Schema};
use ironbark_store::{AnswerCache, Derived, DerivedAttribute, Purpose, Record, RecordAttribute, Wanted};
use smallvec::SmallVec;

use super::{
    Selection, additions,
    arranging::Arranging,
    run::{Origins, SearchRun},
    sync::{Noticing, Sending, Sync},
};
use crate::{
    Configuration, OperationError,
    access::{Readable, Source, VisibleEntry},
    backend::tree_attributes::TreeAttributes,
    frontend::root_dse,
    place::PLACE,
    recent::RECENT,
};

/// The tools for encoding an entry.
pub(super) struct EncodeWith<'e> {
    /// Attributes of the same database that were encoded before.
    pub(super) answers: &'e mut AnswerCache,
    pub(super) work: &'e mut Vec<u8>,
    /// The budget of steps; `None`: unlimited.
    pub(super) budget: Option<&'e Budget>,
}

/// Appends a search result entry, unless entries are only counted. It holds the attributes and values that the
/// selection, the access rules and the matched-values control allow.
pub(super) fn entry(
    run: &SearchRun,
    entry: &VisibleEntry<'_>,
    with: EncodeWith<'_>,
    out: &mut Vec<u8>,
) -> Result<(), OperationError> {
    let EncodeWith { answers, work, budget } = with;
    let id = MessageId::new(run.origin.message_id).unwrap_or_default();
    let extras = run.extras.as_deref();
    if run.counts_only() {
        return Ok(());
    }
    let dereferenced = match extras {
        Some(extras) if !extras.dereference.is_empty() => {
            super::dereference::response(run, entry, &extras.dereference)?
        }
        _ => None,
    };
    let matched_values = extras.and_then(|extras| extras.matched_values.as_ref());
    let arranging = run.arranging(entry);
    if let Some(end) = arranging.as_ref().and_then(Arranging::ends_with) {
        return Err(end);
    }
    let mut writer = SearchEntryWriter::begin(out, id, entry.dn().as_bytes());
    let mut body = Body {
        schema: &run.configuration.schema,
        tree: &run.configuration.tree_attributes,
        types_only: run.options.types_only,
        origins: run.options.origins,
        matched_values,
        answers,
        work,
        budget,
        arranging,
    };
    body.write(entry, &run.selection, &mut writer)?;
    if let Some(sending) = run.sync().and_then(Sync::sending) {
        if let Some(place) = &sending.place {
            writer.attribute(PLACE.as_bytes(), [place.as_bytes()]);
        }
        if !sending.recent.is_empty() {
            writer.attribute(RECENT.as_bytes(), sending.recent.iter().map(Vec::as_slice));
        }
    }
    if extras.is_none() {
        writer.finish(&[]);
        return Ok(());
    }
    let added = match extras.and_then(|extras| extras.asked_of_entries) {
        Some(asked) => additions::controls_for(run, entry, asked)?,
        None => additions::Controls::new(),
    };
    let sending = run.sync().and_then(Sync::sending);
    let sending = sending.or_else(|| run.tree_sync()?.sending());
    let state = sending.map(state_control);
    let change = run.sync().and_then(Sync::notices).and_then(Noticing::control);
    let mut controls: SmallVec<[&dyn EncodeControl; 2]> = SmallVec::new();
    if let Some(control) = &dereferenced {
        controls.push(control);
    }
    controls.extend(added.iter().map(|control| &**control));
    controls.extend(state.as_ref().map(|state| state as &dyn EncodeControl));
    controls.extend(change.map(|change| change as &dyn EncodeControl));
    writer.finish(&controls);
    Ok(())
}

/// Appends an entry that has left the content of a synchronization: its name alone.
pub(super) fn departed(run: &SearchRun, entry: &VisibleEntry<'_>, sending: &Sending, out: &mut Vec<u8>) {
    let id = MessageId::new(run.origin.message_id).unwrap_or_default();
    SearchEntryWriter::begin(out, id, entry.dn().as_bytes()).finish(&[&state_control(sending)]);
}

/// Appends an entry that has left the content of a synchronization by its UUID, under the name of another one.
pub(super) fn departed_as(id: MessageId, name: &Dn, sending: &Sending, out: &mut Vec<u8>) {
    SearchEntryWriter::begin(out, id, name.pretty().as_bytes()).finish(&[&state_control(sending)]);
}

/// The Sync State control of an entry.
pub(super) fn state_control(sending: &Sending) -> Control<SyncState<'_>> {
    Control::optional(SyncState {
        state: sending.state,
        uuid: sending.uuid,
        cookie: sending.cookie.as_deref().map(str::as_bytes),
    })
}

/// Appends the entry without a message around it: the value of the read-entry controls (RFC 4527).
pub(crate) fn entry_value(
    configuration: &Configuration,
    entry: &VisibleEntry<'_>,
    selection: &Selection,
    out: &mut Vec<u8>,
) -> Result<(), OperationError> {
    let (mut answers, mut work) = (AnswerCache::default(), Vec::new());
    let mut writer = SearchEntryWriter::begin_value(out, entry.dn().as_bytes());
    let mut body = Body {
        schema: &configuration.schema,
        tree: &configuration.tree_attributes,
        types_only: false,
        origins: Origins::Any,
        matched_values: None,
        answers: &mut answers,
        work: &mut work,
        budget: None,
        arranging: None,
    };
    body.write(entry, selection, &mut writer)?;
    writer.finish(&[]);
    Ok(())
}

struct Body<'a> {
    schema: &'a Schema,
    tree: &'a TreeAttributes,
    types_only: bool,
    origins: Origins,
    matched_values: Option<&'a CompiledFilter>,
    answers: &'a mut AnswerCache,
    work: &'a mut Vec<u8>,
    budget: Option<&'a Budget>,
    arranging: Option<Arranging<'a>>,
}

impl Body<'_> {
    fn write(
        &mut self,
        entry: &VisibleEntry<'_>,
        selection: &Selection,
        writer: &mut SearchEntryWriter<'_>,
    ) -> Result<(), OperationError> {
        if selection.is_empty() {
            return Ok(());
        }
        let derived = match entry.source() {
            _ if self.origins == Origins::Real => None,
            Source::Record(record, view) => view.derived().map(|derived| (record, derived)),
            Source::Memory(_) => None,
        };
        let Some((record, derived)) = derived else {
            if self.origins == Origins::Virtual {
                return Ok(());
            }
            return self.stored(entry, selection, &Derived::default(), writer);
        };
        let (schema, budget, tree) = (self.schema, self.budget, self.tree);
        let selects = |description: &AttributeDescription| selection.selects(schema, description, budget);
        let wanted = Wanted {
            purpose: Purpose::Show,
            new_name: None,
            attributes: &|description| !tree.shows(description) && selects(description),
            operational: &|description| selection.kinds().operational || selection.lists(schema, description, budget),
        };
        let mut found = Derived::default();
        derived.derive(record, &wanted, &mut found)?;
        if self.origins == Origins::Any {
            self.stored(entry, selection, &found, writer)?;
        }
        tree.show(record, entry.dn(), selects, |description, name, value| {
            if !entry.may_read(description, Some(value)) {
            } else if self.types_only {
                writer.attribute_type(name);
            } else if self.shows_value(entry, description, value) {
                writer.attribute(name, [value]);
            }
        })?;
        self.derived(entry, record, &found, writer)
    }

    /// Writes the derived attributes that the entry does not hold, or the derived values of all.
    fn derived(
        &mut self,
        entry: &VisibleEntry<'_>,
        record: &Record<'_>,
        found: &Derived,
        writer: &mut SearchEntryWriter<'_>,
    ) -> Result<(), OperationError> {
        for derived in found.attributes() {
            let description = &derived.description;
            if self.origins == Origins::Virtual {
                self.write_arranged(entry, description, derived.values.clone(), writer);
            } else if record.values(description).is_none() {
                self.merged(entry, record, found, description, writer)?;
            }
        }
        Ok(())
    }

    /// Writes a derived attribute: its stored values, if they count, then the others.
    fn merged(
        &mut self,
        entry: &VisibleEntry<'_>,
        record: &Record<'_>,
        found: &Derived,
        description: &AttributeDescription,
        writer: &mut SearchEntryWriter<'_>,
    ) -> Result<(), OperationError> {
        self.write_arranged(entry, description, found.merged(record, description)?, writer);
        Ok(())
    }

    /// Writes values, as overlays arrange them.
    fn write_arranged(
        &mut self,
        entry: &VisibleEntry<'_>,
        description: &AttributeDescription,
        mut values: Vec<Vec<u8>>,
        writer: &mut SearchEntryWriter<'_>,
    ) {
        if let Some(arranging) = self.arranging.as_ref().filter(|one| one.covers(description)) {
            values = arranging.arrange(description, values);
        }
        let description = description.clone();
        if !values.is_empty() {
            self.memory_attribute(entry, &Attribute { description, values }, writer);
        }
    }

    /// Writes the attributes that the entry holds, with what is derived of them.
    fn stored(
        &mut self,
        entry: &VisibleEntry<'_>,
        selection: &Selection,
        derived: &Derived,
        writer: &mut SearchEntryWriter<'_>,
    ) -> Result<(), OperationError> {
        match entry.source() {
            Source::Record(record, _) => {
                let is_held = |one: &DerivedAttribute| record.values(&one.description).is_some();
                let is_plain = self.matched_values.is_none() && !self.types_only && self.arranging.is_none();
                if is_plain && (derived.is_empty() || !derived.attributes().iter().any(is_held)) {
                    return self.whole_attributes(entry, record, selection, writer);
                }
                for attribute in record.attributes() {
                    let description = attribute.description();
                    if !selection.selects(self.schema, description, self.budget) {
                        continue;
                    }
                    if derived.get(description).is_some() {
                        self.merged(entry, record, derived, description, writer)?;
                    } else {
                        self.record_attribute(entry, &attribute, writer)?;
                    }
                }
            }
            Source::Memory(memory) => {
                for attribute in &memory.attributes {
                    let description = &attribute.description;
                    let is_selected = selection.selects(self.schema, description, self.budget)
                        && (!memory.dn.is_root()
                            || !root_dse::is_sent_by_name_only(self.schema, attribute)
                            || selection.lists(self.schema, description, self.budget));
                    if is_selected {
                        self.memory_attribute(entry, attribute, writer);
                    }
                }
            }
        }
        Ok(())
    }

    /// Copies attributes from the record. They are written value by value only if access rules distinguish values.
    fn whole_attributes(
        &mut self,
        entry: &VisibleEntry<'_>,
        record: &Record<'_>,
        selection: &Selection,
        writer: &mut SearchEntryWriter<'_>,
    ) -> Result<(), OperationError> {
        let schema = self.schema;
        let budget = self.budget;
        let lists = |description: &AttributeDescription| selection.lists(schema, description, budget);
        if entry.is_unrestricted() {
            record.append_attributes(writer.attributes(), self.answers, selection.kinds(), lists)?;
            return Ok(());
        }
        let tells_values_apart = Cell::new(false);
        let kind = entry.kind();
        let known = |number| kind.and_then(|kind| kind.shows(number));
        let shows = |number, description: &AttributeDescription| match entry.readable(description) {
            Readable::Alike(is_shown) => {
                if let Some(kind) = kind {
                    kind.remember_shown(number, is_shown);
                }
                is_shown
            }
            Readable::Here(is_shown) => is_shown,
            Readable::ByValue => {
                tells_values_apart.set(true);
                false
            }
        };
        let start = writer.attributes().len();
        record.append_some_attributes(
            writer.attributes(),
            self.answers,
            selection.kinds(),
            lists,
            known,
            shows,
        )?;
        if tells_values_apart.get() {
            // All attributes are written again, so that they keep their order.
            writer.attributes().truncate(start);
            for attribute in record.attributes() {
                if selection.selects(schema, attribute.description(), budget) {
                    self.record_attribute(entry, &attribute, writer)?;
                }
            }
        }
        Ok(())
    }

    fn record_attribute(
        &mut self,
        entry: &VisibleEntry<'_>,
        attribute: &RecordAttribute<'_>,
        writer: &mut SearchEntryWriter<'_>,
    ) -> Result<(), OperationError> {
        let description = attribute.description();
        let readable = entry.readable(description);
        if matches!(readable, Readable::Alike(false) | Readable::Here(false)) {
            return Ok(());
        }
        // An attribute without a readable value is omitted.
        if self.types_only {
            let mut shows = readable != Readable::ByValue;
            if !shows {
                attribute.for_each(&mut |value| {
                    shows = entry.may_read(description, Some(value));
                    if shows {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                })?;
            }
            if shows {
                writer.attribute_type(attribute.name());
            }
            return Ok(());
        }
        let mark = writer.begin_attribute(attribute.name());
        if let Some(values) = self.arranged(attribute)? {
            for value in values {
                if self.shows_value(entry, description, &value) {
                    writer.value(&value);
                }
            }
            writer.end_attribute(mark);
            return Ok(());
        }
        attribute.for_each(&mut |value| {
            let may_read = readable != Readable::ByValue || entry.may_read(description, Some(value));
            if may_read && self.is_matched(description, value) {
                writer.value(value);
            }
            ControlFlow::Continue(())
        })?;
        writer.end_attribute(mark);
        Ok(())
    }

    /// The values of an attribute after overlays have arranged them; `None`: no overlay does.
    fn arranged(&self, attribute: &RecordAttribute<'_>) -> Result<Option<Vec<Vec<u8>>>, OperationError> {
        let description = attribute.description();
        match &self.arranging {
            Some(arranging) if arranging.covers(description) => {
                let values = attribute.to_attribute()?.values;
                Ok(Some(arranging.arrange(description, values)))
            }
            _ => Ok(None),
        }
    }

    fn memory_attribute(
        &mut self,
        entry: &VisibleEntry<'_>,
        attribute: &Attribute,
        writer: &mut SearchEntryWriter<'_>,
    ) {
        let description = &attribute.description;
        let name = self.schema.description_text(description);
        if self.types_only {
            if attribute
                .values
                .iter()
                .any(|value| entry.may_read(description, Some(value)))
            {
                writer.attribute_type(name.as_bytes());
            }
            return;
        }
        let mark = writer.begin_attribute(name.as_bytes());
        for value in &attribute.values {
            if self.shows_value(entry, description, value) {
                writer.value(value);
            }
        }
        writer.end_attribute(mark);
    }

    /// Whether the access rules and the matched-values control allow a value.
    fn shows_value(&mut self, entry: &VisibleEntry<'_>, description: &AttributeDescription, value: &[u8]) -> bool {
        (entry.is_unrestricted() || entry.may_read(description, Some(value))) && self.is_matched(description, value)
    }

    /// Whether the matched-values control allows a value.
    fn is_matched(&mut self, description: &AttributeDescription, value: &[u8]) -> bool {
        self.matched_values
            .is_none_or(|filter| filter.matches_value(self.schema, description, value, self.budget, self.work))
    }
}
