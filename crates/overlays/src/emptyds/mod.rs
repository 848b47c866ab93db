//! slapo-emptyds(5): empty strings are taken in writes, and dropped.

use std::sync::Arc;

use ironbark_config::overlay::{AnySettings, Occurrence, OverlayDescriptor};
use ironbark_directory::{
    Modification, ModificationKind, OperationError,
    overlay::{ContentHooks, Execution, Overlay, is_text_of_users},
};
use ironbark_model::{Dn, Entry};

use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "emptyds",
        modules: &[],
        occurrence: Occurrence::Once,
        class: None,
        settings: &[],
        controls: &[],
        fresh: AnySettings::of::<()>,
        schema: "",
        introduction: "The overlay is for clients that send empty values of attributes with the syntax Directory \
            String, which no entry can hold. It takes them in add and modify requests to its database and drops them. \
            A replacement that has no other values deletes the attribute; another change that has no other values is \
            left out. If nothing is left of a modify request, its result is success, and the entry stays as it is. \
            The overlay has no settings. Access rules decide about the request as the client has sent it. Configure \
            it as the last overlay of the database, so that the others do not see empty values. In slapd filters may \
            have such values too as soon as any database has the overlay; here they match nothing.",
    },
    make: |_, _| {
        Ok(Overlay {
            content: Some(Arc::new(EmptyStrings)),
            drops_empty_strings: true,
            ..Overlay::new("emptyds")
        })
    },
};

struct EmptyStrings;

impl ContentHooks for EmptyStrings {
    fn before_add(&self, execution: &mut Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
        let schema = execution.schema();
        entry.attributes.retain_mut(|attribute| {
            if is_text_of_users(schema.attribute_type(attribute.description.attribute_type)) {
                attribute.values.retain(|value| !value.is_empty());
            }
            !attribute.values.is_empty()
        });
        Ok(())
    }

    fn before_modify(
        &self,
        execution: &mut Execution<'_, '_>,
        _: &Dn,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        let schema = execution.schema();
        modifications.retain_mut(|modification| {
            let asked = modification.values.len();
            if is_text_of_users(schema.attribute_type(modification.description.attribute_type)) {
                drop_empty(modification);
            }
            let is_emptied = asked > 0 && modification.values.is_empty();
            // Without values, a delete would take the whole attribute.
            !is_emptied || modification.kind == ModificationKind::Replace
        });
        Ok(())
    }
}

/// Drops the empty values, with their normal forms.
fn drop_empty(modification: &mut Modification) {
    let normalized = std::mem::take(&mut modification.normalized);
    let values = std::mem::take(&mut modification.values);
    let kept = values
        .into_iter()
        .zip(normalized)
        .filter(|(value, _)| !value.is_empty());
    (modification.values, modification.normalized) = kept.unzip();
}
