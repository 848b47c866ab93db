//! From modifications to the value changes that make them on one entry, or to the reason for a refusal.

use std::collections::HashSet;

use ironbark_model::{
    Attribute, AttributeDescription, Budget, Dn, Schema, budget::cost, schema::entry_check::CheckedAttribute,
};
use ironbark_store::{Record, ValueChange};

use super::{
    draft::{Draft, stored_attribute},
    entry_rules, increment, ordered,
};
use crate::{
    Configuration, OperationError,
    refusal::ModifyRefusal,
    request::modification::{Modification, ModificationKind, normal_form},
};

/// How modifications are made.
pub(crate) struct Options<'a> {
    /// The relax rules control.
    pub(crate) relax: bool,
    /// Whether the database keeps dynamic entries.
    pub(crate) may_be_dynamic: bool,
    /// The permissive modify control: values that exist may be added, and missing ones deleted.
    pub(crate) permissive: bool,
    /// Attributes whose old values overlays want to know.
    pub(crate) watched: &'a [AttributeDescription],
    /// The limit on the extra cost of changes, beyond the length of the request. `None`: the changes are the server's
    /// own.
    pub(crate) budget: Option<&'a Budget>,
}

/// Modifications, resolved for one entry.
pub(crate) struct Plan {
    pub(crate) changes: Vec<ValueChange>,
    /// Watched attributes that change, as they were. A big set is included only if it is removed as a whole.
    pub(crate) before: Vec<Attribute>,
}

/// Resolves modifications of the entry in `record`, whose name is, or will be, `name`. Checks the result. `judge` sees
/// the result before the schema check, as overlays do in slapd.
///
/// # Errors
/// `attributeOrValueExists`, `noSuchAttribute`, `inappropriateMatching`, the error of `judge`, and the errors of the
/// schema check.
pub(crate) fn plan(
    configuration: &Configuration,
    record: &Record<'_>,
    name: &Dn,
    modifications: &[Modification],
    options: &Options<'_>,
    judge: impl FnOnce(&Draft<'_, '_>) -> Result<(), OperationError>,
) -> Result<Plan, OperationError> {
    let schema = &*configuration.schema;
    let mut planner = Planner {
        schema,
        permissive: options.permissive,
        is_replicated: false,
        budget: options.budget,
        draft: Draft::new(schema, record),
        plan: Plan {
            changes: Vec::new(),
            before: Vec::new(),
        },
    };
    for modification in modifications {
        if options.watched.contains(&modification.description) {
            planner.note_before(record, modification)?;
        }
        planner.apply(modification)?;
    }
    judge(&planner.draft)?;
    planner.check(configuration, name, options)?;
    Ok(planner.plan)
}

/// The same for a change that a provider has made: nothing is checked, values that exist may be added, and missing ones
/// deleted. An attribute with a single value gets the one that is added.
///
/// # Errors
/// The storage failed, or a value to be incremented is no number.
pub(crate) fn plan_replicated(
    schema: &Schema,
    record: &Record<'_>,
    modifications: &[Modification],
    watched: &[AttributeDescription],
) -> Result<Plan, OperationError> {
    let mut planner = Planner {
        schema,
        permissive: true,
        is_replicated: true,
        budget: None,
        draft: Draft::new(schema, record),
        plan: Plan {
            changes: Vec::new(),
            before: Vec::new(),
        },
    };
    for modification in modifications {
        if watched.contains(&modification.description) {
            planner.note_before(record, modification)?;
        }
        let is_single = schema
            .attribute_type(modification.description.attribute_type)
            .single_value;
        if is_single && matches!(modification.kind, ModificationKind::Add | ModificationKind::AddIfAbsent) {
            planner.replace(modification)?;
        } else {
            planner.apply(modification)?;
        }
    }
    Ok(planner.plan)
}

struct Planner<'t, 's> {
    schema: &'s Schema,
    permissive: bool,
    /// Whether a provider has made the change.
    is_replicated: bool,
    budget: Option<&'s Budget>,
    draft: Draft<'t, 's>,
    plan: Plan,
}

impl Planner<'_, '_> {
    fn note_before(&mut self, record: &Record<'_>, modification: &Modification) -> Result<(), OperationError> {
        let description = &modification.description;
        if self
            .plan
            .before
            .iter()
            .any(|attribute| attribute.description == *description)
        {
            return Ok(());
        }
        let goes_whole = match modification.kind {
            ModificationKind::Replace => true,
            ModificationKind::Delete => modification.values.is_empty(),
            _ => false,
        };
        let is_big = record.values(description).is_some_and(|stored| stored.is_external());
        if (goes_whole || !is_big)
            && let Some(attribute) = stored_attribute(record, description)?
        {
            self.plan.before.push(attribute);
        }
        Ok(())
    }

    fn apply(&mut self, modification: &Modification) -> Result<(), OperationError> {
        let description = &modification.description;
        if self
            .schema
            .attribute_type(description.attribute_type)
            .has_ordered_values()
            && !self.is_replicated
        {
            return self.arrange(modification);
        }
        match modification.kind {
            ModificationKind::Add => self.add(modification, self.permissive),
            ModificationKind::AddIfAbsent => self.add(modification, true),
            ModificationKind::Delete if modification.values.is_empty() => self.delete_attribute(modification),
            ModificationKind::Delete => self.delete_values(modification),
            ModificationKind::Replace => self.replace(modification),
            ModificationKind::Increment => self.increment(modification),
        }
    }

    fn add(&mut self, modification: &Modification, lenient: bool) -> Result<(), OperationError> {
        let description = &modification.description;
        let (mut values, mut normals) = (Vec::new(), Vec::new());
        if self.draft.has(description) {
            self.require_equality("add", description)?;
            for (index, (value, normal)) in modification.values.iter().zip(&modification.normalized).enumerate() {
                if !self.draft.finds(description, normal)? {
                    values.push(value.clone());
                    normals.push(normal.clone());
                } else if !lenient {
                    let attribute = self.text(description);
                    return Err(ModifyRefusal::ValueExists { attribute, index }.into());
                }
            }
        } else {
            values.clone_from(&modification.values);
            normals.clone_from(&modification.normalized);
        }
        if !values.is_empty() {
            self.draft.add(description, &values, &normals)?;
            self.plan.changes.push(ValueChange::Add {
                attribute: self.text(description).into(),
                values,
            });
        }
        Ok(())
    }

    /// Makes a modification of values that have an order.
    fn arrange(&mut self, modification: &Modification) -> Result<(), OperationError> {
        let description = &modification.description;
        let is_missing = !self.draft.has(description);
        if is_missing && modification.kind == ModificationKind::Delete && !self.permissive {
            return Err(self.missing("delete", description).into());
        }
        let held = self.draft.values(description)?;
        self.spend_on(&held)?;
        let values = ordered::modified(self.schema, &held, modification, self.permissive)?;
        if !is_missing && !values.is_empty() {
            return self.exchange(description, &held, &values);
        }
        if is_missing && values.is_empty() {
            return Ok(());
        }
        let normal = |value: &Vec<u8>| normal_form(self.schema, description, value);
        let normals: Vec<_> = values.iter().map(normal).collect();
        self.draft.remove(description);
        self.draft.add(description, &values, &normals)?;
        let attribute = self.text(description).into();
        self.plan.changes.push(ValueChange::Replace { attribute, values });
        Ok(())
    }

    fn delete_attribute(&mut self, modification: &Modification) -> Result<(), OperationError> {
        let description = &modification.description;
        if self.draft.has(description) {
            self.draft.remove(description);
            self.plan.changes.push(ValueChange::Replace {
                attribute: self.text(description).into(),
                values: Vec::new(),
            });
            return Ok(());
        }
        if self.permissive {
            Ok(())
        } else {
            Err(self.missing("delete", description).into())
        }
    }

    fn delete_values(&mut self, modification: &Modification) -> Result<(), OperationError> {
        let description = &modification.description;
        self.require_equality("delete", description)?;
        if !self.draft.has(description) {
            return if self.permissive {
                Ok(())
            } else {
                Err(self.missing("delete", description).into())
            };
        }
        let (mut values, mut normals, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        for (value, normal) in modification.values.iter().zip(&modification.normalized) {
            if self.draft.finds(description, normal)? {
                // Naming a value twice deletes it once.
                if seen.insert(normal) {
                    values.push(value.clone());
                    normals.push(normal.clone());
                }
            } else if !self.permissive {
                let attribute = self.text(description);
                return Err(ModifyRefusal::NoSuchValue { attribute }.into());
            }
        }
        if !values.is_empty() {
            self.draft.delete(description, &normals)?;
            self.plan.changes.push(ValueChange::Delete {
                attribute: self.text(description).into(),
                values,
            });
        }
        Ok(())
    }

    fn replace(&mut self, modification: &Modification) -> Result<(), OperationError> {
        let description = &modification.description;
        if modification.values.is_empty() && !self.draft.has(description) {
            return Ok(());
        }
        self.draft.remove(description);
        self.draft
            .add(description, &modification.values, &modification.normalized)?;
        let values = modification.values.clone();
        self.plan.changes.push(ValueChange::Replace {
            attribute: self.text(description).into(),
            values,
        });
        Ok(())
    }

    fn increment(&mut self, modification: &Modification) -> Result<(), OperationError> {
        let description = &modification.description;
        if !self.draft.has(description) {
            return if self.permissive {
                self.add(modification, true)
            } else {
                Err(self.missing("increment", description).into())
            };
        }
        let old = self.draft.values(description)?;
        self.spend_on(&old)?;
        let step = modification.values.first().map(Vec::as_slice).unwrap_or_default();
        let Some(new) = increment::incremented(&old, step)? else {
            return Ok(());
        };
        self.exchange(description, &old, &new)
    }

    /// Each increment has a few octets but changes all values: each value is deleted and added.
    fn spend_on(&self, values: &[Vec<u8>]) -> Result<(), ModifyRefusal> {
        let Some(budget) = self.budget else { return Ok(()) };
        if values.iter().all(|value| budget.spend(2 * cost(value.len()))) {
            return Ok(());
        }
        Err(ModifyRefusal::TooMuchWork)
    }

    /// Replaces old values by new ones, in their order. The attribute never becomes empty, so it keeps its place in the
    /// entry.
    fn exchange(
        &mut self,
        description: &AttributeDescription,
        old: &[Vec<u8>],
        new: &[Vec<u8>],
    ) -> Result<(), OperationError> {
        let normal = |value: &Vec<u8>| normal_form(self.schema, description, value);
        let old_normals: Vec<_> = old.iter().map(normal).collect();
        let new_normals: Vec<_> = new.iter().map(normal).collect();
        let known: HashSet<&Vec<u8>> = old_normals.iter().collect();
        let attribute: Box<str> = self.text(description).into();
        let mut changes = Vec::new();
        for (value, normal) in new.iter().zip(&new_normals) {
            let values = vec![value.clone()];
            if known.contains(normal) {
                changes.push(ValueChange::Delete {
                    attribute: attribute.clone(),
                    values: values.clone(),
                });
            }
            changes.push(ValueChange::Add {
                attribute: attribute.clone(),
                values,
            });
        }
        let kept: HashSet<&Vec<u8>> = new_normals.iter().collect();
        let gone: Vec<_> = old
            .iter()
            .zip(&old_normals)
            .filter(|(_, normal)| !kept.contains(normal))
            .map(|(value, _)| value.clone())
            .collect();
        if !gone.is_empty() {
            changes.push(ValueChange::Delete {
                attribute,
                values: gone,
            });
        }
        self.draft.remove(description);
        self.draft.add(description, new, &new_normals)?;
        self.plan.changes.append(&mut changes);
        Ok(())
    }

    /// Checks the resulting entry, and updates `structuralObjectClass` if relaxed rules let it change.
    fn check(&mut self, configuration: &Configuration, name: &Dn, options: &Options<'_>) -> Result<(), OperationError> {
        let known = &configuration.well_known;
        let classes = self.draft.values(&known.object_class)?;
        let former = self.draft.values(&known.structural_object_class)?;
        let attributes: Vec<CheckedAttribute<'_>> = self
            .draft
            .attributes()
            .map(|(description, value_count)| CheckedAttribute {
                description,
                value_count,
            })
            .collect();
        let subject = entry_rules::Checked {
            name,
            classes: &classes,
            attributes: &attributes,
            former: entry_rules::Former::Entry(former.first().map(Vec::as_slice)),
            relax: options.relax,
            may_be_dynamic: options.may_be_dynamic,
        };
        let holds = |description: &AttributeDescription, normal: &[u8]| self.draft.holds(description, normal);
        let structural = entry_rules::check(self.schema, &subject, &holds)?;
        let text = self.schema.object_class(structural).name().as_bytes().to_vec();
        if former.first() != Some(&text) {
            let is_other = former
                .first()
                .and_then(|name| self.schema.find_object_class(name))
                .is_none_or(|class| class.number != structural);
            if is_other {
                self.exchange(&known.structural_object_class, &former, &[text])?;
            }
        }
        Ok(())
    }

    fn require_equality(&self, change: &'static str, description: &AttributeDescription) -> Result<(), ModifyRefusal> {
        let equality = &self.schema.attribute_type(description.attribute_type).equality;
        if self.is_replicated || equality.is_some() {
            return Ok(());
        }
        let attribute = self.text(description);
        Err(ModifyRefusal::NoEqualityRule { change, attribute })
    }

    fn missing(&self, change: &'static str, description: &AttributeDescription) -> ModifyRefusal {
        let attribute = self.text(description);
        ModifyRefusal::NoSuchAttribute { change, attribute }
    }

    fn text(&self, description: &AttributeDescription) -> String {
        self.schema.description_text(description)
    }
}
