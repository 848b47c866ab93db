//! `structuralObjectClass` where the provider does not tell it.

use ironbark_store::{Record, ValueChange};

use crate::{OperationError, overlay::Execution, replica::read::structural_name};

/// The change of `structuralObjectClass` that changes of the classes bring about, if any.
///
/// # Errors
/// The storage failed.
pub(super) fn change(
    execution: &Execution<'_, '_>,
    record: &Record<'_>,
    changes: &[ValueChange],
) -> Result<Option<ValueChange>, OperationError> {
    let known = &execution.configuration.well_known;
    let classes_name = execution.name_of(&known.object_class);
    let mut of_classes = changes
        .iter()
        .filter(|change| change.attribute() == classes_name)
        .peekable();
    if of_classes.peek().is_none() {
        return Ok(None);
    }
    let mut classes = match record.values(&known.object_class) {
        Some(held) => held.to_attribute()?.values,
        None => Vec::new(),
    };
    for change in of_classes {
        match change {
            ValueChange::Add { values, .. } => classes.extend(values.iter().cloned()),
            ValueChange::Delete { values, .. } => {
                classes.retain(|held| !values.iter().any(|gone| gone.eq_ignore_ascii_case(held)));
            }
            ValueChange::Replace { values, .. } => classes.clone_from(values),
        }
    }
    let class = structural_name(execution.schema(), classes.iter().map(Vec::as_slice));
    Ok(Some(ValueChange::Replace {
        attribute: execution.name_of(&known.structural_object_class).into(),
        values: class.into_iter().collect(),
    }))
}
