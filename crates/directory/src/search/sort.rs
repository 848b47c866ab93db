//! Server-side sorting (RFC 2891): matches are collected with their keys, ordered, and sent at the end.

mod collected;

use ironbark_ldap_proto::controls::{Control, SortKey, SortKeys, SortResponse};
use ironbark_model::{
    AttributeDescription, Budget, ResultCode, Schema,
    budget::cost_of,
    matching::{self, MatchingRule, RuleKind},
};
use ironbark_store::{EntryId, Purpose, Record};
use std::{
    ops::Range,
    sync::{Arc, atomic::AtomicU32},
};

use self::collected::Collected;
use super::{
    sort_limits::{self, SortPlace},
    target::Extent,
};
use crate::{
    Configuration, NamingContext, OperationError,
    access::{Readable, VisibleEntry},
    refusal::SortRefusal,
};

pub(super) use self::collected::LIMIT as OCTETS_LIMIT;

/// This many values of an attribute, and octets of a value, are not counted as work.
const FEW_VALUES: usize = 16;
const SHORT: usize = 256;
/// This many sort keys are not counted as work.
const FEW_KEYS: usize = 5;
/// Least number of collected entries at which those beyond a size limit are dropped.
const FEW: usize = 1_024;

/// A resolved sort key.
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
    /// The place of the next entry to send.
    pub(super) next: usize,
    /// The place after the last entry to send. `None`: not known yet.
    end: Option<usize>,
    sorted: bool,
    /// The reason why an uncritical sort is not done. The entries then come unsorted (RFC 2891 §2).
    refused: Option<(ResultCode, Vec<u8>)>,
    /// Whether the result says nothing of the sort. The client asked for an order that the attribute does not have, and
    /// the control is not critical. As in slapd, there is no response control then; the entries may come in the order
    /// of the equality rule.
    is_silent: bool,
    /// The size limit behind which collected entries were dropped.
    cut_at: Option<u32>,
    /// Set when the search goes on under rules or limits that may be others than when its entries were collected: what
    /// it covers now.
    covered: Option<Vec<Extent>>,
    /// The search's place among the limited sorted searches.
    place: Option<SortPlace>,
    /// Memory for the value of a key.
    best: Vec<u8>,
}

impl Sorting {
    /// Resolves the keys.
    ///
    /// # Errors
    /// The sort cannot be done, and it is critical or needed by another control. The response control has the
    /// same code. An uncritical sort is passed over, and the response control says why (RFC 2891 §2); slapd refuses it
    /// too.
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
            is_silent: false,
            cut_at: None,
            covered: None,
            place: None,
            best: Vec::new(),
        };
        for key in &control.value.0 {
            let may_be_silent = !control.critical && !is_needed;
            sorting.is_silent |= may_be_silent && key.ordering_rule.is_none() && has_no_order(schema, key.attribute);
            match resolve_key(schema, key, control.critical).map_err(OperationError::from) {
                // A repeated key decides nothing.
                Ok(key) if sorting.keys.iter().any(|known| known.is_like(&key)) => {}
                Ok(key) => sorting.keys.push(key),
                Err(error) if control.critical || is_needed => {
                    let code = error.result_code;
                    let attribute = Some(key.attribute);
                    return Err(error.with_control(&SortResponse { code, attribute }));
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

    /// The attributes of the keys.
    pub(super) fn attributes(&self) -> impl Iterator<Item = &AttributeDescription> {
        self.keys.iter().map(|key| &key.attribute)
    }

    /// Takes a place among the sorted searches, if these are limited.
    ///
    /// # Errors
    /// The same as of [`sort_limits::admit`].
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

    /// Takes over the place among the sorted searches.
    pub(super) fn take_place(&mut self, former: &mut Self) -> bool {
        self.place = former.place.take();
        self.place.is_some()
    }

    /// Goes on with what was collected. `covered`: what the search covers now, if it has begun.
    pub(super) fn continue_from(&mut self, former: Self, covered: Option<Vec<Extent>>) {
        let place = self.place.take().or(former.place);
        *self = Self {
            keys: std::mem::take(&mut self.keys),
            place,
            covered,
            ..former
        };
    }

    /// Gives the databases of the collected entries the numbers that they have now: pairs of former and present ones.
    /// False: an entry is in none of these databases.
    pub(super) fn renumber(&mut self, known: &[(i32, i32)]) -> bool {
        self.collected.renumber(known)
    }

    /// Adds what aliases lead to now.
    pub(super) fn cover_more(&mut self, extents: &[Extent]) {
        if let Some(covered) = &mut self.covered {
            covered.extend_from_slice(extents);
        }
    }

    /// What the search covers now. `None`: all that was collected.
    pub(super) fn covered(&self) -> Option<&[Extent]> {
        self.covered.as_deref()
    }

    /// Whether the search still covers a part of the database of this number.
    pub(super) fn covers(&self, number: i32) -> bool {
        let is_its = |extent: &Extent| extent.number == number;
        self.covered.as_ref().is_none_or(|covered| covered.iter().any(is_its))
    }

    /// Whether behind so many entries some were dropped.
    pub(super) fn is_cut_behind(&self, sent: u32) -> bool {
        self.cut_at.is_some_and(|limit| sent >= limit)
    }

    /// Number of collected entries.
    pub(super) fn len(&self) -> usize {
        self.collected.len()
    }

    /// Whether the collected entries are in order.
    pub(super) fn is_ordered(&self) -> bool {
        self.sorted
    }

    /// Orders the collected entries. False: the steps have run out.
    ///
    /// # Errors
    /// `adminLimitExceeded`: memory is short.
    pub(super) fn order(&mut self, budget: &Budget) -> Result<bool, OperationError> {
        self.collected.make_room_to_order()?;
        if !self.collected.order(Some(budget)) {
            return Ok(false);
        }
        self.sorted = true;
        Ok(true)
    }

    /// The number of entries before the first one whose primary key is not less than `value`, in the order of that key.
    /// The entries must be in order. `None`: the steps do not suffice.
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

    /// Whether the part to be sent is known.
    pub(super) fn is_shown(&self) -> bool {
        self.end.is_some()
    }

    /// Sets the part of the ordered entries to be sent.
    pub(super) fn show(&mut self, shown: Range<usize>) {
        self.next = shown.start;
        self.end = Some(shown.end);
        self.collected.forget_keys();
    }

    /// Whether it has a place among the limited sorted searches.
    pub(super) fn is_limited(&self) -> bool {
        self.place.is_some()
    }

    /// The response control, if there is one.
    pub(super) fn response(&self) -> Option<SortResponse<'_>> {
        match &self.refused {
            _ if self.is_silent => None,
            None => Some(SortResponse {
                code: ResultCode::SUCCESS,
                attribute: None,
            }),
            Some((code, attribute)) => Some(SortResponse {
                code: *code,
                attribute: Some(&**attribute).filter(|name| !name.is_empty()),
            }),
        }
    }

    /// Lets the entries come unsorted, for this reason.
    pub(super) fn pass_over(&mut self, reason: ResultCode) {
        (self.refused, self.place) = (Some((reason, Vec::new())), None);
    }

    /// Whether matches are collected. If an uncritical sort cannot be done, they are sent in their own order.
    pub(super) fn is_active(&self) -> bool {
        self.refused.is_none()
    }

    /// The next entry to send: the number of its database, and its ID.
    pub(super) fn following(&self) -> Option<(i32, EntryId)> {
        self.collected.get(self.next).filter(|_| self.has_more())
    }

    /// Octets of memory.
    pub(super) fn octets(&self) -> usize {
        self.collected.octets()
    }

    /// Whether sorted entries are left to send.
    pub(super) fn has_more(&self) -> bool {
        self.next < self.end.unwrap_or(self.collected.len())
    }

    /// Collects a match. A size limit applies after sorting. Of the matches beyond it one is kept, which shows that the
    /// limit is exceeded.
    pub(super) fn collect(
        &mut self,
        schema: &Schema,
        context: &NamingContext,
        record: &Record<'_>,
        entry: &VisibleEntry<'_>,
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
            self.cut_at = self.cut_at.min(size_limit).or(size_limit);
        }
        if self.keys.len() > FEW_KEYS && !record.view().spend(self.keys.len() as u64) {
            return Ok(());
        }
        let mut entry_keys = self.collected.begin();
        for key in &self.keys {
            let found = smallest(schema, record, entry, key, work, &mut self.best)?;
            entry_keys.add(found.then_some(&self.best), key.reverse)?;
        }
        if !entry_keys.is_affordable(budget) || record.view().is_exhausted() {
            return Ok(());
        }
        entry_keys.finish(context.number, record.id)?;
        Ok(())
    }
}

/// The reason why a value has no place among the keys.
#[derive(Debug)]
pub(super) enum PlaceError {
    /// The value does not conform to the rule of the primary key.
    Value,
    /// Any other failure.
    Operation(OperationError),
}

impl Key {
    /// Whether entries with the same value of one key also have the same value of the other.
    fn is_like(&self, other: &Self) -> bool {
        self.attribute == other.attribute && std::ptr::eq(self.rule, other.rule)
    }
}

/// Whether an attribute is known and has no ordering rule.
fn has_no_order(schema: &Schema, attribute: &[u8]) -> bool {
    let description = schema.attribute_description(attribute);
    description.is_ok_and(|one| schema.attribute_type(one.attribute_type).ordering.is_none())
}

fn resolve_key(schema: &Schema, key: SortKey<'_>, critical: bool) -> Result<Key, SortRefusal> {
    let attribute = schema
        .attribute_description(key.attribute)
        .map_err(|_| SortRefusal::UndefinedAttribute)?;
    let attribute_type = schema.attribute_type(attribute.attribute_type);
    let rule = match key.ordering_rule {
        // Normal forms of equality rules have an order too.
        Some(name) => matching::find(name).filter(|rule| matches!(rule.kind, RuleKind::Ordering | RuleKind::Equality)),
        // For an uncritical sort the order of the equality rule is better than none.
        None => attribute_type
            .ordering
            .or_else(|| attribute_type.equality.filter(|_| !critical)),
    };
    let rule = rule.ok_or(SortRefusal::NoOrderingRule)?;
    Ok(Key {
        attribute,
        rule,
        reverse: key.reverse,
    })
}

/// Leaves the normal form of a key's smallest value in `best`; returns whether there is one. Only readable values
/// count, because the order would reveal other values.
fn smallest(
    schema: &Schema,
    record: &Record<'_>,
    entry: &VisibleEntry<'_>,
    key: &Key,
    work: &mut Vec<u8>,
    best: &mut Vec<u8>,
) -> Result<bool, OperationError> {
    let mut found = false;
    let derived = record.derived(&key.attribute, Purpose::Show)?;
    for attribute in derived.attributes() {
        for value in &attribute.values {
            work.clear();
            let is_shown = entry.may_read(&attribute.description, Some(value));
            if is_shown && (key.rule.normalize_value)(schema, value, work).is_ok() && (!found || *work < *best) {
                found = true;
                std::mem::swap(work, best);
            }
        }
    }
    for attribute in record.answering(&key.attribute) {
        let description = attribute.description();
        let readable = entry.readable(description);
        if matches!(readable, Readable::Alike(false) | Readable::Here(false)) || !derived.keeps_stored(description) {
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
