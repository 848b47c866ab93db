//! Virtual list views: the part of a sorted list that a client wants (draft-ietf-ldapext-ldapv3-vlv-09,
//! slapo-sssvlv(5)).
//!
//! Each request sorts again the entries that its client may see then. Nothing is kept between requests, and responses
//! have no context ID. A context ID in a request is ignored: slapd begins a new list for an unknown one.

use std::ops::Range;

use ironbark_ldap_proto::controls::{ListTarget, RequestControls, VirtualListView, VirtualListViewResponse};
use ironbark_model::{Budget, ResultCode, Schema};

use super::sort::{PlaceError, Sorting};
use crate::{
    NamingContext, OperationError,
    overlay::overlays_of,
    refusal::{ControlRefusal, ListViewRefusal},
};

/// A client's request for a part of a list, and the response.
#[derive(Debug)]
pub(crate) struct ListView {
    before: u32,
    after: u32,
    target: Target,
    response: Option<VirtualListViewResponse<'static>>,
}

#[derive(Debug)]
enum Target {
    Offset { offset: u32, content_count: u32 },
    Value(Vec<u8>),
}

impl ListView {
    /// The requested view. `None` if the request has no such control, or an uncritical one that cannot be obeyed.
    ///
    /// # Errors
    /// `virtualListViewError` without a sort, `unwillingToPerform` with pages. `unavailableCriticalExtension`
    /// if the database has no overlay for views, or if the search cannot be sorted.
    pub(super) fn asked_for(
        context: &NamingContext,
        is_sorted: bool,
        controls: &RequestControls<'_>,
        is_paged: bool,
    ) -> Result<Option<Self>, OperationError> {
        let Some(control) = &controls.virtual_list_view else {
            return Ok(None);
        };
        if !is_sorted || overlays_of(context).sort_limits.is_none() {
            return if control.critical {
                Err(ControlRefusal::Unavailable.into())
            } else {
                Ok(None)
            };
        }
        if controls.server_side_sort.is_none() {
            let missing = response(0, 0, ResultCode::SORT_CONTROL_MISSING);
            return Err(OperationError::from(ListViewRefusal::Unsorted).with_control(&missing));
        }
        if is_paged {
            return Err(ListViewRefusal::Paged.into());
        }
        Ok(Some(Self::of(&control.value)))
    }

    fn of(asked: &VirtualListView<'_>) -> Self {
        Self {
            before: asked.before,
            after: asked.after,
            target: match asked.target {
                ListTarget::Offset { offset, content_count } => Target::Offset { offset, content_count },
                ListTarget::Value(value) => Target::Value(value.to_vec()),
            },
            response: None,
        }
    }

    /// The entries of the ordered list that are sent. `None`: the steps did not suffice.
    ///
    /// # Errors
    /// `virtualListViewError`: the list has no such target. `adminLimitExceeded`: memory is short.
    pub(super) fn window(
        &mut self,
        schema: &Schema,
        sorting: &mut Sorting,
        budget: &Budget,
    ) -> Result<Option<Range<usize>>, OperationError> {
        let count = sorting.len();
        let located = match &self.target {
            &Target::Offset { offset, content_count } => position(offset, content_count, count)
                .ok_or((ResultCode::OFFSET_RANGE_ERROR, ListViewRefusal::OffsetTooLarge)),
            Target::Value(value) => match sorting.place_of(schema, value, budget) {
                Ok(Some(place)) => Ok(place + 1),
                Ok(None) => return Ok(None),
                Err(PlaceError::Value) => Err((ResultCode::INAPPROPRIATE_MATCHING, ListViewRefusal::InvalidValue)),
                Err(PlaceError::Operation(error)) => return Err(error),
            },
        };
        let position = match located {
            _ if count == 0 => 0,
            Ok(position) => position,
            Err((code, refusal)) => {
                self.response = Some(response(0, count, code));
                return Err(refusal.into());
            }
        };
        self.response = Some(response(position, count, ResultCode::SUCCESS));
        Ok(Some(around(position, self.before, self.after, count)))
    }

    /// The response control, after [`ListView::window`].
    pub(super) fn response(&self) -> Option<VirtualListViewResponse<'static>> {
        self.response
    }
}

/// The position, counted from 1, of the entry at an offset in a list of `count` entries. The client believes that the
/// list has `content_count` entries; if it does not know (0), the offset is the position. Offset 0 is the first entry
/// too, as in slapd. If both numbers are equal, it is the last entry, even if both are 0 (§5: `Ci = Cc`). `None`:
/// behind the end.
fn position(offset: u32, content_count: u32, count: usize) -> Option<usize> {
    match content_count {
        _ if offset == content_count => Some(count),
        _ if offset <= 1 => Some(1),
        0 => usize::try_from(offset).ok().filter(|offset| *offset <= count),
        _ if offset > content_count => None,
        _ => {
            // 128 bits cannot overflow here.
            let (offset, all) = (u128::from(offset), u128::from(content_count));
            let nearest = (2 * count as u128 * offset + all) / (2 * all);
            usize::try_from(nearest).ok().map(|nearest| nearest.max(1))
        }
    }
}

/// The existing entries around a position, which is counted from 1.
fn around(position: usize, before: u32, after: u32, count: usize) -> Range<usize> {
    let Some(target) = position.checked_sub(1) else {
        return 0..0;
    };
    let [before, after] = [before, after].map(|entries| usize::try_from(entries).unwrap_or(usize::MAX));
    target.saturating_sub(before)..position.saturating_add(after).min(count)
}

fn response(position: usize, count: usize, code: ResultCode) -> VirtualListViewResponse<'static> {
    // A sorted list never has so many entries.
    let [target_position, content_count] = [position, count].map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    VirtualListViewResponse {
        target_position,
        content_count,
        code,
        context_id: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_ratios_rounded_to_the_nearest_position() {
        for ((offset, content_count, count), expected) in [
            // The first entry, the last entry, and no content count.
            ((1, 0, 20), Some(1)),
            ((1, 7, 20), Some(1)),
            ((1, 1, 20), Some(20)),
            ((20, 20, 20), Some(20)),
            ((5, 5, 20), Some(20)),
            ((7, 0, 20), Some(7)),
            ((20, 0, 20), Some(20)),
            ((21, 0, 20), None),
            // The right content count, and wrong ones.
            ((7, 20, 20), Some(7)),
            ((21, 20, 20), None),
            ((10, 40, 20), Some(5)),
            ((2, 6, 20), Some(7)),
            ((4, 6, 20), Some(13)),
            ((3, 8, 20), Some(8)),
            ((5, 6, 20), Some(17)),
            ((2, 1_000, 20), Some(1)),
            ((999, 1_000, 20), Some(20)),
            ((7, 6, 20), None),
            // Offset 0, as in slapd, and large numbers.
            ((0, 20, 20), Some(1)),
            ((0, 0, 20), Some(20)),
            ((u32::MAX - 1, u32::MAX, usize::MAX), Some(18_446_744_069_414_584_318)),
            ((u32::MAX, 0, usize::MAX), Some(4_294_967_295)),
        ] {
            assert_eq!(
                position(offset, content_count, count),
                expected,
                "{offset}/{content_count} of {count}"
            );
        }
    }

    #[test]
    fn windows_end_with_the_list() {
        for ((position, (before, after), count), expected) in [
            ((1, (0, 0), 20), 0..1),
            ((1, (5, 2), 20), 0..3),
            ((10, (2, 3), 20), 7..13),
            ((20, (1, 5), 20), 18..20),
            ((10, (u32::MAX, u32::MAX), 20), 0..20),
            // A position behind the end.
            ((21, (0, 5), 20), 20..20),
            ((21, (3, 5), 20), 17..20),
            ((0, (3, 5), 0), 0..0),
        ] {
            assert_eq!(
                around(position, before, after, count),
                expected,
                "{position} {before} {after}"
            );
        }
    }
}
