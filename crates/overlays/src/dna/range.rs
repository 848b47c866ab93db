//! A range of numbers: which one is free.
//!
//! The number after the last one that was given is kept in a note of the database, in the transaction of the write that
//! gets the number. So the number of a deleted entry is not given again: files may still belong to it. Without a note,
//! after slapadd or when the settings of the range are new, the search begins at the first number. Each number is
//! looked up in the index, and what is used is passed over once: the place is kept in memory, also if the write fails.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicU64, Ordering},
};

use ironbark_directory::{OperationError, overlay::Execution};
use ironbark_model::{AttributeDescription, Budget, CompiledFilter, Dn, ResultCode, Schema, Truth};
use ironbark_store::{DitScope, EntryId, Location, StoreError, View};

use crate::{after::normal_form, under_way::UnderWay};

/// See the module.
pub(super) struct Range {
    /// The attributes that have the numbers.
    pub(super) types: Vec<AttributeDescription>,
    pub(super) filter: CompiledFilter,
    pub(super) scope: Option<Dn>,
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) interval: u64,
    pub(super) threshold: u64,
    /// Name of the note; another range has another one.
    pub(super) note: String,
    /// All numbers before this one are used, or were when the index was asked.
    passed: AtomicU64,
    /// The number for the write under way.
    pending: UnderWay<u64>,
}

/// Where the used numbers are found.
enum Used<'v> {
    Indexed(View<'v>, Option<EntryId>),
    /// Without an index: all of them.
    Listed(HashSet<Vec<u8>>),
}

impl Range {
    /// The numbers are the first and the last one, their distance, and how many must be left.
    pub(super) fn new(
        types: Vec<AttributeDescription>,
        names: &[String],
        filter: CompiledFilter,
        scope: Option<Dn>,
        [first, last, interval, threshold]: [u64; 4],
    ) -> Self {
        let names: String = names.join(" ").chars().take(MOST_NAME_CHARACTERS).collect();
        Self {
            types,
            filter,
            scope,
            first,
            last,
            interval,
            threshold,
            note: format!("dna {first} {last} {interval} {names}"),
            passed: AtomicU64::new(first),
            pending: UnderWay::default(),
        }
    }

    /// A number that no entry has but perhaps `own`.
    ///
    /// # Errors
    /// `operationsError`: there is none; `busy`: it takes more than one operation to find one; `adminLimitExceeded`:
    /// that takes too much work without an index.
    pub(super) fn take(&self, execution: &Execution<'_, '_>, own: Option<EntryId>) -> Result<u64, OperationError> {
        let view = execution.view();
        let start = self.next(view)?.max(self.passed.load(Ordering::Relaxed));
        let mut used = Used::Indexed(view, self.base(view)?);
        let mut number = start;
        for _ in 0..MOST_LOOKS {
            if number > self.last {
                self.pass(start, number);
                return Err(self.is_used_up());
            }
            match self.is_used(execution.schema(), &used, number, own)? {
                Some(true) => {}
                Some(false) => {
                    self.pass(start, number);
                    self.pending.note(execution, Some(number));
                    self.warn(start, number);
                    return Ok(number);
                }
                None => {
                    used = Used::Listed(self.list(view, own)?);
                    continue;
                }
            }
            number = number.saturating_add(self.interval);
        }
        self.pass(start, number);
        let text = "dna: looking for a number that is not used takes long; try again";
        Err(OperationError::new(ResultCode::BUSY, text))
    }

    /// Notes that a number was given, if it is among these values of the entry that is written.
    ///
    /// # Errors
    /// The storage failed.
    pub(super) fn note<'v>(
        &self,
        execution: &mut Execution<'_, '_>,
        number: u64,
        mut values: impl Iterator<Item = &'v Vec<u8>>,
    ) -> Result<(), OperationError> {
        if !values.any(|value| *value == text_of(number)) {
            return Ok(());
        }
        let next = number.saturating_add(self.interval);
        execution.put_note(&self.note, &next.to_be_bytes())
    }

    /// The number that was taken for the request under way.
    pub(super) fn taken(&self, execution: &Execution<'_, '_>) -> Option<u64> {
        self.pending.take(execution)
    }

    /// Forgets the number of a request that came to nothing.
    pub(super) fn forget(&self, execution: &Execution<'_, '_>) {
        self.pending.note(execution, None);
    }

    /// Remembers which numbers need not be looked up again. A number that was given only just is not among them: its
    /// write may still come to nothing.
    fn pass(&self, start: u64, number: u64) {
        if number > start {
            self.passed.store(number, Ordering::Relaxed);
        }
    }

    /// The number to try first.
    fn next(&self, view: View<'_>) -> Result<u64, StoreError> {
        let note = view.source(&self.note)?;
        let octets = note.and_then(|note| note.try_into().ok());
        Ok(octets.map_or(self.first, u64::from_be_bytes))
    }

    fn base(&self, view: View<'_>) -> Result<Option<EntryId>, StoreError> {
        let Some(scope) = &self.scope else { return Ok(None) };
        Ok(match view.locate(scope)? {
            Location::Entry(id) => Some(id),
            Location::Missing { .. } => None,
        })
    }

    /// Whether an entry of the range has a number; `None`: no index can tell.
    fn is_used(
        &self,
        schema: &Schema,
        used: &Used<'_>,
        number: u64,
        own: Option<EntryId>,
    ) -> Result<Option<bool>, StoreError> {
        for name in &self.types {
            let normal = normal_form(schema, name, &text_of(number));
            let (view, base) = match used {
                Used::Listed(all) => return Ok(Some(all.contains(&normal))),
                Used::Indexed(view, base) => (view, *base),
            };
            let work = Budget::new(HOLDER_STEPS);
            let view = view.under(&work);
            let Some(holders) = view.holders(name, &normal)? else {
                return Ok(None);
            };
            for id in holders {
                if Some(id) != own && self.counts(view, id, base)? {
                    return Ok(Some(true));
                }
            }
            // A number that very many have, of whom the first ones do not count, is none to give to somebody else.
            if work.is_exhausted() {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    }

    /// Whether a stored entry belongs to the range.
    fn counts(&self, view: View<'_>, id: EntryId, base: Option<EntryId>) -> Result<bool, StoreError> {
        let Some(record) = view.record(id)? else {
            return Ok(false);
        };
        if self.scope.is_some() {
            let Some(base) = base else { return Ok(false) };
            if !record.is_in_scope(base, DitScope::Subtree)? {
                return Ok(false);
            }
        }
        Ok(record.evaluate(&self.filter, &mut Vec::new()) == Truth::True)
    }

    /// The normal forms of all used numbers.
    fn list(&self, view: View<'_>, own: Option<EntryId>) -> Result<HashSet<Vec<u8>>, OperationError> {
        let work = Budget::new(LIST_STEPS);
        let base = self.base(view)?;
        let mut found = HashSet::new();
        let view = view.under(&work);
        for record in view.entries(0)? {
            let record = record?;
            if !work.spend(1) {
                let text = "dna: looking for a number takes too much work: index the attribute";
                return Err(OperationError::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text));
            }
            if Some(record.id) == own || !self.counts(view, record.id, base)? {
                continue;
            }
            for name in &self.types {
                for held in record.answering(name) {
                    for value in held.to_attribute()?.values {
                        found.insert(normal_form(view.schema(), name, &value));
                    }
                }
            }
        }
        Ok(found)
    }

    fn is_used_up(&self) -> OperationError {
        let text = format!("dna: all numbers from {} to {} are used", self.first, self.last);
        OperationError::new(ResultCode::OPERATIONS_ERROR, text)
    }

    /// Warns when few numbers are left: fewer than the threshold, and each time that half of those are gone.
    fn warn(&self, start: u64, number: u64) {
        let left = |number: u64| self.last.saturating_sub(number) / self.interval;
        let (before, after) = (left(start).saturating_add(1), left(number));
        let mut mark = self.threshold;
        while mark > 0 {
            if after < mark && before >= mark {
                let (first, last) = (self.first, self.last);
                tracing::warn!(target: "any", "overlay dna: {after} numbers are left of the range from {first} to {last}");
                return;
            }
            mark /= 2;
        }
    }
}

/// A number as it is stored.
pub(super) fn text_of(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

/// Numbers that one operation looks up: about half a second, in which nobody else writes.
const MOST_LOOKS: u32 = 200_000;
/// Steps that a look at one number takes: some thousand entries that have it.
const HOLDER_STEPS: u64 = 20_000;
/// Entries that are read without an index, as of overlay unique.
const LIST_STEPS: u64 = 10_000_000;
/// Characters of the names in the note, at most: the note has a short key.
const MOST_NAME_CHARACTERS: usize = 300;
