//! slapo-valsort(5): values are sent in a given order, or by the weights at their beginning.
//!
//! A search sends the sorted values; filters, compares and changes see values as they are stored.

mod rows;
mod settings;
mod weight;

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    Modification, OperationError,
    overlay::{ArrangedEntry, Arrangement, BeginningSearch, ContentHooks, Execution, Overlay, SearchHooks},
};
use ironbark_ldap_proto::controls::{ControlKind, ControlSet};
use ironbark_model::{AttributeDescription, Dn, Entry, ResultCode, Schema};

use self::{
    settings::{Order, ValsortConfig},
    weight::{WeightError, number, weight},
};
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "valsort",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcValSortConfig"],
            oid: "3.5.1",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<ValsortConfig>,
        schema: "",
        introduction: "",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// The overlay.
struct Valsort {
    schema: Arc<Schema>,
    rules: Vec<Rule>,
    attributes: Vec<AttributeDescription>,
}

/// How the values of an attribute are sorted in the entries of a subtree.
struct Rule {
    attribute: AttributeDescription,
    base: Dn,
    is_weighted: bool,
    order: Option<Order>,
}

fn make(settings: &ValsortConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let mut rules = Vec::new();
    for rule in &settings.rules {
        let attribute = schema.attribute_description(rule.attribute.as_bytes());
        rules.push(Rule {
            attribute: attribute.map_err(|error| format!("attribute \"{}\": {error}", rule.attribute))?,
            base: rule.base.clone(),
            is_weighted: rule.is_weighted,
            order: rule.order,
        });
    }
    let attributes = rules.iter().map(|rule| rule.attribute.clone()).collect();
    let valsort = Arc::new(Valsort {
        schema: Arc::clone(schema),
        rules,
        attributes,
    });
    Ok(Overlay {
        content: Some(Arc::clone(&valsort) as _),
        searches: Some(Arc::new(Searches(valsort))),
        controls: ControlSet::NONE.with(ControlKind::ValueSort),
        ..Overlay::new("valsort")
    })
}

/// The hooks for searches, with a shared handle to the overlay.
struct Searches(Arc<Valsort>);

impl SearchHooks for Searches {
    fn begin(&self, search: &BeginningSearch<'_>) -> Result<Option<Box<dyn Arrangement>>, OperationError> {
        let is_raw = search.controls.value_sort.is_some_and(|control| control.value.raw);
        Ok((!is_raw).then(|| Box::new(Sorted(Arc::clone(&self.0))) as _))
    }
}

struct Sorted(Arc<Valsort>);

impl Arrangement for Sorted {
    fn attributes(&self) -> &[AttributeDescription] {
        &self.0.attributes
    }

    fn arrange(
        &self,
        entry: &ArrangedEntry<'_>,
        attribute: &AttributeDescription,
        mut values: Vec<Vec<u8>>,
    ) -> Vec<Vec<u8>> {
        let about = |rule: &&Rule| rule.attribute == *attribute && entry.dn.is_within(&rule.base);
        for rule in self.0.rules.iter().filter(about) {
            values = rule.arranged(&self.0.schema, values);
        }
        values
    }
}

impl Rule {
    fn arranged(&self, schema: &Schema, mut values: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        if !self.is_weighted {
            self.sort(schema, &mut values);
            return values;
        }
        let weighted = values
            .iter()
            .map(|value| weight(value).map(|(weight, text)| (weight, text.to_vec())));
        // If one value has no weight, the values keep their stored order, as in slapd.
        let Ok(mut weighted) = weighted.collect::<Result<Vec<_>, _>>() else {
            return values;
        };
        weighted.sort_by_key(|(weight, _)| *weight);
        let mut sorted = Vec::with_capacity(weighted.len());
        for alike in weighted.chunk_by(|one, other| one.0 == other.0) {
            let mut texts: Vec<Vec<u8>> = alike.iter().map(|(_, text)| text.clone()).collect();
            self.sort(schema, &mut texts);
            sorted.append(&mut texts);
        }
        sorted
    }

    /// Values of equal rank keep their order.
    fn sort(&self, schema: &Schema, values: &mut [Vec<u8>]) {
        let normal = |value: &Vec<u8>| {
            let rule = schema.attribute_type(self.attribute.attribute_type).equality;
            let mut normal = Vec::with_capacity(value.len());
            if rule.is_none_or(|rule| (rule.normalize_value)(schema, value, &mut normal).is_err()) {
                normal.clone_from(value);
            }
            normal
        };
        match self.order {
            None => {}
            Some(Order::Alphabetic { descending: false }) => values.sort_by_cached_key(normal),
            Some(Order::Alphabetic { descending: true }) => {
                values.sort_by_cached_key(|value| std::cmp::Reverse(normal(value)));
            }
            Some(Order::Numeric { descending: false }) => values.sort_by_cached_key(|value| number(value)),
            Some(Order::Numeric { descending: true }) => {
                values.sort_by_cached_key(|value| std::cmp::Reverse(number(value)));
            }
        }
    }
}

impl Valsort {
    /// Refuses values without weights where weights are required.
    fn check(&self, dn: &Dn, attribute: &AttributeDescription, values: &[Vec<u8>]) -> Result<(), OperationError> {
        let about = |rule: &&Rule| rule.is_weighted && rule.attribute == *attribute && dn.is_within(&rule.base);
        if !self.rules.iter().any(|rule| about(&rule)) {
            return Ok(());
        }
        let refuse = |error| {
            let text = match error {
                WeightError::Missing => "weight missing from attribute",
                WeightError::Misformatted => "weight is misformatted",
            };
            OperationError::new(ResultCode::CONSTRAINT_VIOLATION, text)
        };
        values
            .iter()
            .try_for_each(|value| weight(value).map(|_| ()).map_err(refuse))
    }
}

impl ContentHooks for Valsort {
    fn before_add(&self, _: &mut Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
        let mut held = entry.attributes.iter();
        held.try_for_each(|held| self.check(&entry.dn, &held.description, &held.values))
    }

    fn before_modify(
        &self,
        _: &mut Execution<'_, '_>,
        dn: &Dn,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        modifications
            .iter()
            .try_for_each(|change| self.check(dn, &change.description, &change.values))
    }
}
