//! The overlay addpartial: an add of an entry that is there changes what differs.

use std::sync::Arc;

use ironbark_config::overlay::{AnySettings, Occurrence, OverlayDescriptor};
use ironbark_directory::{
    Authority, Modification, ModificationKind, OperationError, edit,
    overlay::{AddHooks, Execution, Overlay},
};
use ironbark_model::{AttributeDescription, Entry, Schema};
use ironbark_store::Record;

use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "addpartial",
        modules: &[],
        occurrence: Occurrence::Once,
        class: None,
        settings: &[],
        controls: &[],
        fresh: AnySettings::of::<()>,
        schema: "",
        introduction: "The overlay is for programs that have whole entries and do not know which are there. A request \
            to add an entry that is there becomes a modify: user attributes with other values are replaced, and those \
            that the request lacks are deleted. If nothing differs, the result is success, and the entry stays as it \
            is. The overlay has no settings. The client needs the rights for the modify, and `write` on `entry` as for \
            an add; a client that may not know of the entry is answered as without the overlay. Attributes and values \
            that it may neither compare nor change stay as they are, so that it learns nothing of them. Configure it \
            as the last overlay of the database.",
    },
    make: |_, _| {
        Ok(Overlay {
            adds: Some(Arc::new(AddPartial)),
            ..Overlay::new("addpartial")
        })
    },
};

struct AddPartial;

impl AddHooks for AddPartial {
    fn instead_of_add(
        &self,
        execution: &Execution<'_, '_>,
        existing: &Record<'_>,
        asked: &Entry,
    ) -> Result<Option<Vec<Modification>>, OperationError> {
        let schema = execution.schema();
        let mut changes = Vec::new();
        let wanted = asked.attributes.iter();
        for attribute in wanted.filter(|attribute| is_of_users(schema, &attribute.description)) {
            let held = match existing.values(&attribute.description) {
                Some(held) => held.to_attribute()?.values,
                None => Vec::new(),
            };
            let change = Replacement {
                description: &attribute.description,
                held: &held,
                wanted: &attribute.values,
            };
            changes.extend(change.needed(execution, existing));
        }
        for held in existing.attributes() {
            let description = held.description();
            let attribute_type = schema.attribute_type(description.attribute_type);
            if asked.attribute(description).is_some()
                || !is_of_users(schema, description)
                || attribute_type.no_user_modification
            {
                continue;
            }
            let change = Replacement {
                description,
                held: &held.to_attribute()?.values,
                wanted: &[],
            };
            changes.extend(change.needed(execution, existing));
        }
        Ok(Some(changes))
    }
}

/// Operational attributes are not compared.
fn is_of_users(schema: &Schema, description: &AttributeDescription) -> bool {
    !schema.attribute_type(description.attribute_type).is_operational()
}

/// The values that an attribute has, and those that it gets.
struct Replacement<'a> {
    description: &'a AttributeDescription,
    held: &'a [Vec<u8>],
    wanted: &'a [Vec<u8>],
}

impl Replacement<'_> {
    /// The change, unless there is no difference that the client may know of.
    fn needed(&self, execution: &Execution<'_, '_>, existing: &Record<'_>) -> Option<Modification> {
        let (schema, kind) = (execution.schema(), ModificationKind::Replace);
        let change = Modification {
            authority: Authority::Client,
            ..Modification::internal(schema, kind, self.description, self.wanted.to_vec())
        };
        let known = execution.comparable(existing, self.description, self.held);
        let hides_some = known.len() < self.held.len();
        let known = known.into_iter().map(<[u8]>::to_vec).collect();
        let known = Modification::internal(schema, kind, self.description, known);
        let (mut seen, mut wanted) = (known.normalized, change.normalized.clone());
        seen.sort_unstable();
        wanted.sort_unstable();
        // A refusal because of values that the client cannot see would tell that there are some.
        let is_needed = seen != wanted || (hides_some && edit::grants(execution, existing, &change));
        is_needed.then_some(change)
    }
}
