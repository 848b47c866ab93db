//! Views and records whose entries have derived attributes.

use std::collections::HashSet;

use ironbark_model::{AttributeDescription, CompiledFilter};

use super::{Record, View};
use crate::{Derived, DerivedAttributes, DerivedCandidates, DitScope, EntryId, Purpose, StoreError, Wanted};

impl<'t> View<'t> {
    /// The same view, in which entries also have derived attributes: for planning, evaluation and chains. Records that
    /// are read through it see them too.
    #[must_use]
    pub fn deriving<'b>(self, derived: &'b dyn DerivedAttributes) -> View<'b>
    where
        't: 'b,
    {
        View {
            derived: Some(derived),
            ..self
        }
    }

    /// The same view without derived attributes.
    #[must_use]
    pub fn without_derived(self) -> Self {
        Self { derived: None, ..self }
    }

    /// What derives attributes, if this view has them.
    pub fn derived(&self) -> Option<&'t dyn DerivedAttributes> {
        self.derived
    }

    /// The same, if it covers a description for a purpose.
    #[inline]
    pub fn deriving_of(&self, asked: &AttributeDescription, purpose: Purpose) -> Option<&'t dyn DerivedAttributes> {
        self.derived.filter(|derived| derived.covers(asked, purpose))
    }

    /// The entries that may match a filter, in any scope: all that do, and perhaps others. `Unknown` if there seem to
    /// be more than `most`.
    ///
    /// # Errors
    /// The storage failed.
    pub fn may_match(&self, filter: &CompiledFilter, most: u64) -> Result<DerivedCandidates, StoreError> {
        crate::plan::planner::candidates(*self, filter, most)
    }

    /// The entries in a scope, if there are at most `limit`. Everything: all of the database, or more than that.
    ///
    /// # Errors
    /// The storage failed.
    pub fn may_be_in_scope(&self, base: EntryId, scope: DitScope, limit: u64) -> Result<DerivedCandidates, StoreError> {
        crate::plan::scope_candidates(*self, base, scope, limit)
    }
}

impl<'t> Record<'t> {
    /// The same record, with these derived attributes.
    #[must_use]
    pub fn deriving<'b>(self, derived: &'b dyn DerivedAttributes) -> Record<'b>
    where
        't: 'b,
    {
        Record {
            view: self.view.deriving(derived),
            ..self
        }
    }

    /// The derived attributes that answer a description.
    ///
    /// # Errors
    /// The storage failed.
    pub fn derived(&self, asked: &AttributeDescription, purpose: Purpose) -> Result<Derived, StoreError> {
        let mut found = Derived::default();
        if let Some(derived) = self.view.deriving_of(asked, purpose) {
            let schema = self.view.schema();
            let wanted = Wanted {
                purpose,
                new_name: None,
                attributes: &|description| schema.is_description_subtype(description, asked),
                operational: &|_| true,
            };
            derived.derive(self, &wanted, &mut found)?;
        }
        Ok(found)
    }
}

impl Derived {
    /// All values of exactly this description that an entry with these derived attributes has: those that it holds, if
    /// they count, then the others.
    ///
    /// # Errors
    /// The storage failed.
    pub fn merged(&self, record: &Record<'_>, description: &AttributeDescription) -> Result<Vec<Vec<u8>>, StoreError> {
        let held = record.values(description).filter(|_| self.keeps_stored(description));
        let held = held.map(|held| held.to_attribute()).transpose()?;
        let mut values = held.map_or_else(Vec::new, |held| held.values);
        let derived = self.get(description).map_or(&[][..], |derived| &derived.values);
        if values.is_empty() {
            values.extend_from_slice(derived);
            return Ok(values);
        }
        let schema = record.view().schema();
        let rule = schema.attribute_type(description.attribute_type).equality;
        let normal = |value: &[u8]| {
            let mut normal = Vec::new();
            match rule {
                Some(rule) if (rule.normalize_value)(schema, value, &mut normal).is_ok() => normal,
                _ => value.to_vec(),
            }
        };
        let known: HashSet<Vec<u8>> = values.iter().map(|value| normal(value)).collect();
        values.extend(derived.iter().filter(|value| !known.contains(&normal(value))).cloned());
        Ok(values)
    }
}
