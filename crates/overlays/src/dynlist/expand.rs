//! What the URLs of an entry give.

use std::{
    collections::{BTreeMap, HashSet, btree_map::Entry},
    ops::ControlFlow,
};

use ironbark_directory::overlay::{DerivingEntry, DerivingLook};
use ironbark_model::{
    AttributeDescription, Schema,
    schema::{ClassKind, Usage},
};
use ironbark_store::{Derived, Purpose, Record, StoreError, Wanted};

use super::{
    lists::{Gives, List, ListUrl, Lists},
    sets::Set,
};
use crate::values::normal;

/// The attributes of one entry, in the making.
pub(super) struct Expansion<'a> {
    pub(super) entry: &'a DerivingEntry<'a>,
    schema: &'a Schema,
    wanted: &'a Wanted<'a>,
    /// What filters see.
    matched: &'a [AttributeDescription],
    found: &'a mut Derived,
    made: BTreeMap<AttributeDescription, Collected>,
    /// The attributes in the order in which they came.
    order: Vec<AttributeDescription>,
}

/// Values, each once.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) values: Vec<Vec<u8>>,
    /// Their normal forms, and those of stored values.
    pub(super) known: HashSet<Vec<u8>>,
}

impl<'a> Expansion<'a> {
    pub(super) fn new(
        lists: &'a Lists,
        entry: &'a DerivingEntry<'a>,
        wanted: &'a Wanted<'a>,
        found: &'a mut Derived,
    ) -> Self {
        Self {
            entry,
            schema: &lists.sets.schema,
            wanted,
            matched: &lists.sets.matched,
            found,
            made: BTreeMap::new(),
            order: Vec::new(),
        }
    }

    /// The values of an attribute so far, the stored ones only known.
    pub(super) fn collected(&mut self, attribute: &AttributeDescription) -> Result<&mut Collected, StoreError> {
        match self.made.entry(attribute.clone()) {
            Entry::Occupied(made) => Ok(made.into_mut()),
            Entry::Vacant(new) => {
                let mut collected = Collected::default();
                let stored = self
                    .entry
                    .record
                    .values(attribute)
                    .map(|held| held.to_attribute())
                    .transpose()?;
                let derived = self.found.get(attribute).map_or(&[][..], |held| &held.values);
                for value in stored.iter().flat_map(|held| &held.values).chain(derived) {
                    collected.known.insert(normal(self.schema, attribute, value));
                }
                self.order.push(attribute.clone());
                Ok(new.insert(collected))
            }
        }
    }

    /// Adds what the URLs of an entry give.
    pub(super) fn follow(&mut self, set: &Set, list: &List) -> Result<(), StoreError> {
        let Some(look) = list.look(self.entry.look) else {
            return Ok(());
        };
        for url in &list.urls {
            match &url.gives {
                Gives::Nothing => {}
                Gives::Names => {
                    if let Some(map) = set.names().filter(|map| self.wanted.has(&map.given)) {
                        self.add_names(&look, url, &map.given)?;
                    }
                }
                Gives::Values(sources) => self.add_values(&look, set, url, sources)?,
            }
        }
        Ok(())
    }

    fn add_names(
        &mut self,
        look: &DerivingLook<'_>,
        url: &ListUrl,
        given: &AttributeDescription,
    ) -> Result<(), StoreError> {
        let collected = self.collected(given)?;
        for_each_name(look, url, &mut |name, normal| {
            if collected.known.insert(normal) {
                collected.values.push(name);
            }
        })?;
        if self.wanted.purpose == Purpose::Compare {
            // To a compare the group has members, also if it has none now.
            self.found.add(given, []);
        }
        Ok(())
    }

    fn add_values(
        &mut self,
        look: &DerivingLook<'_>,
        set: &Set,
        url: &ListUrl,
        sources: &[AttributeDescription],
    ) -> Result<(), StoreError> {
        let schema = self.schema;
        let is_wanted = |source: &AttributeDescription| {
            let target = set.target(source);
            self.wanted.has(target) && (self.wanted.purpose != Purpose::Match || self.matched.contains(target))
        };
        let is_asked = |source: &AttributeDescription| {
            let is_listed = if sources.is_empty() {
                schema.attribute_type(source.attribute_type).usage == Usage::UserApplications
            } else {
                sources
                    .iter()
                    .any(|listed| schema.is_description_subtype(source, listed))
            };
            is_listed && is_wanted(source)
        };
        if !sources.is_empty() && !sources.iter().any(is_wanted) {
            return Ok(());
        }
        let mut taken: Vec<(AttributeDescription, Vec<u8>)> = Vec::new();
        look.find_all(&url.search, &mut |there, record| {
            take(there, record, &is_asked, &mut taken)?;
            Ok(ControlFlow::Continue(()))
        })?;
        for (source, value) in taken {
            let target = set.target(&source);
            let is_single = schema.attribute_type(target.attribute_type).single_value;
            let normal = normal(schema, target, &value);
            let collected = self.collected(target)?;
            if (!is_single || collected.known.is_empty()) && collected.known.insert(normal) {
                collected.values.push(value);
            }
        }
        Ok(())
    }

    /// Hands all over.
    pub(super) fn finish(mut self) {
        for attribute in self.order {
            if let Some(collected) = self.made.remove(&attribute).filter(|made| !made.values.is_empty()) {
                self.found.add(&attribute, collected.values);
            }
        }
    }
}

/// Calls `visit` with names and normal names of the entries that a URL finds and that may be read.
pub(super) fn for_each_name(
    look: &DerivingLook<'_>,
    url: &ListUrl,
    visit: &mut dyn FnMut(Vec<u8>, Vec<u8>),
) -> Result<(), StoreError> {
    look.find_all(&url.search, &mut |there, record| {
        if there.readable(record, |_| ()).is_some() {
            let dn = there.view.dn(record.id)?;
            visit(dn.pretty().as_bytes().to_vec(), dn.normalized().to_vec());
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// Takes the readable values of the attributes that are asked for.
fn take(
    look: &DerivingLook<'_>,
    record: &Record<'_>,
    is_asked: &dyn Fn(&AttributeDescription) -> bool,
    taken: &mut Vec<(AttributeDescription, Vec<u8>)>,
) -> Result<(), StoreError> {
    let schema = look.view.schema();
    let mut derived = Derived::default();
    if let Some(deriving) = look.view.derived() {
        let wanted = Wanted {
            purpose: Purpose::Show,
            new_name: None,
            attributes: is_asked,
            operational: &|_| false,
        };
        deriving.derive(record, &wanted, &mut derived)?;
    }
    let stored = record.attributes().map(|held| held.description().clone());
    let mut attributes: Vec<_> = stored.filter(|one| is_asked(one)).collect();
    for one in derived.attributes() {
        if !attributes.contains(&one.description) {
            attributes.push(one.description.clone());
        }
    }
    let mut values = Vec::new();
    for attribute in attributes {
        for value in derived.merged(record, &attribute)? {
            if look.view.spend(1) && !is_structural(schema, &attribute, &value) {
                values.push((attribute.clone(), value));
            }
        }
    }
    let readable = look.readable(record, |readable| {
        values.retain(|(attribute, value)| readable.has(attribute, Some(value)));
        values
    });
    taken.extend(readable.into_iter().flatten());
    Ok(())
}

/// A list keeps its own structural class.
fn is_structural(schema: &Schema, attribute: &AttributeDescription, value: &[u8]) -> bool {
    schema.attribute_type(attribute.attribute_type).oid.as_ref() == OBJECT_CLASS
        && schema
            .find_object_class(value)
            .is_some_and(|class| class.kind == ClassKind::Structural)
}

/// OID of objectClass.
const OBJECT_CLASS: &str = "2.5.4.0";
