//! One candidate after another: scope, filter, access, limits, encoding.

use std::sync::Arc;

use ironbark_ldap_proto::{List, MessageId, encode_search_reference};
use ironbark_model::{CompiledFilter, Entry, ResultCode, Truth, entry::EntrySource};
use ironbark_store::{EntryId, Plan, Record, Scope, View};

use super::{
    SearchRun, Slice, Walked, alias, encode, paged,
    target::{Base, Target, Walk, in_scope},
};
use crate::{
    Backend, Configuration, Context, OperationError,
    access::{self, Check, RequestKind, Source, Subject},
    log, referral,
    session::{Identity, Peer, Strength},
    worker::Scratch,
};

/// Candidates between two looks at the clock.
const CANDIDATES_PER_LOOK: u32 = 32;

impl SearchRun {
    /// Walks over a target until it, or the slice, is used up.
    pub(super) fn walk(
        &mut self,
        target: &mut Target,
        scratch: &mut Scratch,
        slice: &mut Slice,
        out: &mut Vec<u8>,
    ) -> Result<Walked, OperationError> {
        let Target { context, walk } = target;
        match walk {
            Walk::Stored {
                base,
                scope,
                plan,
                position,
            } => self.walk_stored(context, base, *scope, plan, position, scratch, slice, out),
            Walk::Memory {
                entries,
                base,
                scope,
                position,
            } => {
                while let Some(entry) = entries.get(*position) {
                    if slice.is_used_up(out) {
                        return Ok(Walked::SliceEnd);
                    }
                    if in_scope(&entry.dn, base, *scope)
                        && let Some(end) = self.consider_memory(context, entry, scratch, out)?
                    {
                        return Ok(end);
                    }
                    *position += 1;
                }
                Ok(Walked::Through)
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one target, borrowed apart")]
    fn walk_stored(
        &mut self,
        context: &Context,
        base: &Base,
        scope: Scope,
        plan: &mut Option<Plan>,
        position: &mut EntryId,
        scratch: &mut Scratch,
        slice: &mut Slice,
        out: &mut Vec<u8>,
    ) -> Result<Walked, OperationError> {
        let Some(snapshot) = scratch.take_snapshot(context)? else {
            return Ok(Walked::Through);
        };
        let (view, left) = (snapshot.view(), slice.candidates);
        let walked = self.walk_view(context, view, base, scope, plan, position, scratch, slice, out);
        self.tally.examined += u64::from(left - slice.candidates);
        scratch.keep_snapshot(snapshot);
        walked
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one target, borrowed apart")]
    fn walk_view(
        &mut self,
        context: &Context,
        view: View<'_>,
        base: &Base,
        scope: Scope,
        plan: &mut Option<Plan>,
        position: &mut EntryId,
        scratch: &mut Scratch,
        slice: &mut Slice,
        out: &mut Vec<u8>,
    ) -> Result<Walked, OperationError> {
        let plan = match plan {
            Some(plan) => plan,
            None => plan.insert(self.plan(view, base, scope)?),
        };
        if *position == 0
            && let Some(limit) = self.limits.unchecked
            && plan.exceeds(view, limit)?
        {
            return Err(OperationError::code(ResultCode::ADMIN_LIMIT_EXCEEDED));
        }
        let mut candidates = view.candidates(plan, *position)?;
        while let Some(record) = candidates.next_record()? {
            // The clock is read at the first candidate of a slice and now and then.
            if slice.candidates.is_multiple_of(CANDIDATES_PER_LOOK)
                && let Some(end) = self.time_is_up(scratch)
            {
                return Ok(end);
            }
            if slice.is_used_up(out) {
                return Ok(Walked::SliceEnd);
            }
            if let Some(end) = self.consider(context, view, &record, base, scope, scratch, out)? {
                return Ok(end);
            }
            *position = record.id;
        }
        Ok(Walked::Through)
    }

    /// Plans a target. Where there are referral entries they are candidates whatever the filter says.
    fn plan(&self, view: View<'_>, base: &Base, scope: Scope) -> Result<Plan, OperationError> {
        let plan = view.plan(base.id, scope, self.referral_filter.as_ref().unwrap_or(&self.filter))?;
        if !plan.indexed {
            log::unindexed(&plan);
        }
        Ok(plan)
    }

    fn time_is_up(&mut self, scratch: &Scratch) -> Option<Walked> {
        let deadline = self.limits.deadline_micros?;
        (scratch.directory().monotonic_micros() >= deadline)
            .then(|| self.stop_with(ResultCode::TIME_LIMIT_EXCEEDED, ""))
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one target, borrowed apart")]
    fn consider(
        &mut self,
        context: &Context,
        view: View<'_>,
        record: &Record<'_>,
        base: &Base,
        scope: Scope,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<Option<Walked>, OperationError> {
        let id = record.id;
        if id != base.id && record.is_referral() && !self.options.manage_dsa_it {
            if record.is_in_scope(base.id, scope)? {
                self.send_reference(view, record, scope, out);
            }
            return Ok(None);
        }
        let names = scratch.parts(context).names;
        if !self.shows(record, id == base.id, scope) || !names.is_in_scope(view, record, base.id, scope)? {
            return Ok(None);
        }
        if base.earlier_bases > 0 && self.was_covered(view, id, base.earlier_bases)? {
            return Ok(None);
        }
        let standing = scratch.standing(&self.configuration, context, &self.origin);
        let source = Source::Record(record, view);
        let parts = scratch.parts(context);
        let asker = standing.as_ref().map(|standing| (standing, Asker::of(self)));
        if asker.is_none() && record.evaluate(&self.filter, parts.work) != Truth::True {
            return Ok(None);
        }
        parts.names.write_dn(view, record, parts.dn)?;
        let check = match &asker {
            None => None,
            Some((standing, asker)) => {
                let entry = (source, parts.names.place(view, record)?);
                access::check_remembered(
                    &asker.configuration,
                    context,
                    asker.subject(context),
                    entry,
                    Some(standing),
                )
            }
        };
        if check.is_some() && !self.matches(check.as_ref(), record, parts.work) {
            return Ok(None);
        }
        let Some(entry) = access::visible(check.as_ref(), source, parts.dn) else {
            return Ok(None);
        };
        if let Some(extras) = self.extras.as_deref_mut()
            && let Some(sorting) = extras.sort.as_mut().filter(|sorting| sorting.is_active())
        {
            // Each page has a limit of its own.
            let size_limit = self.limits.size.filter(|_| extras.paged.is_none());
            let schema = &self.configuration.schema;
            return sorting.collect(schema, context, (record, &entry), size_limit, parts.work);
        }
        if let Some(end) = self.no_more() {
            return Ok(Some(end));
        }
        encode::entry(self, &entry, (parts.answers, parts.work), out)?;
        self.count_sent();
        Ok(None)
    }

    fn count_sent(&mut self) {
        self.sent += 1;
        if let Some(page) = self.extras.as_mut().and_then(|extras| extras.paged.as_mut()) {
            page.count();
        }
    }

    /// Whether an earlier subtree of this search, brought in by aliases, holds the entry too.
    fn was_covered(&self, view: View<'_>, id: EntryId, earlier_bases: usize) -> Result<bool, OperationError> {
        let Some(extras) = &self.extras else { return Ok(false) };
        let dn = view.dn(id)?;
        Ok(extras
            .alias_bases
            .iter()
            .take(earlier_bases)
            .any(|base| alias::covers(base, &dn, Scope::Base)))
    }

    /// Subentries, aliases and glue are not for every search.
    fn shows(&self, record: &Record<'_>, is_base: bool, scope: Scope) -> bool {
        // Searching dereferences what is subordinate to the base object (RFC 4511 §4.5.1.3).
        if record.is_alias() && self.options.deref_in_searching && !is_base {
            return false;
        }
        match self.options.subentries {
            Some(only) => record.is_subentry() == only,
            None => !record.is_subentry() || (is_base && scope == Scope::Base),
        }
    }

    /// Whether the filter is True, with what the subject may not search being Undefined.
    fn matches(&self, check: Option<&Check<'_>>, record: &Record<'_>, work: &mut Vec<u8>) -> bool {
        let permitted: Option<CompiledFilter> = access::searchable_filter(check, &self.filter);
        let filter = permitted.as_ref().unwrap_or(&self.filter);
        record.evaluate(filter, work) == Truth::True
    }

    fn consider_memory(
        &mut self,
        context: &Context,
        entry: &Entry,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<Option<Walked>, OperationError> {
        let asker = Asker::of(self);
        let (configuration, subject) = (&asker.configuration, asker.subject(context));
        if self.options.subentries == Some(true) {
            return Ok(None);
        }
        let check = access::check(configuration, context, subject, Source::Memory(entry));
        let permitted = access::searchable_filter(check.as_ref(), &self.filter);
        if !evaluate_memory(self, permitted.as_ref().unwrap_or(&self.filter), entry, scratch) {
            return Ok(None);
        }
        let refreshed = match &context.backend {
            Backend::Virtual { tree, .. } => tree.refreshed(configuration, entry, self.sent_now()),
            Backend::Stored { .. } | Backend::Null { .. } | Backend::Frontend => None,
        };
        let entry = refreshed.as_ref().unwrap_or(entry);
        let source = Source::Memory(entry);
        let check = access::check(configuration, context, subject, source);
        let Some(visible) = access::visible(check.as_ref(), source, entry.dn.pretty()) else {
            return Ok(None);
        };
        if let Some(end) = self.no_more() {
            return Ok(Some(end));
        }
        let parts = scratch.parts(context);
        encode::entry(self, &visible, (parts.answers, parts.work), out)?;
        self.count_sent();
        Ok(None)
    }

    /// Asked before an entry is sent: whether the page or the size limit leaves no room for it.
    fn no_more(&mut self) -> Option<Walked> {
        if self.page_is_full() {
            return Some(Walked::Finish);
        }
        self.size_is_reached()
            .then(|| self.stop_with(ResultCode::SIZE_LIMIT_EXCEEDED, ""))
    }

    pub(super) fn size_is_reached(&self) -> bool {
        self.limits.size.is_some_and(|limit| self.sent >= limit)
    }

    /// Asked before an entry is sent, so that the page that ends with the last entry is known to be the last.
    fn page_is_full(&self) -> bool {
        let page = self.extras.as_ref().and_then(|extras| extras.paged.as_ref());
        page.is_some_and(paged::Page::is_full)
    }

    /// A continuation reference (RFC 4511 §4.5.3).
    fn send_reference(&mut self, view: View<'_>, record: &Record<'_>, scope: Scope, out: &mut Vec<u8>) {
        if self.options.domain_scope {
            return;
        }
        // Below a one-level base, the search goes on at the referral's own entry; that entry is one of the children of a base.
        let scope = match scope {
            Scope::OneLevel => Scope::Base,
            Scope::Children => Scope::Subtree,
            scope => scope,
        };
        let dn = view.dn(record.id).unwrap_or_default();
        let urls = referral::urls_of(&self.configuration, record, Some((&dn, &dn)), Some(scope));
        if urls.is_empty() {
            return;
        }
        let urls: Vec<&[u8]> = urls.iter().map(String::as_bytes).collect();
        let id = MessageId::new(self.origin.message_id).unwrap_or_default();
        encode_search_reference(out, id, &List::new(&urls), &[]);
        self.references += 1;
    }
}

/// Who asks, held apart from the run.
struct Asker {
    identity: Arc<Identity>,
    peer: Arc<Peer>,
    about: (Strength, RequestKind),
    configuration: Arc<Configuration>,
}

impl Asker {
    fn of(run: &SearchRun) -> Self {
        Self {
            identity: Arc::clone(&run.origin.identity),
            peer: Arc::clone(&run.origin.peer),
            about: (run.origin.strength, run.origin.request),
            configuration: Arc::clone(&run.configuration),
        }
    }

    fn subject(&self, context: &Context) -> Subject<'_> {
        Subject::of_parts((&self.identity, &self.peer), self.about).at(context)
    }
}

fn evaluate_memory(run: &SearchRun, filter: &CompiledFilter, entry: &Entry, scratch: &mut Scratch) -> bool {
    let schema = &run.configuration.schema;
    let source = EntrySource { schema, filter, entry };
    filter.evaluate(schema, &source, &mut scratch.normalized) == Truth::True
}
