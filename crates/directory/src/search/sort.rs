//! Server-side sort (RFC 2891): matches are collected with their keys, ordered, and sent at the end.

mod collected;

use ironbark_ldap_proto::controls::{Control, SortKey, SortKeys, SortResponse};
use ironbark_model::{
    AttributeDescription, Budget, ResultCode, Schema,
    budget::cost_of,
    matching::{self, MatchingRule, RuleKind},
};
use ironbark_store::{EntryId, Record};
use std::{
    ops::Range,
    sync::{Arc, atomic::AtomicU32},
};

use self::collected::Collected;
use super::sort_limits::{self, SortPlace};
use crate::{
    Configuration, NamingContext, OperationError,
    access::{Readable, VisibleEntry},
};

pub(super) use self::collected::LIMIT as OCTETS_LIMIT;

/// Values of an attribute, and octets of one, that are not worth counting.
const FEW_VALUES: usize = 16;
const SHORT: usize = 256;
/// Sort keys that are not worth counting.
const FEW_KEYS: usize = 5;
/// Entries that are collected at least before those past a size limit are let go.
const FEW: usize = 1_024;

/// One sort key, resolved.
#[derive(Debug)]
struct Key {
    attribute: AttributeDescription,
    rule: &'static MatchingRule,
    reverse: bool,
}

/// The state of a sorted search.
#[derive(Debug)]
pub(crate) struct Sorting {
    keys: Vec<Key>,
    collected: Collected,
    /// The place of the entry to be sent next.
    pub(super) next: usize,
    /// Behind the last that is to be sent, once they are in order and that is known.
    end: Option<usize>,
    sorted: bool,
    /// Why an uncritical sort is not done: the entries come unsorted (RFC 2891 §2).
    refused: Option<(ResultCode, Vec<u8>)>,
    /// Among the searches that are limited.
    place: Option<SortPlace>,
    /// Memory for the value of a key.
    best: Vec<u8>,
}

impl Sorting {
    /// Resolves the keys.
    ///
    /// # Errors
    /// When a sort that is critical, or needed by another control, cannot be done, with the code that the response
    /// control has too. Another one is then passed over, and the response control says why (RFC 2891 §2); slapd refuses
    /// either.
    pub(crate) fn resolve(
        schema: &Schema,
        control: &Control<SortKeys<'_>>,
        is_needed: bool,
    ) -> Result<Self, OperationError> {
        let mut sorting = Self {
            keys: Vec::new(),
            collected: Collected::default(),
            next: 0,
            end: None,
            sorted: false,
            refused: None,
            place: None,
            best: Vec::new(),
        };
        for key in &control.value.0 {
            match resolve_key(schema, key, control.critical) {
                // One that is there already decides nothing.
                Ok(key) if sorting.keys.iter().any(|known| known.is_like(&key)) => {}
                Ok(key) => sorting.keys.push(key),
                Err(error) if control.critical || is_needed => {
                    return Err(error.clone().with_control(&SortResponse {
                        code: error.result_code,
                        attribute: Some(key.attribute),
                    }));
                }
                Err(error) => {
                    sorting.keys.clear();
                    sorting.refused = Some((error.result_code, key.attribute.to_vec()));
                    break;
                }
            }
        }
        Ok(sorting)
    }

    /// Lets it in, as far as sorting is limited.
    ///
    /// # Errors
    /// As of [`sort_limits::admit`].
    pub(super) fn admit(
        &mut self,
        of_connection: &mut Option<Arc<AtomicU32>>,
        configuration: &Configuration,
        context: &NamingContext,
    ) -> Result<(), OperationError> {
        if self.is_active() {
            self.place = sort_limits::admit(of_connection, configuration, context)?;
        }
        Ok(())
    }

    /// Entries that were collected.
    pub(super) fn len(&self) -> usize {
        self.collected.len()
    }

    /// Whether what was collected is in order.
    pub(super) fn is_ordered(&self) -> bool {
        self.sorted
    }

    /// Puts what was collected in order; false when the steps run out before.
    ///
    /// # Errors
    /// `adminLimitExceeded`: there is no memory for it.
    pub(super) fn order(&mut self, budget: &Budget) -> Result<bool, OperationError> {
        self.collected.make_room_to_order()?;
        if !self.collected.order(Some(budget)) {
            return Ok(false);
        }
        self.sorted = true;
        Ok(true)
    }

    /// How many entries, which are in order, stand before the first whose primary key is not before this value, in the
    /// order of that key; `None`: the steps do not suffice.
    pub(super) fn place_of(
        &mut self,
        schema: &Schema,
        value: &[u8],
        budget: &Budget,
    ) -> Result<Option<usize>, PlaceError> {
        let Some(key) = self.keys.first() else {
            return Ok(Some(0));
        };
        if !budget.spend(cost_of(value)) {
            return Ok(None);
        }
        self.best.clear();
        let normal_form = key.rule.assertion(schema, value, &mut self.best);
        normal_form.map_err(|_| PlaceError::Value)?;
        let place = self.collected.place_of(&self.best, key.reverse, budget);
        place.map_err(PlaceError::Operation)
    }

    /// Whether it is known what is to be sent.
    pub(super) fn is_shown(&self) -> bool {
        self.end.is_some()
    }

    /// These are to be sent, of what is in order.
    pub(super) fn show(&mut self, shown: Range<usize>) {
        self.next = shown.start;
        self.end = Some(shown.end);
        self.collected.forget_keys();
    }

    /// Whether it has a place among the searches that are limited.
    pub(super) fn is_limited(&self) -> bool {
        self.place.is_some()
    }

    /// The response control.
    pub(super) fn response(&self) -> SortResponse<'_> {
        match &self.refused {
            None => SortResponse {
                code: ResultCode::SUCCESS,
                attribute: None,
            },
            Some((code, attribute)) => SortResponse {
                code: *code,
                attribute: Some(attribute),
            },
        }
    }

    /// Whether matches are to be collected; an uncritical sort that cannot be done leaves them in their order.
    pub(super) fn is_active(&self) -> bool {
        self.refused.is_none()
    }

    /// The entry to be sent next, and its database.
    pub(super) fn following(&self) -> Option<(i32, EntryId)> {
        self.collected.get(self.next).filter(|_| self.has_more())
    }

    /// Octets that it holds.
    pub(super) fn octets(&self) -> usize {
        self.collected.octets()
    }

    /// Whether sorted entries are left to send.
    pub(super) fn has_more(&self) -> bool {
        self.next < self.end.unwrap_or(self.collected.len())
    }

    /// Remembers a match. All matches are sorted before a size limit cuts them; of those that it will cut one is kept.
    pub(super) fn collect(
        &mut self,
        schema: &Schema,
        context: &NamingContext,
        (record, entry): (&Record<'_>, &VisibleEntry<'_>),
        size_limit: Option<u32>,
        work: &mut Vec<u8>,
    ) -> Result<(), OperationError> {
        let wanted = size_limit.and_then(|limit| usize::try_from(limit).ok()?.checked_add(1));
        let budget = record.view().budget();
        if let Some(wanted) = wanted
            && self.collected.len() >= wanted.saturating_mul(2).max(FEW)
        {
            if !self.collected.order(budget) {
                return Ok(());
            }
            self.collected.truncate(wanted)?;
        }
        if self.keys.len() > FEW_KEYS && !record.view().spend(self.keys.len() as u64) {
            return Ok(());
        }
        let mut entry_keys = self.collected.begin();
        for key in &self.keys {
            let found = smallest(schema, (record, entry), key, (work, &mut self.best))?;
            entry_keys.add(found.then_some(&self.best), key.reverse)?;
        }
        if !entry_keys.is_affordable(budget) || record.view().is_exhausted() {
            return Ok(());
        }
        entry_keys.finish(context.number, record.id)?;
        Ok(())
    }
}

/// Why a value has no place among the keys.
#[derive(Debug)]
pub(super) enum PlaceError {
    /// It does not conform to the rule of the primary key.
    Value,
    /// As of any operation.
    Operation(OperationError),
}

impl Key {
    /// Whether entries that are equal by the one are so by the other.
    fn is_like(&self, other: &Self) -> bool {
        self.attribute == other.attribute && std::ptr::eq(self.rule, other.rule)
    }
}

fn resolve_key(schema: &Schema, key: SortKey<'_>, critical: bool) -> Result<Key, OperationError> {
    let attribute = schema.attribute_description(key.attribute).map_err(|_| {
        OperationError::new(
            ResultCode::NO_SUCH_ATTRIBUTE,
            "serverSort control: Unrecognized attribute type in sort key",
        )
    })?;
    let attribute_type = schema.attribute_type(attribute.attribute_type);
    let rule = match key.ordering_rule {
        // Normal forms have an order whatever they are made for.
        Some(name) => matching::find(name).filter(|rule| matches!(rule.kind, RuleKind::Ordering | RuleKind::Equality)),
        // Whoever does not insist gets entries in the order of the equality rule rather than in none.
        None => attribute_type
            .ordering
            .or_else(|| attribute_type.equality.filter(|_| !critical)),
    };
    let rule = rule.ok_or_else(|| {
        OperationError::new(
            ResultCode::INAPPROPRIATE_MATCHING,
            "serverSort control: No ordering rule",
        )
    })?;
    Ok(Key {
        attribute,
        rule,
        reverse: key.reverse,
    })
}

/// Leaves the normal form of the smallest value of a key that may be read in `best`: an order by others would tell
/// them. Whether there is one.
fn smallest(
    schema: &Schema,
    (record, entry): (&Record<'_>, &VisibleEntry<'_>),
    key: &Key,
    (work, best): (&mut Vec<u8>, &mut Vec<u8>),
) -> Result<bool, OperationError> {
    let mut found = false;
    for attribute in record.answering(&key.attribute) {
        let description = attribute.description();
        let readable = entry.readable(description);
        if matches!(readable, Readable::Alike(false) | Readable::Here(false)) {
            continue;
        }
        let mut seen = 0_usize;
        attribute.for_each(&mut |value| {
            seen += 1;
            if (seen > FEW_VALUES || value.len() > SHORT) && !record.view().spend(cost_of(value)) {
                return std::ops::ControlFlow::Break(());
            }
            work.clear();
            if readable == Readable::ByValue && !entry.may_read(description, Some(value)) {
                return std::ops::ControlFlow::Continue(());
            }
            if (key.rule.normalize_value)(schema, value, work).is_ok() && (!found || *work < *best) {
                found = true;
                std::mem::swap(work, best);
            }
            std::ops::ControlFlow::Continue(())
        })?;
    }
    Ok(found)
}
