//! Considers one candidate after another: scope, filter, access, limits, encoding.

use std::{rc::Rc, sync::Arc};

use ironbark_config::access::Privileges;
use ironbark_ldap_proto::{List, MessageId, encode_search_reference};
use ironbark_model::{Budget, Truth};
use ironbark_store::{DitScope, EntryGuards, EntryId, Evaluation, Plan, Record, View};

use super::{
    alias,
    encode::{self, EncodeWith},
    run::{SearchRun, Walked},
    target::{Base, StoredWalk, Target, Walk},
    work::Step,
};
use crate::{
    Configuration, NamingContext, OperationError,
    access::{self, Answerable, AnswerableEntries, Check, EntryPlace, Requester, Source, Subject, SubjectDecisions},
    backend::referral,
    outcome::log,
    refusal::SearchRefusal,
    request::{
        context::RequestKind,
        identity::{Identity, Peer, Strength},
    },
    scratch::Scratch,
    search::page::Page,
};

/// Number of bases that are compared with a name in about one step.
const BASES_PER_STEP: usize = 8;
/// Number of candidates between two reads of the clock.
const CANDIDATES_PER_LOOK: u32 = 32;

impl SearchRun {
    /// Walks over a target to its end, or to the end of the slice.
    pub(super) fn walk(&mut self, target: &mut Target, step: &mut Step<'_>) -> Result<Walked, OperationError> {
        let Target { context, walk } = target;
        match walk {
            Walk::Stored(walk) => self.walk_stored(context, walk, step),
            Walk::Memory(walk) => self.walk_memory(context, walk, step),
            Walk::External(walk) => self.walk_external(context, walk, step),
        }
    }

    fn walk_stored(
        &mut self,
        context: &NamingContext,
        walk: &mut StoredWalk,
        step: &mut Step<'_>,
    ) -> Result<Walked, OperationError> {
        let Some(snapshot) = step.scratch.take_snapshot(context)? else {
            return Ok(Walked::Through);
        };
        let (view, left) = (snapshot.view().under(step.slice.budget), step.slice.candidates);
        let walked = self.walk_deriving(context, view, walk, step);
        self.tally.examined += u64::from(left - step.slice.candidates);
        step.scratch.keep_snapshot(snapshot);
        walked
    }

    pub(super) fn walk_view(
        &mut self,
        context: &NamingContext,
        view: View<'_>,
        walk: &mut StoredWalk,
        step: &mut Step<'_>,
    ) -> Result<Walked, OperationError> {
        let StoredWalk {
            base,
            scope,
            plan,
            decisions,
            is_limited,
            position,
            ..
        } = walk;
        let scope = *scope;
        let bound = step
            .scratch
            .standing(&self.configuration, context, &self.origin, view)
            .map(|standing| (standing, Asker::of(self)));
        let guards = bound
            .as_ref()
            .and_then(|(standing, asker)| asker.guards(context, standing));
        let guards = guards.as_ref().map(|guards| guards as &dyn EntryGuards);
        let present = bound.as_ref().map_or(0, |(standing, _)| standing.serial());
        if std::mem::replace(decisions, present) != present
            && let Some(plan) = plan
        {
            plan.forget_chains();
        }
        if plan.is_none() {
            if base.is_glued && !may_search_at(context, view, base.id, step.scratch, bound.as_ref())? {
                return Ok(if step.is_exhausted() {
                    Walked::Exhausted
                } else {
                    Walked::Through
                });
            }
            let made = self.plan(view, base, scope, guards)?;
            if step.is_exhausted() {
                return Ok(Walked::Exhausted);
            }
            step.slice.has_advanced = true;
            *plan = Some(made);
        }
        let Some(plan) = plan else {
            return Ok(Walked::Through);
        };
        // A walk that goes on under another configuration has the limit of that one.
        if !*is_limited && let Some(limit) = self.limits.unchecked {
            let exceeds = plan.exceeds(view, limit)?;
            if step.is_exhausted() {
                return Ok(Walked::Exhausted);
            }
            if exceeds {
                return Err(SearchRefusal::UncheckedLimit.into());
            }
            *is_limited = true;
        }
        let walk = PlannedWalk {
            context,
            view,
            base,
            scope,
            plan,
            bound: bound.as_ref().map(|(standing, asker)| (standing, asker)),
            guards,
        };
        self.walk_candidates(&walk, position, step)
    }

    /// Considers the candidates of a plan after `position`.
    fn walk_candidates(
        &mut self,
        walk: &PlannedWalk<'_>,
        position: &mut EntryId,
        step: &mut Step<'_>,
    ) -> Result<Walked, OperationError> {
        let mut candidates = walk.view.candidates(walk.plan, *position)?;
        while let Some(record) = candidates.next_record()? {
            // The clock is read at the first candidate of a slice, and regularly after that.
            if step.slice.candidates.is_multiple_of(CANDIDATES_PER_LOOK)
                && let Some(end) = self.time_is_up(step.scratch)
            {
                return Ok(end);
            }
            if step.is_used_up() {
                return Ok(Walked::SliceEnd);
            }
            let before = step.out.len();
            let considered = self.consider(walk, &record, step);
            if step.is_exhausted() {
                step.out.truncate(before);
                return Ok(Walked::Exhausted);
            }
            if let Some(end) = considered? {
                return Ok(end);
            }
            *position = record.id;
            step.slice.has_advanced = true;
        }
        if step.is_exhausted() {
            return Ok(Walked::Exhausted);
        }
        Ok(Walked::Through)
    }

    /// Plans a target. If there are referral entries, they are candidates whatever the filter is.
    fn plan(
        &self,
        view: View<'_>,
        base: &Base,
        scope: DitScope,
        guards: Option<&dyn EntryGuards>,
    ) -> Result<Plan, OperationError> {
        let filter = self.referral_filter.as_ref().unwrap_or(&self.filter);
        let plan = view.plan_guarded(base.id, scope, filter, guards)?;
        if !plan.indexed {
            log::unindexed(&plan);
        }
        Ok(plan)
    }

    pub(super) fn time_is_up(&mut self, scratch: &Scratch) -> Option<Walked> {
        let deadline = self.limits.deadline_micros?;
        (scratch.directory().monotonic_micros() >= deadline).then(|| self.stop_with(SearchRefusal::TimeLimit))
    }

    fn consider(
        &mut self,
        walk: &PlannedWalk<'_>,
        record: &Record<'_>,
        step: &mut Step<'_>,
    ) -> Result<Option<Walked>, OperationError> {
        let Step { scratch, slice, out } = step;
        let PlannedWalk {
            context,
            view,
            plan,
            bound,
            ..
        } = *walk;
        if !self.is_of_walk(walk, record, scratch, out)? {
            return Ok(None);
        }
        let source = Source::Record(record, view);
        let parts = scratch.parts(context);
        if bound.is_none() && record.evaluate_planned(plan, &self.filter, parts.work) != Truth::True {
            return Ok(None);
        }
        parts.names.write_dn(view, record, parts.dn)?;
        let check = match bound {
            None => None,
            Some((standing, asker)) => {
                let place = parts.names.place(view, record)?;
                asker.check(context, source, place, standing)
            }
        };
        if let Some(check) = &check
            && !self.answers(walk, record, check, parts.work)
        {
            return Ok(None);
        }
        let Some(entry) = access::visible(check.as_ref(), source, parts.dn) else {
            return Ok(None);
        };
        // If the steps have run out, the decision may be wrong. The walk forgets it.
        if view.is_exhausted() {
            return Ok(None);
        }
        if let Some(extras) = self.extras.as_deref_mut()
            && let Some(sorting) = extras.sort.as_mut().filter(|sorting| sorting.is_active())
        {
            // A page has its own limit, and a view needs the whole list.
            let is_part = extras.paged.is_some() || extras.view.is_some();
            let size_limit = self.limits.size.filter(|_| !is_part);
            let schema = &self.configuration.schema;
            sorting.collect(schema, context, record, &entry, size_limit, parts.work)?;
            return Ok(None);
        }
        if self.sync().is_some() && !self.meets(view, record, out)? {
            return Ok(None);
        }
        if let Some(end) = self.no_more() {
            return Ok(Some(end));
        }
        let with = EncodeWith {
            answers: parts.answers,
            work: parts.work,
            budget: view.budget(),
        };
        encode::entry(self, &entry, with, out)?;
        if !view.is_exhausted() {
            if self.origin.responses.is_some() {
                self.tell_overlays(&entry, slice)?;
            }
            self.count_sent();
        }
        Ok(None)
    }

    /// Whether the walk is about this candidate, apart from filter and access. Sends the reference of a referral entry.
    fn is_of_walk(
        &mut self,
        walk: &PlannedWalk<'_>,
        record: &Record<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<bool, OperationError> {
        let PlannedWalk {
            context,
            view,
            base,
            scope,
            ..
        } = *walk;
        let id = record.id;
        // A referral entry as the base is not met here: the search has been answered with the referral.
        if record.is_referral() && !self.options.manage_dsa_it {
            // A search for subentries alone gets only references that are subentries.
            if self.is_of_kind(record)
                && record.is_in_scope(base.id, scope)?
                && (base.earlier_bases == 0 || !self.was_covered(view, id, base.earlier_bases)?)
                && self.shows_reference(walk, record, scratch)?
                && !view.is_exhausted()
            {
                self.send_reference(view, record, scope, out)?;
            }
            return Ok(false);
        }
        let names = scratch.parts(context).names;
        if !self.shows(context, record, id == base.id, scope) || !names.is_in_scope(view, record, base.id, scope)? {
            return Ok(false);
        }
        Ok(base.earlier_bases == 0 || !self.was_covered(view, id, base.earlier_bases)?)
    }

    /// Whether the filter is True for the attributes that the subject may search.
    fn answers(&self, walk: &PlannedWalk<'_>, record: &Record<'_>, check: &Check<'_>, work: &mut Vec<u8>) -> bool {
        let with = Evaluation {
            plan: Some(walk.plan),
            guard: Some(&Answerable::new(check, Privileges::SEARCH)),
            guards: walk.guards,
            ..Evaluation::default()
        };
        record.evaluate_with(with, &self.filter, work) == Truth::True
    }

    pub(in crate::search) fn count_sent(&mut self) {
        // A consumer that follows changes for years may be sent more.
        self.sent = self.sent.wrapping_add(1);
        if let Some(page) = self.extras.as_mut().and_then(|extras| extras.paged.as_mut()) {
            page.count();
        }
    }

    /// Whether an earlier subtree of this search also holds the entry. Aliases add such subtrees.
    fn was_covered(&self, view: View<'_>, id: EntryId, earlier_bases: usize) -> Result<bool, OperationError> {
        let Some(extras) = &self.extras else { return Ok(false) };
        view.spend((earlier_bases / BASES_PER_STEP) as u64);
        let dn = view.dn(id)?;
        Ok(extras
            .alias_bases
            .iter()
            .take(earlier_bases)
            .any(|base| alias::covers(base, &dn, DitScope::Base)))
    }

    /// Whether the search returns such entries at all: subentries, aliases and glue are special.
    fn shows(&self, context: &NamingContext, record: &Record<'_>, is_base: bool, scope: DitScope) -> bool {
        // A search dereferences aliases subordinate to the base object (RFC 4511 §4.5.1.3).
        if record.is_alias() && self.options.deref_in_searching && !is_base {
            return false;
        }
        // As in slapd: glue is no entry, but what is below it can be found, also from it as the base.
        if record.is_glue() && context.hides_glue() && !self.options.manage_dsa_it {
            return false;
        }
        let is_asked_for = self.options.subentries.is_none() && is_base && scope == DitScope::Base;
        is_asked_for || self.is_of_kind(record)
    }

    /// Whether the kind is right: a search returns either subentries or other entries, not both.
    fn is_of_kind(&self, record: &Record<'_>) -> bool {
        record.is_subentry() == self.options.subentries.unwrap_or(false)
    }

    /// Ends the walk if the page or the size limit has no room for another entry. Called before an entry is sent.
    pub(super) fn no_more(&mut self) -> Option<Walked> {
        if self.page_is_full() {
            return Some(Walked::Finish);
        }
        self.size_is_reached().then(|| self.stop_with(SearchRefusal::SizeLimit))
    }

    pub(super) fn size_is_reached(&self) -> bool {
        self.limits.size.is_some_and(|limit| self.sent >= limit)
    }

    /// Whether the page has no room for another entry. Because this is called before an entry is sent, a page that ends
    /// with the last entry is known to be the last.
    fn page_is_full(&self) -> bool {
        let page = self.extras.as_ref().and_then(|extras| extras.paged.as_ref());
        page.is_some_and(Page::is_full)
    }

    /// Whether a reference is sent: the client wants references, and may read the referral entry and its URIs.
    fn shows_reference(
        &self,
        walk: &PlannedWalk<'_>,
        record: &Record<'_>,
        scratch: &mut Scratch,
    ) -> Result<bool, OperationError> {
        let PlannedWalk {
            context, view, bound, ..
        } = *walk;
        if self.options.domain_scope {
            return Ok(false);
        }
        let Some((standing, asker)) = bound else {
            return Ok(true);
        };
        let names = scratch.parts(context).names;
        let place = names.place(view, record)?;
        let check = asker.check(context, Source::Record(record, view), place, standing);
        let uris = access::Target::Attribute(&self.configuration.well_known.r#ref, None);
        Ok(check.is_none_or(|check| {
            check.permits(access::Target::Entry, Privileges::READ) && check.permits(uris, Privileges::READ)
        }))
    }

    /// Sends a continuation reference (RFC 4511 §4.5.3).
    fn send_reference(
        &mut self,
        view: View<'_>,
        record: &Record<'_>,
        scope: DitScope,
        out: &mut Vec<u8>,
    ) -> Result<(), OperationError> {
        // Below a one-level base, the search continues only at the referral's own entry, which is one of the base's
        // children.
        let scope = match scope {
            DitScope::OneLevel | DitScope::Base => DitScope::Base,
            DitScope::Children | DitScope::Subtree => DitScope::Subtree,
        };
        let dn = view.dn(record.id)?;
        let urls = referral::urls_below(&self.configuration, record, &dn, &dn, Some(scope));
        if urls.is_empty() {
            return Ok(());
        }
        let urls: Vec<&[u8]> = urls.iter().map(String::as_bytes).collect();
        let id = MessageId::new(self.origin.message_id).unwrap_or_default();
        if !self.counts_only() {
            encode_search_reference(out, id, &List::new(&urls), &[]);
        }
        self.references += 1;
        Ok(())
    }
}

/// Whether the subject may search at the base of a glued database.
fn may_search_at(
    context: &NamingContext,
    view: View<'_>,
    id: EntryId,
    scratch: &mut Scratch,
    bound: Option<&(Rc<SubjectDecisions>, Asker)>,
) -> Result<bool, OperationError> {
    let (Some((standing, asker)), Some(record)) = (bound, view.record(id)?) else {
        return Ok(true);
    };
    let names = scratch.parts(context).names;
    let place = names.place(view, &record)?;
    let check = asker.check(context, Source::Record(&record, view), place, standing);
    let may = check.is_none_or(|check| check.permits(access::Target::Entry, Privileges::SEARCH));
    Ok(may && !view.is_exhausted())
}

/// A walk over the candidates of one target in a snapshot.
#[derive(Clone, Copy)]
struct PlannedWalk<'a> {
    context: &'a NamingContext,
    view: View<'a>,
    base: &'a Base,
    scope: DitScope,
    plan: &'a Plan,
    /// The requester, if access rules apply to the requester.
    bound: Option<(&'a Rc<SubjectDecisions>, &'a Asker)>,
    /// Decides which parts of any entry may answer the requester's filter.
    guards: Option<&'a dyn EntryGuards>,
}

/// The requester, kept apart from the run so that the run can be changed meanwhile.
pub(super) struct Asker {
    identity: Arc<Identity>,
    peer: Arc<Peer>,
    strength: Strength,
    request: RequestKind,
    pub(super) configuration: Arc<Configuration>,
}

impl Asker {
    pub(super) fn of(run: &SearchRun) -> Self {
        Self {
            identity: Arc::clone(&run.origin.identity),
            peer: Arc::clone(&run.origin.peer),
            strength: run.origin.strength,
            request: run.origin.request,
            configuration: Arc::clone(&run.configuration),
        }
    }

    pub(super) fn subject(&self, context: &NamingContext) -> Subject<'_> {
        Subject::of_parts(&self.identity, &self.peer, self.strength, self.request).at(context)
    }

    pub(super) fn requester<'a>(&'a self, context: &'a NamingContext) -> Requester<'a> {
        Requester {
            configuration: &self.configuration,
            context,
            subject: self.subject(context),
        }
    }

    /// The requester, whose rules take their steps from `budget`.
    pub(super) fn requester_within<'a>(&'a self, context: &'a NamingContext, budget: &'a Budget) -> Requester<'a> {
        Requester {
            subject: self.subject(context).within(budget),
            ..self.requester(context)
        }
    }

    /// The access check for a stored entry.
    fn check<'a>(
        &'a self,
        context: &'a NamingContext,
        source: Source<'a>,
        place: EntryPlace<'a>,
        standing: &'a Rc<SubjectDecisions>,
    ) -> Option<Check<'a>> {
        access::check_remembered(self.requester(context), source, place, Some(standing))
    }

    /// The parts of any entry that may answer the filter, if there are rules.
    fn guards<'a>(
        &'a self,
        context: &'a NamingContext,
        standing: &'a SubjectDecisions,
    ) -> Option<AnswerableEntries<'a>> {
        AnswerableEntries::new(self.requester(context), Some(standing), Privileges::SEARCH)
    }
}
