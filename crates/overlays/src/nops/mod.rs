//! slapo-nops(5): replacements of values by the same values are left out of modify requests.

use std::sync::Arc;

use ironbark_config::overlay::{AnySettings, Occurrence, OverlayDescriptor};
use ironbark_directory::{
    Modification, ModificationKind, OperationError,
    overlay::{ContentHooks, Execution, Overlay},
};
use ironbark_model::Dn;
use ironbark_store::{Location, Record, StoreError};

use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "nops",
        modules: &[],
        occurrence: Occurrence::Once,
        class: None,
        settings: &[],
        controls: &[],
        fresh: AnySettings::of::<()>,
        schema: "",
        introduction: "The overlay leaves replacements out of modify requests that give an attribute the values which \
            it has. If nothing is left of a request, its result is success, and the entry stays as it is, with its \
            modifyTimestamp. The overlay has no settings. Access rules decide about the request as the client has \
            sent it; values that the client may not compare are written in any case, so that it cannot guess them.",
    },
    make: |_, _| {
        Ok(Overlay {
            content: Some(Arc::new(Nops)),
            ..Overlay::new("nops")
        })
    },
};

struct Nops;

impl ContentHooks for Nops {
    fn before_modify(
        &self,
        execution: &mut Execution<'_, '_>,
        dn: &Dn,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        let view = execution.view();
        let Location::Entry(id) = view.locate(dn)? else {
            return Ok(());
        };
        let Some(record) = view.record(id)? else { return Ok(()) };
        let mut kept = Vec::with_capacity(modifications.len());
        for (number, modification) in modifications.iter().enumerate() {
            // An earlier change of the request may have changed the values.
            let is_first = modifications
                .iter()
                .take(number)
                .all(|earlier| earlier.description.attribute_type != modification.description.attribute_type);
            let is_nothing = is_first
                && changes_nothing(&record, modification)?
                && execution.may_compare(&record, &modification.description, &modification.values);
            if !is_nothing {
                kept.push(modification.clone());
            }
        }
        *modifications = kept;
        Ok(())
    }
}

/// Whether a replacement gives the attribute the values that it has, octet by octet, in any order.
fn changes_nothing(record: &Record<'_>, modification: &Modification) -> Result<bool, StoreError> {
    if modification.kind != ModificationKind::Replace || modification.values.is_empty() {
        return Ok(false);
    }
    let Some(held) = record.values(&modification.description) else {
        return Ok(false);
    };
    let (mut held, mut wanted) = (held.to_attribute()?.values, modification.values.clone());
    held.sort_unstable();
    wanted.sort_unstable();
    Ok(held == wanted)
}
