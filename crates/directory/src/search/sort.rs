//! Server-side sort (RFC 2891): matches are collected with their keys, ordered, and sent at the end.

use std::cmp::Ordering;

use ironbark_ldap_proto::controls::{Control, SortKey, SortKeys, SortResponse};
use ironbark_model::{
    AttributeDescription, Budget, ResultCode, Schema,
    budget::cost_of,
    matching::{self, MatchingRule, RuleKind},
};
use ironbark_store::{EntryId, Record, View};

use super::{
    SearchRun, Walked, encode,
    sort_limits::{self, SortPlace},
    work::Slice,
};
use crate::{
    Configuration, Context, OperationError, Session,
    access::{self, Readable, Source, Subject, VisibleEntry},
    room,
    worker::Scratch,
};

/// Entries that one search may hold to be sorted; past it the result is adminLimitExceeded.
const COLLECT_LIMIT: usize = 1_000_000;
/// Values of an attribute, and octets of one, that are not worth counting.
const FEW_VALUES: usize = 16;
const SHORT: usize = 256;
/// Entries that are sorted between two looks at what is left of the steps.
const SORTED_AT_ONCE: usize = 1 << 12;

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
    collected: Vec<Collected>,
    /// How many of them are sent.
    next: usize,
    sorted: bool,
    /// Why an uncritical sort is not done: the entries come unsorted (RFC 2891 §2).
    refused: Option<(ResultCode, Vec<u8>)>,
    /// Among the searches that are limited.
    place: Option<SortPlace>,
}

#[derive(Debug)]
struct Collected {
    /// Normal forms of the smallest value of each key; `None` sorts last (RFC 2891 §2.2).
    keys: Box<[Option<Box<[u8]>>]>,
    context: i32,
    id: EntryId,
}

impl Sorting {
    /// Resolves the keys.
    ///
    /// # Errors
    /// When a critical sort cannot be done, with the code that the response control has too. An uncritical one is then passed over, and
    /// the response control says why (RFC 2891 §2); slapd refuses either.
    pub(crate) fn resolve(schema: &Schema, control: &Control<SortKeys<'_>>) -> Result<Self, OperationError> {
        let mut sorting = Self {
            keys: Vec::new(),
            collected: Vec::new(),
            next: 0,
            sorted: false,
            refused: None,
            place: None,
        };
        for key in &control.value.0 {
            match resolve_key(schema, key, control.critical) {
                Ok(key) => sorting.keys.push(key),
                Err(error) if control.critical => {
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
        session: &mut Session,
        configuration: &Configuration,
        context: &Context,
    ) -> Result<(), OperationError> {
        if self.is_active() {
            self.place = sort_limits::admit(session, configuration, context, self.keys.len())?;
        }
        Ok(())
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
    fn following(&self) -> Option<(i32, EntryId)> {
        let found = self.collected.get(self.next)?;
        Some((found.context, found.id))
    }

    /// Whether sorted entries are left to send.
    pub(super) fn has_more(&self) -> bool {
        self.next < self.collected.len()
    }

    /// Remembers a match. All matches are sorted before a size limit cuts them; of those that it will cut one is kept.
    pub(super) fn collect(
        &mut self,
        schema: &Schema,
        context: &Context,
        (record, entry): (&Record<'_>, &VisibleEntry<'_>),
        size_limit: Option<u32>,
        work: &mut Vec<u8>,
    ) -> Result<Option<Walked>, OperationError> {
        let wanted = size_limit.and_then(|limit| usize::try_from(limit).ok()?.checked_add(1));
        if let Some(wanted) = wanted
            && self.collected.len() >= wanted.saturating_mul(2).max(FEW)
        {
            if !self.order(record.view().budget()) {
                return Ok(None);
            }
            self.collected.truncate(wanted);
        }
        if self.collected.len() >= COLLECT_LIMIT {
            return Err(OperationError::new(
                ResultCode::ADMIN_LIMIT_EXCEEDED,
                "too many entries to sort",
            ));
        }
        room::make(&mut self.collected, 1)?;
        let mut keys = Vec::with_capacity(self.keys.len());
        for key in &self.keys {
            keys.push(smallest(schema, (record, entry), key, work)?);
        }
        if record.view().is_exhausted() {
            return Ok(None);
        }
        self.collected.push(Collected {
            keys: keys.into(),
            context: context.number,
            id: record.id,
        });
        Ok(None)
    }

    /// Puts what is collected in order; what is equal stays in the order in which it came. Piece by piece, and then what is in order already as a
    /// whole; false when the steps do not suffice.
    fn order(&mut self, budget: Option<&Budget>) -> bool {
        let Self { keys, collected, .. } = self;
        let order = |a: &Collected, b: &Collected| {
            for (key, (a, b)) in keys.iter().zip(a.keys.iter().zip(b.keys.iter())) {
                let order = match (a, b) {
                    (None, None) => Ordering::Equal,
                    (None, Some(_)) => Ordering::Greater,
                    (Some(_), None) => Ordering::Less,
                    (Some(a), Some(b)) => a.cmp(b),
                };
                if order != Ordering::Equal {
                    return if key.reverse { order.reverse() } else { order };
                }
            }
            Ordering::Equal
        };
        // The comparisons of a piece, and those that put the pieces together.
        let spend = |steps: u64| budget.is_none_or(|budget| budget.spend(steps));
        let steps = |count: usize| count as u64 * u64::from(count.max(2).ilog2());
        let is_affordable = collected.chunks_mut(SORTED_AT_ONCE).all(|piece| {
            let is_affordable = spend(steps(piece.len()));
            if is_affordable {
                piece.sort_by(order);
            }
            is_affordable
        });
        let pieces = collected.len().div_ceil(SORTED_AT_ONCE);
        if !is_affordable || !spend(collected.len() as u64 * u64::from(pieces.max(1).ilog2())) {
            return false;
        }
        collected.sort_by(order);
        true
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

/// The normal form of the smallest value of a key that may be read: an order by others would tell them.
fn smallest(
    schema: &Schema,
    (record, entry): (&Record<'_>, &VisibleEntry<'_>),
    key: &Key,
    work: &mut Vec<u8>,
) -> Result<Option<Box<[u8]>>, OperationError> {
    let mut best: Option<Box<[u8]>> = None;
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
            if (key.rule.normalize_value)(schema, value, work).is_ok()
                && best.as_deref().is_none_or(|best| work.as_slice() < best)
            {
                best = Some(work.as_slice().into());
            }
            std::ops::ControlFlow::Continue(())
        })?;
    }
    Ok(best)
}

/// Sends sorted entries once the walk is through. Does nothing for unsorted searches.
pub(super) fn emit(run: &mut SearchRun, scratch: &mut Scratch, slice: &mut Slice<'_>, out: &mut Vec<u8>) -> Walked {
    match emit_all(run, scratch, slice, out) {
        Ok(walked) => walked,
        Err(error) => {
            run.verdict = Some(error);
            Walked::Finish
        }
    }
}

fn emit_all(
    run: &mut SearchRun,
    scratch: &mut Scratch,
    slice: &mut Slice<'_>,
    out: &mut Vec<u8>,
) -> Result<Walked, OperationError> {
    let Some(sorting) = run.extras.as_mut().and_then(|extras| extras.sort.as_mut()) else {
        return Ok(Walked::Through);
    };
    if !sorting.sorted {
        room::passing::<Collected>(sorting.collected.len())?;
        if !sorting.order(Some(slice.budget)) {
            return Ok(Walked::Exhausted);
        }
        sorting.sorted = true;
        slice.has_advanced = true;
    }
    loop {
        let is_cut = run.size_is_reached();
        let Some(sorting) = run.extras.as_mut().and_then(|extras| extras.sort.as_mut()) else {
            break;
        };
        let Some((number, id)) = sorting.following() else {
            break;
        };
        if slice.is_used_up(out) {
            return Ok(Walked::SliceEnd);
        }
        if is_cut {
            if run.verdict.is_none() {
                run.stop_with(ResultCode::SIZE_LIMIT_EXCEEDED, "");
            }
            break;
        }
        sorting.next += 1;
        let configuration = run.configuration.clone();
        let Some(context) = configuration.contexts.iter().find(|context| context.number == number) else {
            continue;
        };
        let Some(snapshot) = scratch.take_snapshot(context)? else {
            continue;
        };
        let before = out.len();
        let is_sent = emit_entry(run, context, snapshot.view().under(slice.budget), id, scratch, out);
        scratch.keep_snapshot(snapshot);
        if slice.budget.is_exhausted() {
            out.truncate(before);
            if let Some(sorting) = run.extras.as_mut().and_then(|extras| extras.sort.as_mut()) {
                sorting.next -= 1;
            }
            return Ok(Walked::Exhausted);
        }
        slice.has_advanced = true;
        if !is_sent? {
            continue;
        }
        run.sent += 1;
        if run
            .extras
            .as_mut()
            .and_then(|extras| extras.paged.as_mut())
            .is_some_and(super::paged::Page::count)
        {
            return Ok(Walked::Finish);
        }
    }
    Ok(Walked::Through)
}

/// Appends an entry unless it has gone or become invisible since it was sorted.
fn emit_entry(
    run: &SearchRun,
    context: &Context,
    view: View<'_>,
    id: EntryId,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<bool, OperationError> {
    let Some(record) = view.record(id)? else {
        return Ok(false);
    };
    let subject = Subject::of(&run.origin, context);
    let standing = scratch.standing(&run.configuration, context, &run.origin);
    let parts = scratch.parts(context);
    parts.names.write_dn(view, &record, parts.dn)?;
    let source = Source::Record(&record, view);
    let placed = (source, parts.names.place(view, &record)?);
    let check = access::check_remembered(&run.configuration, context, subject, placed, standing.as_ref());
    let Some(entry) = access::visible(check.as_ref(), source, parts.dn) else {
        return Ok(false);
    };
    encode::entry(run, &entry, (parts.answers, parts.work, view.budget()), out)?;
    Ok(true)
}
