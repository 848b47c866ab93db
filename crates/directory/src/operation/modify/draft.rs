//! An entry under change: attributes that a modification touches are in memory, the others are read in place, and big value sets are
//! never copied (100,000 members of a group cost as much as one).

use std::ops::ControlFlow;

use ironbark_model::{Attribute, AttributeDescription, Schema};
use ironbark_store::{Record, RecordAttribute, StoreError};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::operation::modification::normal_form;

/// The attributes of the entry as they are after the modifications so far, in stored order.
pub(crate) struct Draft<'t, 's> {
    schema: &'s Schema,
    attributes: Vec<DraftAttribute<'t>>,
}

struct DraftAttribute<'t> {
    description: AttributeDescription,
    values: Values<'t>,
}

enum Values<'t> {
    /// As stored.
    Stored(RecordAttribute<'t>),
    /// Copied, with normal forms.
    Memory {
        values: Vec<Vec<u8>>,
        normalized: FxHashSet<Vec<u8>>,
    },
    /// A big stored set, without what was deleted (normal forms) and with what was added (by normal form).
    Large {
        stored: RecordAttribute<'t>,
        count: usize,
        removed: FxHashSet<Vec<u8>>,
        added: FxHashMap<Vec<u8>, Vec<u8>>,
    },
}

impl<'t, 's> Draft<'t, 's> {
    pub(crate) fn new(schema: &'s Schema, record: &Record<'t>) -> Self {
        let attributes = record
            .attributes()
            .map(|attribute| DraftAttribute {
                description: attribute.description().clone(),
                values: Values::Stored(attribute),
            })
            .collect();
        Self { schema, attributes }
    }

    /// Description and number of values of each attribute.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (&AttributeDescription, usize)> {
        self.attributes
            .iter()
            .map(|attribute| (&attribute.description, attribute.values.count()))
    }

    pub(crate) fn has(&self, description: &AttributeDescription) -> bool {
        self.find(description).is_some()
    }

    /// Whether a value with this normal form is there.
    pub(crate) fn holds(&self, description: &AttributeDescription, normal: &[u8]) -> Result<bool, StoreError> {
        let Some(found) = self.find(description) else {
            return Ok(false);
        };
        match &found.values {
            Values::Stored(stored) => holds_stored(self.schema, stored, normal),
            Values::Memory { normalized, .. } => Ok(normalized.contains(normal)),
            Values::Large {
                stored, removed, added, ..
            } => Ok(added.contains_key(normal) || !removed.contains(normal) && stored.holds_normalized(normal)?),
        }
    }

    /// Copies of the values.
    pub(crate) fn values(&self, description: &AttributeDescription) -> Result<Vec<Vec<u8>>, StoreError> {
        match self.find(description).map(|found| &found.values) {
            None => Ok(Vec::new()),
            Some(Values::Memory { values, .. }) => Ok(values.clone()),
            Some(Values::Stored(stored)) => copy_of(stored),
            Some(Values::Large {
                stored, removed, added, ..
            }) => {
                let mut values = copy_of(stored)?;
                values.retain(|value| !removed.contains(&normal_form(self.schema, description, value)));
                values.extend(added.values().cloned());
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
        match self.touch(description)? {
            None => {
                let values = Values::Memory {
                    values: values.to_vec(),
                    normalized: normals.iter().cloned().collect(),
                };
                self.attributes.push(DraftAttribute {
                    description: description.clone(),
                    values,
                });
            }
            Some(Values::Memory {
                values: known,
                normalized,
            }) => {
                known.extend_from_slice(values);
                normalized.extend(normals.iter().cloned());
            }
            Some(Values::Large {
                count, removed, added, ..
            }) => {
                *count += normals.len();
                for (normal, value) in normals.iter().zip(values) {
                    // A deleted value that comes back is new: it stands at the end.
                    removed.insert(normal.clone());
                    added.insert(normal.clone(), value.clone());
                }
            }
            Some(Values::Stored(_)) => {}
        }
        Ok(())
    }

    /// Deletes values that are there; an attribute without values goes.
    pub(crate) fn delete(&mut self, description: &AttributeDescription, normals: &[Vec<u8>]) -> Result<(), StoreError> {
        let schema = self.schema;
        let left = match self.touch(description)? {
            None | Some(Values::Stored(_)) => return Ok(()),
            Some(Values::Memory { values, normalized }) => {
                for normal in normals {
                    normalized.remove(normal);
                }
                values.retain(|value| normalized.contains(&normal_form(schema, description, value)));
                values.len()
            }
            Some(Values::Large {
                count, removed, added, ..
            }) => {
                for normal in normals {
                    *count -= 1;
                    if added.remove(normal).is_none() {
                        removed.insert(normal.clone());
                    }
                }
                *count
            }
        };
        if left == 0 {
            self.remove(description);
        }
        Ok(())
    }

    /// Takes the whole attribute away.
    pub(crate) fn remove(&mut self, description: &AttributeDescription) {
        self.attributes
            .retain(|attribute| attribute.description != *description);
    }

    fn find(&self, description: &AttributeDescription) -> Option<&DraftAttribute<'t>> {
        self.attributes
            .iter()
            .find(|attribute| attribute.description == *description)
    }

    /// Makes an attribute ready to be changed: never [`Values::Stored`].
    fn touch(&mut self, description: &AttributeDescription) -> Result<Option<&mut Values<'t>>, StoreError> {
        let schema = self.schema;
        let Some(found) = self
            .attributes
            .iter_mut()
            .find(|attribute| attribute.description == *description)
        else {
            return Ok(None);
        };
        if let Values::Stored(stored) = &found.values {
            found.values = if stored.is_external() {
                Values::Large {
                    stored: *stored,
                    count: stored.len(),
                    removed: FxHashSet::default(),
                    added: FxHashMap::default(),
                }
            } else {
                let values = copy_of(stored)?;
                let normalized = values
                    .iter()
                    .map(|value| normal_form(schema, description, value))
                    .collect();
                Values::Memory { values, normalized }
            };
        }
        Ok(Some(&mut found.values))
    }
}

impl Values<'_> {
    fn count(&self) -> usize {
        match self {
            Self::Stored(stored) => stored.len(),
            Self::Memory { values, .. } => values.len(),
            Self::Large { count, .. } => *count,
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
