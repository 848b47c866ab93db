//! The overlay dna: numbers such as uidNumber for new entries, as the Distributed Numeric Assignment plugin of 389
//! Directory Server gives them.
//!
//! - `range.rs`: which number is free.
//!
//! A number is chosen before the schema check, in the transaction of the one writer: no two writes get the same.

mod range;
mod rows;
mod settings;

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    Modification, ModificationKind, OperationError,
    overlay::{AppliedEffect, ContentHooks, EffectHooks, Execution, Overlay},
};
use ironbark_model::{
    Attribute, AttributeDescription, Budget, CompiledFilter, Dn, Entry, Filter, ResultCode, Schema, Truth,
    entry::EntrySource,
    filter::{FilterNode, MAX_DEPTH},
};
use ironbark_store::{Effect, EntryId, Location, ValueChange};

use self::{
    range::{Range, text_of},
    settings::DnaConfig,
};
use crate::{
    Row,
    after::{self, normal_form},
};

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "dna",
        modules: &[],
        occurrence: Occurrence::Many,
        class: Some(OverlayClass {
            names: &["olcDnaConfig"],
            oid: "+41",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<DnaConfig>,
        schema: "",
        introduction: "New entries get numbers, such as uidNumber, as from the Distributed Numeric Assignment plugin of \
            389 Directory Server. Each overlay has one range; configure several for several ranges. An entry that \
            matches after an add or modify, and has no number or the magic value, gets the next number that is not \
            used. Clients need no rights to the attribute for a number that they do not ask for. Numbers of deleted \
            entries are not given again. With several servers that write, each needs a range of its own, but \
            those of a cluster share one. See docs/accounts.md.",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// The overlay.
struct Dna {
    schema: Arc<Schema>,
    range: Range,
    /// By each attribute, the normal form of the value that asks for a number.
    magic: Vec<Vec<u8>>,
    excluded: Vec<Dn>,
}

fn make(settings: &DnaConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let (mut types, mut magic) = (Vec::new(), Vec::new());
    for name in &settings.types {
        let description = schema.attribute_description(name.as_bytes());
        let description = description.map_err(|error| format!("dna-type: {name}: {error}"))?;
        let syntax = schema.attribute_type(description.attribute_type).syntax;
        for value in [settings.magic.as_bytes(), b"1"] {
            (syntax.validate)(schema, value)
                .map_err(|_| format!("\"{}\" is no value of {name}", String::from_utf8_lossy(value)))?;
        }
        magic.push(normal_form(schema, &description, settings.magic.as_bytes()));
        types.push(description);
    }
    let text = settings.filter.as_deref().unwrap_or("(objectClass=*)");
    let filter = Filter::parse(text.as_bytes(), MAX_DEPTH).map_err(|_| format!("bad filter \"{text}\""))?;
    let mut compiled = CompiledFilter::default();
    compiled.compile(schema, &filter);
    let numbers = [
        settings.first.unwrap_or_default(),
        settings.last,
        settings.interval,
        settings.threshold,
    ];
    let dna = Arc::new(Dna {
        schema: Arc::clone(schema),
        range: Range::new(types, &settings.types, compiled, settings.scope.clone(), numbers),
        magic,
        excluded: settings.excluded.clone(),
    });
    Ok(Overlay {
        content: Some(Arc::clone(&dna) as _),
        effects: Some(dna),
        ..Overlay::new("dna")
    })
}

impl ContentHooks for Dna {
    fn before_add(&self, execution: &mut Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
        self.range.forget(execution);
        if !self.is_in_scope(&entry.dn) || !self.matches(entry)? {
            return Ok(());
        }
        let mut asking = Vec::new();
        for (name, magic) in self.types() {
            match entry.attribute(name) {
                Some(held) if self.asks(name, magic, &held.values) => asking.push(name),
                None if self.is_single() => asking.push(name),
                _ => {}
            }
        }
        if asking.is_empty() {
            return Ok(());
        }
        self.refuse_naming(&entry.dn, &asking)?;
        let number = self.range.take(execution, None)?;
        for name in asking {
            match entry.attribute_mut(name) {
                Some(held) => self.answer(name, &mut held.values, number),
                None => entry.attributes.push(Attribute {
                    description: name.clone(),
                    values: vec![text_of(number)],
                }),
            }
        }
        Ok(())
    }

    fn before_modify(
        &self,
        execution: &mut Execution<'_, '_>,
        dn: &Dn,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        self.range.forget(execution);
        // A new password should not fail because there is no number.
        if execution.passwords.is_some() || !self.is_in_scope(dn) {
            return Ok(());
        }
        let Location::Entry(id) = execution.view().locate(dn)? else {
            return Ok(());
        };
        let work = Budget::new(MATCH_STEPS);
        let wants = |name: &AttributeDescription| self.wants(name);
        let after = after::modified(&wants, &self.schema, execution, id, modifications, &work)?;
        if !self.matches(&after)? {
            return Ok(());
        }
        let is_magic = |change: &Modification| {
            let comes = matches!(change.kind, ModificationKind::Add | ModificationKind::Replace);
            let mut types = self.types();
            comes && types.any(|(name, magic)| change.description == *name && self.asks(name, magic, &change.values))
        };
        let lacking = self.types().map(|(name, _)| name);
        let lacking: Vec<_> = lacking
            .filter(|name| self.is_single() && after.attribute(name).is_none_or(|held| held.values.is_empty()))
            .collect();
        if lacking.is_empty() && !modifications.iter().any(is_magic) {
            return Ok(());
        }
        self.number_modifications(execution, id, modifications, &lacking)
    }
}

impl EffectHooks for Dna {
    fn in_transaction(
        &self,
        execution: &mut Execution<'_, '_>,
        applied: AppliedEffect<'_>,
    ) -> Result<(), OperationError> {
        let Some(number) = self.range.taken(execution) else {
            return Ok(());
        };
        let is_own = |attribute: &str| {
            let description = self.schema.attribute_description(attribute.as_bytes());
            description.is_ok_and(|description| self.range.types.contains(&description))
        };
        match applied.effect {
            Effect::Add { attributes, .. } => {
                let own = attributes.iter().filter(|(name, _)| is_own(name));
                self.range.note(execution, number, own.flat_map(|(_, values)| values))
            }
            Effect::Modify { changes, .. } => {
                let own = changes.iter().filter(|change| is_own(change.attribute()));
                self.range.note(execution, number, own.flat_map(ValueChange::values))
            }
            Effect::Rename { .. } | Effect::Delete { .. } => Ok(()),
        }
    }
}

impl Dna {
    fn types(&self) -> impl Iterator<Item = (&AttributeDescription, &Vec<u8>)> {
        self.range.types.iter().zip(&self.magic)
    }

    /// Whether there is one attribute, which gets a number also if it is missing.
    fn is_single(&self) -> bool {
        self.range.types.len() == 1
    }

    fn is_in_scope(&self, dn: &Dn) -> bool {
        let is_within = self.range.scope.as_ref().is_none_or(|scope| dn.is_within(scope));
        is_within && !self.excluded.iter().any(|place| dn.is_within(place))
    }

    /// Whether an entry belongs to the range.
    ///
    /// # Errors
    /// `adminLimitExceeded`: that takes too much work.
    fn matches(&self, entry: &Entry) -> Result<bool, OperationError> {
        let work = Budget::new(MATCH_STEPS);
        let filter = &self.range.filter;
        let source = EntrySource::new(&self.schema, filter, entry).within(Some(&work));
        let truth = filter.evaluate(&self.schema, &source, &mut Vec::new());
        if work.is_exhausted() {
            let text = "dna: it takes too much work to see whether the entry needs a number";
            return Err(OperationError::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text));
        }
        Ok(truth == Truth::True)
    }

    /// Whether an attribute is one of the range, or the filter depends on it.
    fn wants(&self, name: &AttributeDescription) -> bool {
        let filter = &self.range.filter;
        let is_named = |slot: &AttributeDescription| self.schema.is_description_subtype(name, slot);
        self.range.types.contains(name)
            || filter.slots.iter().any(is_named)
            || filter
                .nodes
                .iter()
                .any(|node| matches!(node, FilterNode::AnyAttribute { .. }))
    }

    /// Whether some value asks for a number.
    fn asks(&self, name: &AttributeDescription, magic: &[u8], values: &[Vec<u8>]) -> bool {
        values
            .iter()
            .any(|value| normal_form(&self.schema, name, value) == magic)
    }

    /// Puts a number in the place of the value that asks for it.
    fn answer(&self, name: &AttributeDescription, values: &mut [Vec<u8>], number: u64) {
        let magic = self.types().find(|(known, _)| *known == name).map(|(_, magic)| magic);
        for value in values {
            if magic.is_some_and(|magic| normal_form(&self.schema, name, value) == *magic) {
                *value = text_of(number);
            }
        }
    }

    /// Refuses a request for a number that is part of the name: the name is known before the number.
    fn refuse_naming(&self, dn: &Dn, asking: &[&AttributeDescription]) -> Result<(), OperationError> {
        let mut named = dn.leaf_assertions(&self.schema).into_iter();
        if named.any(|(name, _)| asking.contains(&&name)) {
            let text = "dna: a number that is to be given cannot be part of the name";
            return Err(OperationError::new(ResultCode::NAMING_VIOLATION, text));
        }
        Ok(())
    }

    /// Puts a number into a modify request, where it is asked for and for the attributes that would be missing.
    fn number_modifications(
        &self,
        execution: &Execution<'_, '_>,
        own: EntryId,
        modifications: &mut Vec<Modification>,
        lacking: &[&AttributeDescription],
    ) -> Result<(), OperationError> {
        let number = self.range.take(execution, Some(own))?;
        for change in modifications.iter_mut() {
            if !matches!(change.kind, ModificationKind::Add | ModificationKind::Replace) {
                continue;
            }
            if let Some(name) = self.range.types.iter().find(|name| **name == change.description) {
                self.answer(name, &mut change.values, number);
                let normal = change.values.iter().map(|value| normal_form(&self.schema, name, value));
                change.normalized = normal.collect();
            }
        }
        for name in lacking {
            let kind = ModificationKind::Replace;
            modifications.push(Modification::internal(&self.schema, kind, name, vec![text_of(number)]));
        }
        Ok(())
    }
}

/// Steps that one look at an entry may take.
const MATCH_STEPS: u64 = 1_000_000;
