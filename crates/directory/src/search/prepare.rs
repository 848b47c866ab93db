//! Makes a run from a search request: limits, controls, and what comes of them. The base object and the databases to be
//! walked over are found by `targets.rs`.

use std::sync::Arc;

use ironbark_config::{Operations, limits::SearchLimits};
use ironbark_ldap_proto::{
    DerefAliases, Request, RequestMessage, Scope as WireScope, SearchRequest,
    controls::{PagedResults, RequestControls},
};
use ironbark_model::{Dn, ResultCode};
use ironbark_store::DitScope;

use super::{
    additions::AskedOfEntries,
    deferred, external,
    limits::{self, PageRequest},
    list_view::ListView,
    paged,
    progress::SearchProgress,
    run::{Origins, RunLimits, SearchOptions, SearchRun},
    sort::Sorting,
    sort_limits,
    sync::Sync,
    targets::{SearchPlace, add_targets, choose},
    tree_sync::TreeSync,
    work::Work,
};
use crate::{
    Configuration, NamingContext, OperationError,
    access::assertion::refuse_assertion,
    admission::{
        check_restrictions,
        controls::{keep_offered, policy},
    },
    backend::{
        call::{Call, GivenEntries},
        external::AnswerStream,
        naming_context::Backend,
    },
    refusal::{ControlRefusal, SearchRefusal},
    request::{context::RequestContext, last_base::LastBase},
    scratch::Scratch,
    search::{OpenSearches, page::Page},
};

/// Checks a request and fills an empty run. Only the entries on the way to the base object are read. `former`: what the
/// search has done already under another configuration.
pub(crate) fn prepare(
    scratch: &mut Scratch,
    searches: &mut OpenSearches,
    run: &mut SearchRun,
    call: &mut Call<'_, '_>,
    request: &SearchRequest<'_>,
    former: Option<Box<SearchProgress>>,
) -> Result<(), OperationError> {
    let mut base = std::mem::take(&mut scratch.base);
    let prepared = prepare_below(&mut base, scratch, searches, run, call, request, former);
    scratch.base = base;
    prepared
}

/// Parses the name of the base object. Usually it is the same as in the last search.
fn read_base(
    base: &mut LastBase,
    configuration: &Configuration,
    request: &SearchRequest<'_>,
    scope: DitScope,
) -> Result<(), OperationError> {
    let dn = base
        .read(&configuration.schema, request.base)
        .map_err(|_| SearchRefusal::InvalidBase)?;
    if dn.is_root()
        && scope != DitScope::Base
        && let Some(default) = &configuration.settings.default_search_base
    {
        base.dn.clone_from(default);
    }
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
    former: Option<Box<SearchProgress>>,
) -> Result<(), OperationError> {
    let (configuration, pdu) = (call.configuration, call.pdu);
    let scope = store_scope(request.scope);
    read_base(base, configuration, request, scope)?;
    let base = &base.dn;
    let page = page_asked_for(request, call.controls);
    let context = choose(configuration, base, scope)?;
    let governing = configuration.governing(context);
    check_restrictions(governing, configuration, Operations::SEARCH, &mut run.origin)?;
    let stream = stream_of(call, context, &mut run.origin)?;
    let controls = &mut *call.controls;
    keep_offered(context, run.origin.dropped_controls, controls)?;
    let page = page.filter(|_| controls.paged_results.is_some());
    // Only stored entries can be sorted.
    let is_sorted = stream.is_none() && call.entries.is_none() && context.backend.is_stored();
    let view = ListView::asked_for(context, is_sorted, controls, page.is_some())?;
    let bounds = limits::of(configuration, governing, &run.origin.identity, base);
    run.work = Work::of(&run.origin.identity, bounds.is_none());
    let Continued::With(mut former) = take_up(searches, run, page, bounds, (base, request, controls), former)? else {
        return Ok(());
    };
    let is_light = deferred::is_light(request, pdu, controls);
    run.options = options(request, controls);
    prepare_extras(
        run,
        searches,
        (configuration, context),
        controls,
        is_sorted,
        view,
        former.as_deref_mut(),
    )?;
    begin_sync(run, configuration, context, (controls, pdu), request, (base, scope))?;
    run.count_if_asked(context, controls)?;
    if is_light {
        run.resolve_names(&configuration.schema, request, controls, None)?;
    }
    ask_overlays(run, configuration, scratch);
    let clock = scratch.directory().clock();
    run.ask_search_hooks(configuration, context, base, request, controls, clock)?;
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
        run.compile_filters(configuration, context, request, controls, scratch, None)?;
    } else {
        run.defer_request(context, pdu);
    }
    external::begin(run, context, base, request, pdu, scratch)?;
    match former {
        Some(former) => Ok(run.continue_from(*former)?),
        None => Ok(()),
    }
}

/// Whether a search begins, or goes on.
enum Continued {
    /// The client wants no further page.
    Abandoned,
    /// `None`: it begins.
    With(Option<Box<SearchProgress>>),
}

/// Sets the limits and the page, and takes up what was done on former pages.
fn take_up(
    searches: &mut OpenSearches,
    run: &mut SearchRun,
    page: Option<PagedResults<'_>>,
    bounds: Option<&SearchLimits>,
    (base, request, controls): (&Dn, &SearchRequest<'_>, &RequestControls<'_>),
    former: Option<Box<SearchProgress>>,
) -> Result<Continued, OperationError> {
    let Some(page) = page else {
        run.limits = run_limits(bounds, run.origin.received_micros, request, None)?;
        return Ok(Continued::With(former));
    };
    let before = match &former {
        Some(former) => former.sent_on_earlier_pages(),
        None => paged::sent_before(searches, page.cookie),
    };
    let asked = PageRequest {
        size: page.size,
        before,
    };
    run.limits = run_limits(bounds, run.origin.received_micros, request, Some(asked))?;
    let digest = paged::digest(&run.origin.identity.dn, base, request, controls);
    run.extras.get_or_insert_default().paged = Some(Page::new(&run.origin, digest, page.size));
    if former.is_some() || page.cookie.is_empty() {
        return Ok(Continued::With(former));
    }
    let former = paged::take(searches, page, digest)?;
    if former.is_none() {
        run.extras = None;
        return Ok(Continued::Abandoned);
    }
    Ok(Continued::With(former))
}

/// The limits and the steps of a search that goes on under a configuration with entries that were given to it.
///
/// # Errors
/// The search, or the page, is not allowed there. `unavailable`: the request cannot be read again.
pub(super) fn limits_again(
    run: &SearchRun,
    configuration: &Configuration,
    governing: &NamingContext,
    pdu: &[u8],
) -> Result<(RunLimits, Work), OperationError> {
    let (decode, gone) = (&configuration.decode_limits, || SearchRefusal::Reconfigured);
    let message = RequestMessage::decode(pdu, decode).map_err(|_| gone())?;
    let Request::Search(request) = &message.operation else {
        return Err(gone().into());
    };
    let controls = RequestControls::decode(&message.controls, &message.operation, &policy(configuration), decode);
    let mut base = LastBase::default();
    read_base(&mut base, configuration, request, store_scope(request.scope))?;
    let bounds = limits::of(configuration, governing, &run.origin.identity, &base.dn);
    let is_paged = run.extras.as_ref().is_some_and(|extras| extras.paged.is_some());
    let page = controls.ok().filter(|_| is_paged);
    let page = page.and_then(|controls| page_asked_for(request, &controls));
    let page = page.map(|page| PageRequest {
        size: page.size,
        before: run.tally.before,
    });
    let limits = run_limits(bounds, run.origin.received_micros, request, page)?;
    Ok((
        limits,
        run.work.within(Work::of(&run.origin.identity, bounds.is_none())),
    ))
}

/// Makes it a content synchronization, or a search that is told of changes, if that is asked for.
fn begin_sync(
    run: &mut SearchRun,
    configuration: &Arc<Configuration>,
    context: &Arc<NamingContext>,
    call: (&RequestControls<'_>, &[u8]),
    request: &SearchRequest<'_>,
    place: (&Dn, DitScope),
) -> Result<(), OperationError> {
    if context.backend.tree().is_some() {
        if let Some(sync) = TreeSync::asked_for(configuration, context, call, request, place.0)? {
            run.extras.get_or_insert_default().tree_sync = Some(sync);
        }
    } else if let Some(sync) = Sync::asked_for(configuration, context, call, request, place)? {
        run.extras.get_or_insert_default().sync = Some(sync);
    }
    // What an alias leads to has changes that no log of the base tells. Java's client asks to follow them.
    run.options.deref_in_searching &= !run.tells_notices();
    // Entries come as they are found, and changes as they are made.
    if run.is_synchronizing()
        && let Some(sorting) = run.extras.as_deref_mut().and_then(|extras| extras.sort.as_mut())
    {
        sorting.pass_over(ResultCode::UNWILLING_TO_PERFORM);
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

/// The store's word for a scope.
pub(super) fn store_scope(scope: WireScope) -> DitScope {
    match scope {
        WireScope::BaseObject => DitScope::Base,
        WireScope::SingleLevel => DitScope::OneLevel,
        WireScope::WholeSubtree => DitScope::Subtree,
        WireScope::SubordinateSubtree => DitScope::Children,
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
        origins: match (&controls.real_attributes_only, &controls.virtual_attributes_only) {
            (Some(_), _) => Origins::Real,
            (None, Some(_)) => Origins::Virtual,
            (None, None) => Origins::Any,
        },
        adds_operational: false,
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

/// Prepares sort and view. Makes room for what comes of other controls.
fn prepare_extras(
    run: &mut SearchRun,
    searches: &mut OpenSearches,
    (configuration, context): (&Configuration, &NamingContext),
    controls: &RequestControls<'_>,
    is_sorted: bool,
    view: Option<ListView>,
    former: Option<&mut SearchProgress>,
) -> Result<(), OperationError> {
    if let Some(control) = &controls.server_side_sort {
        if is_sorted {
            sort_limits::check_keys(context, control.value.0.len())?;
            let mut sorting = Sorting::resolve(&configuration.schema, control, view.is_some())?;
            let former = former.and_then(SearchProgress::sort_mut);
            if !former.is_some_and(|former| sorting.take_place(former)) {
                sorting.admit(&mut searches.sorts, configuration, context)?;
            }
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
