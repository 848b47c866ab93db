//! slapo-collect(5): values of an entry that the entries below it have too.

mod rows;

use std::{collections::HashSet, sync::Arc};

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    Modification, OperationError,
    overlay::{ContentHooks, Derivation, Derive, DerivingEntry, DerivingLook, Entries, Execution, Overlay, Reads},
};
use ironbark_model::{AttributeDescription, Dn, ResultCode, Schema};
use ironbark_store::{Derived, DerivedCandidates, DitScope, FilterItem, Purpose, StoreError, Wanted};

use self::rows::CollectConfig;
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "collect",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcCollectConfig"],
            oid: "3.19.1",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<CollectConfig>,
        schema: "",
        introduction: "What all entries of a subtree have in common is stored once, at its top: a telephone number, an \
            address. Nothing is stored below.",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// Entries of a subtree that are listed as candidates; beyond it all entries are.
const MOST_LISTED: u64 = 100_000;

fn make(settings: &CollectConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let mut collected = Collected {
        schema: Arc::clone(schema),
        sources: Vec::new(),
        attributes: Vec::new(),
    };
    for source in &settings.sources {
        let described = |name: &String| {
            let description = schema.attribute_description(name.as_bytes());
            description.map_err(|error| format!("attribute \"{name}\": {error}"))
        };
        let attributes = source.attributes.iter().map(described).collect::<Result<Vec<_>, _>>()?;
        collected.attributes.extend(attributes.iter().cloned());
        collected.sources.push((source.dn.clone(), attributes));
    }
    collected.attributes.sort_unstable();
    collected.attributes.dedup();
    let collected = Arc::new(Collect(Arc::new(collected)));
    Ok(Overlay {
        content: Some(Arc::clone(&collected) as _),
        derivation: Some(collected),
        ..Overlay::new("collect")
    })
}

struct Collect(Arc<Collected>);

struct Collected {
    schema: Arc<Schema>,
    /// Entries with the attributes that they give to those below them; the longest names first.
    sources: Vec<(Dn, Vec<AttributeDescription>)>,
    /// All of these attributes.
    attributes: Vec<AttributeDescription>,
}

impl Collected {
    /// The sources of an attribute above an entry, the closest first.
    fn above<'a>(&'a self, dn: &'a Dn, attribute: &'a AttributeDescription) -> impl Iterator<Item = &'a Dn> {
        let is_above = move |(source, attributes): &&(Dn, Vec<AttributeDescription>)| {
            dn.is_within(source) && dn != source && attributes.contains(attribute)
        };
        self.sources.iter().filter(is_above).map(|(source, _)| source)
    }
}

impl Derivation for Collect {
    fn reads(&self) -> Reads {
        Reads::AsAsker
    }

    fn level(&self) -> u8 {
        2
    }

    fn facts(&self, _: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError> {
        Ok(Arc::clone(&self.0) as _)
    }
}

impl Derive for Collected {
    fn attributes(&self) -> &[AttributeDescription] {
        &self.attributes
    }

    fn derive(&self, entry: &DerivingEntry<'_>, wanted: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        let dn = entry.dn()?;
        for attribute in self.attributes.iter().filter(|attribute| wanted.has(attribute)) {
            let (mut values, mut known) = (Vec::new(), HashSet::new());
            for source in self.above(&dn, attribute) {
                let Some(record) = entry.look.find(source)? else {
                    continue;
                };
                let mut given = record.derived(attribute, wanted.purpose)?.merged(&record, attribute)?;
                given.retain(|value| entry.look.view.spend(1) && known.insert(value.clone()));
                values.extend(
                    entry
                        .look
                        .readable(&record, |readable| {
                            given.retain(|value| readable.has(attribute, Some(value)));
                            given
                        })
                        .into_iter()
                        .flatten(),
                );
            }
            if !values.is_empty() {
                found.add(attribute, values);
            }
        }
        Ok(())
    }

    fn candidates(&self, look: &DerivingLook<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        let Some(asked) = item.asked() else {
            return Ok(DerivedCandidates::Unknown);
        };
        if item.is_chain() {
            return Ok(DerivedCandidates::Unknown);
        }
        let mut may = DerivedCandidates::nothing();
        for (source, attributes) in &self.sources {
            let Some(record) = look.find(source)? else { continue };
            for attribute in attributes {
                if !self.schema.is_description_subtype(attribute, asked) {
                    continue;
                }
                let values = record.derived(attribute, Purpose::Match)?.merged(&record, attribute)?;
                if !values.is_empty() && item.holds(look.view, attribute, &values) {
                    may = may.or(look.view.may_be_in_scope(
                        record.id,
                        DitScope::Children,
                        MOST_LISTED.min(item.most()),
                    )?);
                }
            }
        }
        Ok(may)
    }
}

impl ContentHooks for Collect {
    fn before_modify(
        &self,
        _: &mut Execution<'_, '_>,
        dn: &Dn,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        for modification in modifications.iter() {
            let attribute = &modification.description;
            if self.0.above(dn, attribute).next().is_some() {
                let name = self.0.schema.description_text(attribute);
                let text = format!("cannot change virtual attribute '{name}'");
                return Err(OperationError::new(ResultCode::UNWILLING_TO_PERFORM, text));
            }
        }
        Ok(())
    }
}
