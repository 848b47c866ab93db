//! An entry under change. Attributes that a modification touches are in memory, the others are read in place. Big value
//! sets are never copied (100,000 members of a group cost as much as one).
//!
//! Invariant: each stored value is normalized at most once, and no change looks at all attributes or all values. So the
//! cost of many changes in one request is in proportion to the length of the request.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
};

use ironbark_model::{Attribute, AttributeDescription, Schema};
use ironbark_store::{Record, RecordAttribute, StoreError, ValueList};

use crate::{overlay::EntryState, request::modification::normal_form};

/// Up to this number, attributes are found one by one, without a map.
const FEW: usize = 32;

/// The attributes of the entry after the modifications so far.
pub(crate) struct Draft<'t, 's> {
    schema: &'s Schema,
    /// In stored order; `None` where one was removed.
    attributes: Vec<Option<DraftAttribute<'t>>>,
    /// Places of the attributes, once there are more than [`FEW`].
    places: Option<HashMap<AttributeDescription, usize>>,
}

struct DraftAttribute<'t> {
    description: AttributeDescription,
    values: Values<'t>,
}

enum Values<'t> {
    /// As stored.
    Stored(RecordAttribute<'t>),
    /// Copied.
    Memory(ValueList),
    /// A big stored set, and the changes of it.
    Large(Large<'t>),
}

/// A big stored set, without the deleted values and with the added ones.
struct Large<'t> {
    stored: RecordAttribute<'t>,
    count: usize,
    /// Normal forms.
    removed: HashSet<Vec<u8>>,
    added: ValueList,
    /// The results of look-ups in the stored set: finding a value may require normalizing a long one.
    looked_for: HashMap<Vec<u8>, bool>,
}

impl<'t, 's> Draft<'t, 's> {
    pub(crate) fn new(schema: &'s Schema, record: &Record<'t>) -> Self {
        let mut draft = Self {
            schema,
            attributes: Vec::new(),
            places: None,
        };
        for attribute in record.attributes() {
            draft.push(attribute.description().clone(), Values::Stored(attribute));
        }
        draft
    }

    /// Description and number of values of each attribute.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (&AttributeDescription, usize)> {
        self.attributes
            .iter()
            .flatten()
            .map(|attribute| (&attribute.description, attribute.values.count()))
    }

    pub(crate) fn has(&self, description: &AttributeDescription) -> bool {
        self.place(description).is_some()
    }

    /// Whether a value with this normal form is there.
    pub(crate) fn holds(&self, description: &AttributeDescription, normal: &[u8]) -> Result<bool, StoreError> {
        match self.find(description) {
            None => Ok(false),
            Some(Values::Stored(stored)) => holds_stored(self.schema, stored, normal),
            Some(Values::Memory(list)) => Ok(list.contains(normal)),
            Some(Values::Large(large)) => match large.knows(normal) {
                Some(known) => Ok(known),
                None => large.stored.holds_normalized(normal),
            },
        }
    }

    /// The same for an attribute that is about to be changed and whose values are looked up one after the other.
    pub(crate) fn finds(&mut self, description: &AttributeDescription, normal: &[u8]) -> Result<bool, StoreError> {
        match self.touch(description)? {
            None | Some(Values::Stored(_)) => Ok(false),
            Some(Values::Memory(list)) => Ok(list.contains(normal)),
            Some(Values::Large(large)) => large.finds(normal),
        }
    }

    /// Copies of the values.
    pub(crate) fn values(&self, description: &AttributeDescription) -> Result<Vec<Vec<u8>>, StoreError> {
        match self.find(description) {
            None => Ok(Vec::new()),
            Some(Values::Memory(list)) => Ok(list.iter().cloned().collect()),
            Some(Values::Stored(stored)) => copy_of(stored),
            Some(Values::Large(large)) => {
                let mut values = copy_of(&large.stored)?;
                if !large.removed.is_empty() {
                    values.retain(|value| !large.removed.contains(&normal_form(self.schema, description, value)));
                }
                values.extend(large.added.iter().cloned());
                Ok(values)
            }
        }
    }

    /// Adds values that are not there.
    pub(crate) fn add(
        &mut self,
        description: &AttributeDescription,
        values: &[Vec<u8>],
        normals: &[Vec<u8>],
    ) -> Result<(), StoreError> {
        if values.is_empty() {
            return Ok(());
        }
        let pairs = || normals.iter().cloned().zip(values.iter().cloned());
        match self.touch(description)? {
            None => {
                let mut list = ValueList::default();
                pairs().for_each(|(normal, value)| list.push(normal, value));
                self.push(description.clone(), Values::Memory(list));
            }
            Some(Values::Memory(list)) => pairs().for_each(|(normal, value)| list.push(normal, value)),
            Some(Values::Large(large)) => {
                large.count += normals.len();
                for (normal, value) in pairs() {
                    // A deleted value that is added again is new: it stands at the end.
                    large.removed.insert(normal.clone());
                    large.added.push(normal, value);
                }
            }
            Some(Values::Stored(_)) => {}
        }
        Ok(())
    }

    /// Deletes existing values; an attribute without values is removed.
    pub(crate) fn delete(&mut self, description: &AttributeDescription, normals: &[Vec<u8>]) -> Result<(), StoreError> {
        let left = match self.touch(description)? {
            None | Some(Values::Stored(_)) => return Ok(()),
            Some(Values::Memory(list)) => {
                for normal in normals {
                    while list.remove(normal).is_some() {}
                }
                list.len()
            }
            Some(Values::Large(large)) => {
                for normal in normals {
                    large.count -= 1;
                    if large.added.remove(normal).is_none() {
                        large.removed.insert(normal.clone());
                    }
                }
                large.count
            }
        };
        if left == 0 {
            self.remove(description);
        }
        Ok(())
    }

    /// Removes the whole attribute.
    pub(crate) fn remove(&mut self, description: &AttributeDescription) {
        let place = self.place(description);
        if let Some(attribute) = place.and_then(|place| self.attributes.get_mut(place)) {
            *attribute = None;
        }
        if let Some(places) = &mut self.places {
            places.remove(description);
        }
    }

    fn push(&mut self, description: AttributeDescription, values: Values<'t>) {
        if let Some(places) = &mut self.places {
            places.insert(description.clone(), self.attributes.len());
        }
        self.attributes.push(Some(DraftAttribute { description, values }));
        if self.places.is_none() && self.attributes.len() > FEW {
            let places = (0..).zip(&self.attributes);
            let places = places.filter_map(|(place, there)| Some((there.as_ref()?.description.clone(), place)));
            self.places = Some(places.collect());
        }
    }

    fn place(&self, description: &AttributeDescription) -> Option<usize> {
        if let Some(places) = &self.places {
            return places.get(description).copied();
        }
        let is = |there: &DraftAttribute<'_>| there.description == *description;
        self.attributes
            .iter()
            .position(|attribute| attribute.as_ref().is_some_and(is))
    }

    fn find(&self, description: &AttributeDescription) -> Option<&Values<'t>> {
        let attribute = self.attributes.get(self.place(description)?)?;
        attribute.as_ref().map(|attribute| &attribute.values)
    }

    /// Prepares an attribute for changes: it is never [`Values::Stored`] afterwards.
    fn touch(&mut self, description: &AttributeDescription) -> Result<Option<&mut Values<'t>>, StoreError> {
        let schema = self.schema;
        let place = self.place(description);
        let found = place.and_then(|place| self.attributes.get_mut(place));
        let Some(Some(found)) = found else { return Ok(None) };
        if let Values::Stored(stored) = &found.values {
            found.values = if stored.is_external() {
                Values::Large(Large::new(*stored))
            } else {
                let mut list = ValueList::default();
                stored.for_each(&mut |value| {
                    list.push(normal_form(schema, description, value), value.to_vec());
                    ControlFlow::Continue(())
                })?;
                Values::Memory(list)
            };
        }
        Ok(Some(&mut found.values))
    }
}

impl<'t> Large<'t> {
    fn new(stored: RecordAttribute<'t>) -> Self {
        Self {
            stored,
            count: stored.len(),
            removed: HashSet::new(),
            added: ValueList::default(),
            looked_for: HashMap::new(),
        }
    }

    /// Whether a value is there, if this is known without reading the stored set.
    fn knows(&self, normal: &[u8]) -> Option<bool> {
        if self.added.contains(normal) {
            return Some(true);
        }
        if self.removed.contains(normal) {
            return Some(false);
        }
        self.looked_for.get(normal).copied()
    }

    fn finds(&mut self, normal: &[u8]) -> Result<bool, StoreError> {
        if let Some(known) = self.knows(normal) {
            return Ok(known);
        }
        let found = self.stored.holds_normalized(normal)?;
        self.looked_for.insert(normal.to_vec(), found);
        Ok(found)
    }
}

impl Values<'_> {
    fn count(&self) -> usize {
        match self {
            Self::Stored(stored) => stored.len(),
            Self::Memory(list) => list.len(),
            Self::Large(large) => large.count,
        }
    }
}

fn holds_stored(schema: &Schema, stored: &RecordAttribute<'_>, normal: &[u8]) -> Result<bool, StoreError> {
    if stored.is_external() {
        return stored.holds_normalized(normal);
    }
    let description = stored.description();
    let mut found = false;
    stored.for_each(&mut |value| {
        found = normal_form(schema, description, value) == normal;
        if found {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(found)
}

fn copy_of(stored: &RecordAttribute<'_>) -> Result<Vec<Vec<u8>>, StoreError> {
    Ok(stored.to_attribute()?.values)
}

/// The attribute as stored, if a record has it.
pub(crate) fn stored_attribute(
    record: &Record<'_>,
    description: &AttributeDescription,
) -> Result<Option<Attribute>, StoreError> {
    record
        .values(description)
        .map(|stored| stored.to_attribute())
        .transpose()
}

impl EntryState for Draft<'_, '_> {
    fn each(&self, visit: &mut dyn FnMut(&AttributeDescription, usize)) {
        self.attributes().for_each(|(attribute, count)| visit(attribute, count));
    }

    fn count(&self, attribute: &AttributeDescription) -> usize {
        self.find(attribute).map_or(0, Values::count)
    }

    fn values(&self, attribute: &AttributeDescription) -> Result<Vec<Vec<u8>>, StoreError> {
        self.values(attribute)
    }
}
