//! Values with a place before them (`X-ORDERED`): an assertion of equality need not name it.

use super::compiled::{CompiledFilter, Slot};
use crate::{Schema, matching::behind_number};

/// Whether values of an attribute have a place before them.
pub(super) fn is_ordered(schema: &Schema, filter: &CompiledFilter, slot: Slot) -> bool {
    let asked = filter.slot(slot);
    asked.is_some_and(|asked| schema.attribute_type(asked.attribute_type).is_ordered)
}

/// What stands behind the place of an ordered value; `None`: the value has none. Few values begin like one that has.
#[inline]
pub(super) fn behind_place<'v>(
    schema: &Schema,
    filter: &CompiledFilter,
    slot: Slot,
    value: &'v [u8],
) -> Option<&'v [u8]> {
    behind_number(value).filter(|_| is_ordered(schema, filter, slot))
}
