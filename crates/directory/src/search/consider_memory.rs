//! Considers entries in memory: those of trees, of backends that have them elsewhere, and deleted ones.

use ironbark_config::access::Privileges;
use ironbark_model::{Entry, Truth, entry::EntrySource, filter::Guard, schema::ObjectClass};

use super::{
    consider::Asker,
    encode::{self, EncodeWith},
    run::{SearchRun, Walked},
    target::{MemoryWalk, in_scope},
    work::Step,
};
use crate::{
    NamingContext, OperationError,
    access::{self, Answerable, Source},
};

/// OID of the class of subentries (RFC 3672 §2.4).
const SUBENTRY: &[u8] = b"2.5.17.0";
/// OID of the class of referral objects (RFC 3296 §2.2).
const REFERRAL: &[u8] = b"2.16.840.1.113730.3.2.6";

impl SearchRun {
    pub(super) fn walk_memory(
        &mut self,
        context: &NamingContext,
        walk: &mut MemoryWalk,
        step: &mut Step<'_>,
    ) -> Result<Walked, OperationError> {
        while let Some(entry) = walk.entries.get(walk.position) {
            if step.is_used_up() {
                return Ok(Walked::SliceEnd);
            }
            if in_scope(&entry.dn, &walk.base, walk.scope) {
                let before = step.out.len();
                let considered = self.consider_memory(context, entry, step);
                if step.is_exhausted() {
                    step.out.truncate(before);
                    return Ok(Walked::Exhausted);
                }
                if let Some(end) = considered? {
                    return Ok(end);
                }
            }
            step.slice.has_advanced = true;
            walk.position += 1;
        }
        Ok(Walked::Through)
    }

    /// Whether an entry in memory is a subentry.
    pub(super) fn is_subentry(&self, entry: &Entry) -> bool {
        self.has_class(entry, SUBENTRY)
    }

    /// Whether an entry in memory is a referral object.
    pub(super) fn is_referral(&self, entry: &Entry) -> bool {
        self.has_class(entry, REFERRAL)
    }

    /// Whether a class of an entry in memory is the class with an OID, or below it.
    fn has_class(&self, entry: &Entry, oid: &[u8]) -> bool {
        let schema = &self.configuration.schema;
        let Some(wanted) = schema.find_object_class(oid) else {
            return false;
        };
        let is_below = |class: &ObjectClass| schema.superclasses(class.number).contains(&wanted.number);
        let classes = entry.attribute(&self.configuration.well_known.object_class);
        let mut values = classes.into_iter().flat_map(|classes| &classes.values);
        values.any(|name| schema.find_object_class(name).is_some_and(is_below))
    }

    /// Whether an entry in memory, whose scope was checked, answers the search.
    pub(super) fn answers_in_memory(&self, context: &NamingContext, entry: &Entry, step: &mut Step<'_>) -> bool {
        let wanted = self.options.subentries;
        if wanted.is_some_and(|subentries| subentries != self.is_subentry(entry)) {
            return false;
        }
        let budget = step.slice.budget;
        let asker = Asker::of(self);
        let check = access::check(asker.requester_within(context, budget), Source::Memory(entry));
        let guard = check.as_ref().map(|check| Answerable::new(check, Privileges::SEARCH));
        let guard = guard.as_ref().map(|guard| guard as &dyn Guard);
        let schema = &self.configuration.schema;
        let source = EntrySource::new(schema, &self.filter, entry)
            .guarded(guard)
            .within(Some(budget));
        self.filter.evaluate(schema, &source, &mut step.scratch.normalized) == Truth::True
    }

    pub(super) fn consider_memory(
        &mut self,
        context: &NamingContext,
        entry: &Entry,
        step: &mut Step<'_>,
    ) -> Result<Option<Walked>, OperationError> {
        if !self.answers_in_memory(context, entry, step) {
            return Ok(None);
        }
        let Step { scratch, slice, out } = step;
        let budget = slice.budget;
        let asker = Asker::of(self);
        let configuration = &asker.configuration;
        let requester = asker.requester_within(context, budget);
        let tree = context.backend.tree();
        let refreshed = tree.and_then(|tree| tree.refreshed(configuration, entry, self.sent_now()));
        let entry = refreshed.as_ref().unwrap_or(entry);
        let source = Source::Memory(entry);
        let check = access::check(requester, source);
        let Some(visible) = access::visible(check.as_ref(), source, entry.dn.pretty()) else {
            return Ok(None);
        };
        if budget.is_exhausted() || !self.meets_in_memory(entry, out)? {
            return Ok(None);
        }
        if let Some(end) = self.no_more() {
            return Ok(Some(end));
        }
        let parts = scratch.parts(context);
        let with = EncodeWith {
            answers: parts.answers,
            work: parts.work,
            budget: Some(budget),
        };
        encode::entry(self, &visible, with, out)?;
        if !budget.is_exhausted() {
            if self.origin.responses.is_some() {
                self.tell_overlays(&visible, slice)?;
            }
            self.count_sent();
        }
        Ok(None)
    }
}
