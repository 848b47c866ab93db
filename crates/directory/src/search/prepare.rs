//! Makes a run from a search request: base object, naming contexts, limits, controls.

use std::{rc::Rc, sync::Arc};

use ironbark_config::{Operations, limits::SearchLimits};
use ironbark_ldap_proto::{
    DerefAliases, Scope as WireScope, SearchRequest,
    controls::{PagedResults, RequestControls},
};
use ironbark_model::{Budget, Dn, Entry, Filter, ResultCode};
use ironbark_store::{Location, Scope, View};

use super::{
    additions::AskedOfEntries,
    alias::{self, FoundBase},
    base as search_base, deferred, external,
    limits::{self, PageRequest},
    list_view::ListView,
    null, paged,
    run::{RunLimits, SearchOptions, SearchRun},
    sort::Sorting,
    sort_limits,
    sync::Sync,
    target::{Target, Walk},
    tree_sync::TreeSync,
    work::Work,
};
use crate::{
    Configuration, NamingContext, OperationError,
    access::{
        Requester, SubjectDecisions, WriteCheck,
        assertion::{check_assertion, check_assertion_on_record, refuse_assertion},
        disclosure::{Disclosure, missing_in_memory},
    },
    backend::{
        call::{Call, GivenEntries},
        external::AnswerStream,
        naming_context::Backend,
        referral,
    },
    frontend::root_dse,
    refusal::{ControlRefusal, SearchRefusal},
    request::context::RequestContext,
    scratch::{DnCache, LastBase, Scratch},
    search::{OpenSearches, page::Page},
};

/// Checks a request and fills an empty run. Only the entries on the way to the base object are read.
pub(crate) fn prepare(
    scratch: &mut Scratch,
    searches: &mut OpenSearches,
    run: &mut SearchRun,
    call: &mut Call<'_, '_>,
    request: &SearchRequest<'_>,
) -> Result<(), OperationError> {
    let mut base = std::mem::take(&mut scratch.base);
    let prepared = prepare_below(&mut base, scratch, searches, run, call, request);
    scratch.base = base;
    prepared
}

/// Parses the name of the base object. Usually it is the same as in the last search.
fn read_base(
    base: &mut LastBase,
    configuration: &Configuration,
    request: &SearchRequest<'_>,
    scope: Scope,
) -> Result<(), OperationError> {
    if base.is_read && base.text == request.base {
        return Ok(());
    }
    base.is_read = false;
    base.dn
        .parse_into(&configuration.schema, request.base)
        .map_err(|_| SearchRefusal::InvalidBase)?;
    if base.dn.is_root()
        && scope != Scope::Base
        && let Some(default) = &configuration.settings.default_search_base
    {
        base.dn.clone_from(default);
        return Ok(());
    }
    base.text.clear();
    base.text.extend_from_slice(request.base);
    // The meaning of the empty name depends on the scope.
    base.is_read = !base.dn.is_root();
    Ok(())
}

/// The body of [`prepare`]. `base` is memory for the name of the base object.
fn prepare_below(
    base: &mut LastBase,
    scratch: &mut Scratch,
    searches: &mut OpenSearches,
    run: &mut SearchRun,
    call: &mut Call<'_, '_>,
    request: &SearchRequest<'_>,
) -> Result<(), OperationError> {
    let (configuration, pdu) = (call.configuration, call.pdu);
    let scope = scope_of(request);
    read_base(base, configuration, request, scope)?;
    let base = &base.dn;
    let page = page_asked_for(request, call.controls);
    let begun = page.and_then(|page| paged::configuration_of(searches, page.cookie));
    paged::check_rules(begun.as_deref(), configuration)?;
    let configuration = begun.as_ref().unwrap_or(configuration);
    let context = choose(configuration, base, scope)?;
    let governing = configuration.governing(context);
    governing.check_restrictions(configuration, Operations::SEARCH, &mut run.origin)?;
    let stream = stream_of(call, context, &mut run.origin)?;
    let controls = &mut *call.controls;
    controls.remove(run.origin.dropped_controls);
    let page = page.filter(|_| controls.paged_results.is_some());
    // Only stored entries can be sorted.
    let is_sorted = stream.is_none() && call.entries.is_none() && context.backend.is_stored();
    let view = ListView::asked_for(context, is_sorted, controls, page.is_some())?;
    let bounds = limits::of(configuration, governing, &run.origin.identity, base);
    let work = Work::of(&run.origin.identity, bounds.is_none());
    if let Some(page) = page.filter(|page| !page.cookie.is_empty()) {
        resume(searches, run, page, bounds, request)?;
        run.work = work;
        return Ok(());
    }
    run.work = work;
    let is_light = deferred::is_light(request, pdu, controls);
    run.options = options(request, controls);
    let asked = page.map(|page| PageRequest::first(page.size));
    run.limits = run_limits(bounds, run.origin.received_micros, request, asked)?;
    if let Some(page) = page {
        run.extras.get_or_insert_default().paged = Some(Page::first(&run.origin, page.size));
    }
    prepare_extras(run, searches, configuration, context, controls, is_sorted, view)?;
    begin_sync(run, (configuration, context), (controls, pdu), request, (base, scope))?;
    if is_light {
        run.resolve_names(&configuration.schema, request, controls, None)?;
    }
    ask_overlays(run, configuration, scratch);
    run.ask_search_hooks(configuration, context, request, controls, scratch.directory().clock())?;
    let place = SearchPlace {
        configuration,
        context,
        base,
        scope,
        dereferences: dereferences_base(request),
        given: call.entries.as_ref(),
    };
    add_targets(scratch, run, place, stream).or_else(|error| run.may_begin_empty(error))?;
    if matches!(context.backend, Backend::Null { .. }) {
        refuse_assertion(controls.assertion.is_some())?;
    }
    if is_light {
        run.compile_filters(configuration, context, request, controls, None)?;
    } else {
        run.defer_request(context, pdu);
    }
    external::begin(run, context, base, request, pdu, scratch)
}

/// Makes it a content synchronization, if that is asked for.
fn begin_sync(
    run: &mut SearchRun,
    (configuration, context): (&Arc<Configuration>, &Arc<NamingContext>),
    call: (&RequestControls<'_>, &[u8]),
    request: &SearchRequest<'_>,
    place: (&Dn, Scope),
) -> Result<(), OperationError> {
    if context.backend.tree().is_some() {
        if let Some(sync) = TreeSync::asked_for(configuration, context, call, request, place.0)? {
            run.extras.get_or_insert_default().tree_sync = Some(sync);
        }
    } else if let Some(sync) = Sync::asked_for(configuration, context, call, request, place)? {
        run.extras.get_or_insert_default().sync = Some(sync);
    }
    Ok(())
}

/// What comes from elsewhere in place of the entries of the database. Where entries come from elsewhere, controls that
/// need them are refused or dropped.
fn stream_of(
    call: &mut Call<'_, '_>,
    context: &NamingContext,
    origin: &mut RequestContext,
) -> Result<Option<AnswerStream>, OperationError> {
    let is_given = matches!(call.entries, Some(GivenEntries::External(_)));
    if is_given || context.backend.external().is_some() {
        external::drop_controls(origin)?;
    }
    if !is_given {
        return Ok(None);
    }
    // As in slapd, overlays are not told of what something else answers.
    origin.responses = None;
    match call.entries.take() {
        Some(GivenEntries::External(stream)) => Ok(Some(stream)),
        _ => Ok(None),
    }
}

fn scope_of(request: &SearchRequest<'_>) -> Scope {
    match request.scope {
        WireScope::BaseObject => Scope::Base,
        WireScope::SingleLevel => Scope::OneLevel,
        WireScope::WholeSubtree => Scope::Subtree,
        WireScope::SubordinateSubtree => Scope::Children,
    }
}

/// Whether aliases are followed to find the base object.
fn dereferences_base(request: &SearchRequest<'_>) -> bool {
    matches!(
        request.deref_aliases,
        DerefAliases::FindingBaseObject | DerefAliases::Always
    )
}

/// Notes which controls of the request overlays answer with each entry.
fn ask_overlays(run: &mut SearchRun, configuration: &Configuration, scratch: &Scratch) {
    let controls = run.origin.request.controls.minus(run.origin.dropped_controls);
    if configuration.of_overlays.entry_controls.meets(controls) {
        let now = scratch.directory().clock().now();
        run.extras.get_or_insert_default().asked_of_entries = Some(AskedOfEntries { controls, now });
    }
}

fn options(request: &SearchRequest<'_>, controls: &RequestControls<'_>) -> SearchOptions {
    let has_scope_flag = controls
        .search_options
        .is_some_and(|options| options.value.domain_scope());
    SearchOptions {
        types_only: request.types_only,
        deref_in_searching: matches!(request.deref_aliases, DerefAliases::InSearching | DerefAliases::Always),
        manage_dsa_it: controls.manage_dsa_it.is_some(),
        domain_scope: controls.domain_scope.is_some() || has_scope_flag,
        subentries: controls.subentries.map(|control| control.value.visible),
    }
}

/// The requested page. If a single page would be enough, the search is not paged (RFC 2696 §3).
fn page_asked_for<'r>(request: &SearchRequest<'_>, controls: &RequestControls<'r>) -> Option<PagedResults<'r>> {
    let page = controls.paged_results.as_ref()?.value;
    (request.size_limit == 0 || page.size < request.size_limit).then_some(page)
}

fn run_limits(
    bounds: Option<&SearchLimits>,
    received_micros: u64,
    request: &SearchRequest<'_>,
    page: Option<PageRequest>,
) -> Result<RunLimits, OperationError> {
    let unchecked = limits::unchecked(bounds)?;
    Ok(RunLimits {
        size: match page {
            Some(page) => limits::page(bounds, page, request.size_limit)?.map(|most| most.saturating_add(page.before)),
            None => limits::size(bounds, request.size_limit),
        },
        // As in slapd, a time limit of 0 still allows one second.
        deadline_micros: limits::time(bounds, request.time_limit)
            .map(|seconds| received_micros + u64::from(seconds.max(1)) * 1_000_000),
        unchecked,
    })
}

/// Takes up a paged search, under the limits of the client that requests this page.
fn resume(
    searches: &mut OpenSearches,
    run: &mut SearchRun,
    page: PagedResults<'_>,
    bounds: Option<&SearchLimits>,
    request: &SearchRequest<'_>,
) -> Result<(), OperationError> {
    let asked = PageRequest {
        size: page.size,
        before: paged::sent_before(searches, page.cookie),
    };
    let limits = run_limits(bounds, run.origin.received_micros, request, Some(asked))?;
    // If the client abandons the search, the result is empty.
    if let Some(resumed) = paged::resume(searches, page, &run.origin)? {
        let origin = run.origin.clone();
        let is_other = origin.identity.dn != resumed.origin.identity.dn;
        *run = SearchRun {
            origin,
            limits,
            ..*resumed
        };
        if is_other {
            // Another identity uses this connection now. The plan depends on the rights of the former one.
            run.targets.iter_mut().for_each(Target::forget_plan);
        }
    }
    Ok(())
}

/// The naming context of a base object. For the root DSE and the subschema subentry: the frontend.
fn choose<'c>(
    configuration: &'c Configuration,
    base: &Dn,
    scope: Scope,
) -> Result<&'c Arc<NamingContext>, OperationError> {
    let is_frontend_entry = |entries: &[ironbark_model::Entry]| entries.first().is_some_and(|entry| entry.dn == *base);
    if scope == Scope::Base
        && (is_frontend_entry(&configuration.root_dse) || is_frontend_entry(&configuration.subschema))
    {
        return Ok(&configuration.frontend);
    }
    configuration
        .context_of(base)
        .ok_or_else(|| referral::default_referral(configuration, base, Some(scope)))
}

/// Prepares sort and view. Makes room for what comes of other controls.
fn prepare_extras(
    run: &mut SearchRun,
    searches: &mut OpenSearches,
    configuration: &Configuration,
    context: &NamingContext,
    controls: &RequestControls<'_>,
    is_sorted: bool,
    view: Option<ListView>,
) -> Result<(), OperationError> {
    if let Some(control) = &controls.server_side_sort {
        if is_sorted {
            sort_limits::check_keys(context, control.value.0.len())?;
            let mut sorting = Sorting::resolve(&configuration.schema, control, view.is_some())?;
            sorting.admit(&mut searches.sorts, configuration, context)?;
            let extras = run.extras.get_or_insert_default();
            (extras.sort, extras.view) = (Some(sorting), view);
        } else if control.critical {
            return Err(ControlRefusal::Unavailable.into());
        }
    }
    // Matched-values filters are compiled together with the search filter, and names of the dereference control are
    // resolved together with the attribute list.
    if controls.matched_values.is_some() || controls.dereference.is_some() {
        run.extras.get_or_insert_default();
    }
    Ok(())
}

/// The begin of a search, before the base object is found.
#[derive(Clone, Copy)]
struct SearchPlace<'a> {
    configuration: &'a Arc<Configuration>,
    context: &'a Arc<NamingContext>,
    /// The name of the base object.
    base: &'a Dn,
    scope: Scope,
    /// Whether aliases in the name of the base object are followed.
    dereferences: bool,
    /// Entries that replace the entries of the database.
    given: Option<&'a GivenEntries>,
}

impl<'a> SearchPlace<'a> {
    /// Decides what the client may know of names.
    fn disclosure(&self, run: &'a SearchRun, view: View<'a>) -> Disclosure<'a> {
        search_base::disclosure_of(run, self.configuration, self.context, view)
    }
}

/// Finds the base object, and adds the targets that the search walks over.
fn add_targets(
    scratch: &mut Scratch,
    run: &mut SearchRun,
    place: SearchPlace<'_>,
    stream: Option<AnswerStream>,
) -> Result<(), OperationError> {
    let SearchPlace {
        configuration,
        context,
        base,
        scope,
        given,
        ..
    } = place;
    if let Some(stream) = stream {
        run.walk_over(context, stream);
        return Ok(());
    }
    if let Some(GivenEntries::Memory(entries)) = given {
        let target = Target::memory(Arc::clone(context), Arc::clone(entries), base.clone(), scope);
        run.targets.push_back(target);
        return Ok(());
    }
    match &context.backend {
        Backend::Frontend => {
            let entries = if base.is_root() {
                root_dse::seen_by(configuration, &run.origin)
            } else {
                &configuration.subschema
            };
            let target = Target::memory(Arc::clone(context), Arc::clone(entries), base.clone(), scope);
            run.targets.push_back(target);
            Ok(())
        }
        Backend::InMemory { tree, .. } => {
            let entries = tree.entries(configuration);
            let target = memory_target(run, place, &entries)?;
            run.targets.push_back(target);
            Ok(())
        }
        Backend::Null { settings, .. } => {
            if let Some(suffix) = context.suffixes().first().filter(|_| settings.do_search) {
                let entries = null::entry_of_search(configuration, suffix);
                run.filter.compile(&configuration.schema, &Filter::And(Vec::new()));
                let target = Target::memory(Arc::clone(context), entries, suffix.clone(), Scope::Base);
                run.targets.push_back(target);
            }
            Ok(())
        }
        // The request is sent later, when nothing can fail any more.
        Backend::External(_) => Ok(()),
        Backend::Stored { .. } => {
            if let Some(snapshot) = scratch.take_snapshot(context)? {
                let standing = scratch.standing(configuration, context, &run.origin);
                let budget = Rc::clone(&scratch.budget);
                budget.renew(scratch.turn_left, None);
                let names = scratch.parts(context).names;
                let view = snapshot.view().under(&budget);
                let added = add_stored_targets(run, place, view, names, standing.as_deref());
                scratch.turn_left = budget.left();
                scratch.keep_snapshot(snapshot);
                added?;
            }
            Ok(())
        }
    }
}

/// A walk over a tree in memory.
fn memory_target(run: &SearchRun, place: SearchPlace<'_>, entries: &Arc<[Entry]>) -> Result<Target, OperationError> {
    let SearchPlace {
        configuration,
        context,
        base,
        scope,
        ..
    } = place;
    let requester = Requester::of(configuration, context, &run.origin);
    if let Some(entry) = entries.iter().find(|entry| entry.dn == *base) {
        if !requester.reads_everything() {
            let check = WriteCheck::on_entry(requester, entry);
            search_base::require_search(&check, || SearchRefusal::NoSuchBase.into())?;
        }
        return Ok(Target::memory(
            Arc::clone(context),
            Arc::clone(entries),
            base.clone(),
            scope,
        ));
    }
    Err(missing_in_memory(requester, entries, base))
}

fn add_stored_targets(
    run: &mut SearchRun,
    place: SearchPlace<'_>,
    view: View<'_>,
    names: &mut DnCache,
    standing: Option<&SubjectDecisions>,
) -> Result<(), OperationError> {
    let SearchPlace {
        configuration,
        context,
        base: asked,
        scope,
        dereferences,
        ..
    } = place;
    let find = || alias::find_base(place.disclosure(run, view), asked);
    let followed = match dereferences.then(find) {
        Some(Err(error)) if error.result_code == ResultCode::ALIAS_PROBLEM => {
            let disclosure = place.disclosure(run, view);
            return Err(search_base::alias_problem(disclosure, asked, scope, Some(error)));
        }
        Some(found) => found?,
        None => None,
    };
    let base = followed.as_ref().map_or(asked, |followed| &followed.dn);
    let (location, is_referral) = names.locate_base(view, base)?;
    let id = match location {
        Location::Entry(id) => id,
        // A database with the empty suffix may lack a root entry. Searches below it then walk from the top.
        Location::Missing { ancestor: None } if base.is_root() && scope != Scope::Base => 0,
        Location::Missing { ancestor } => {
            // The superior of glued databases may be missing too.
            if glued_targets(run, place, base)? {
                return Ok(());
            }
            let disclosure = place.disclosure(run, view);
            if let Some(followed) = &followed
                && !search_base::reaches(disclosure, followed)?
            {
                return Err(search_base::alias_problem(disclosure, asked, scope, None));
            }
            let missing = disclosure.missing(base, ancestor, Some(scope));
            return Err(search_base::within_domain(run, missing));
        }
    };
    let found = FoundBase {
        asked,
        followed: followed.as_ref(),
        id,
        scope,
    };
    if let Some(standing) = standing.filter(|standing| !standing.may_search_below(view, id)) {
        let checked = search_base::ask(run, place.disclosure(run, view), standing, found);
        if view.is_exhausted() {
            run.defer_base(context, found);
        } else {
            checked?;
            standing.remember_base(view, id);
        }
    }
    if is_referral && !run.options.manage_dsa_it {
        search_base::refuse_referral(run, configuration, view, found)?;
    }
    run.targets.push_back(Target::stored(Arc::clone(context), id, scope));
    if run.options.deref_in_searching && scope != Scope::Base {
        run.defer_aliases(context, found);
    }
    glued_targets(run, place, base).map(|_| ())
}

/// Checks the filter of an assertion control on the base object (RFC 4528 §4).
pub(super) fn check_base(
    run: &SearchRun,
    configuration: &Configuration,
    filter: &Filter<'_>,
    budget: &Budget,
) -> Result<(), OperationError> {
    let Some(Target { context, walk }) = run.targets.front() else {
        return Ok(());
    };
    let requester = Requester::of(configuration, context, &run.origin);
    match walk {
        Walk::Stored(walk) => {
            let Some(database) = context.database() else {
                return Ok(());
            };
            let snapshot = database.snapshot()?;
            let view = snapshot.view().under(budget);
            let Some(record) = view.record(walk.base.id)? else {
                return Ok(());
            };
            check_assertion_on_record(requester, &record, view, filter)
        }
        Walk::Memory(walk) => match walk.entries.iter().find(|entry| entry.dn == walk.base) {
            Some(entry) => {
                let check = WriteCheck::on_entry(requester, entry);
                check_assertion(configuration, &check, entry, filter)
            }
            None => Ok(()),
        },
        Walk::External(_) => Ok(()),
    }
}

/// Adds the databases glued below the base; returns whether there are any.
fn glued_targets(run: &mut SearchRun, place: SearchPlace<'_>, base: &Dn) -> Result<bool, OperationError> {
    let SearchPlace {
        configuration,
        context,
        scope,
        ..
    } = place;
    if scope == Scope::Base {
        return Ok(false);
    }
    let mut found = false;
    for subordinate in configuration.subordinates_of(context) {
        let Some(database) = subordinate.database() else {
            continue;
        };
        for suffix in subordinate.suffixes() {
            let below = suffix.depth() > base.depth() && suffix.is_within(base);
            let (included, scope) = match scope {
                Scope::Base => (false, Scope::Base),
                Scope::OneLevel => (below && suffix.depth() == base.depth() + 1, Scope::Base),
                Scope::Subtree | Scope::Children => (below, Scope::Subtree),
            };
            if !included {
                continue;
            }
            let snapshot = database.snapshot()?;
            if let Location::Entry(id) = snapshot.view().locate(suffix)? {
                run.targets.push_back(Target::glued(Arc::clone(subordinate), id, scope));
                found = true;
            }
        }
    }
    Ok(found)
}

impl SearchRun {
    /// Whether a database of the search holds referral entries.
    pub(super) fn has_referral_entries(&self) -> Result<bool, OperationError> {
        for target in &self.targets {
            if let Backend::Stored {
                database, referrals, ..
            } = &target.context.backend
                && referrals.exist(database)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
