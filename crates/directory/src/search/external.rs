//! Searches of databases whose entries are elsewhere. The request is sent when all else is prepared; entries are
//! considered as they come.

use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use ironbark_config::limits::SearchLimits;
use ironbark_ldap_proto::{DerefAliases, Scope, SearchRequest};
use ironbark_model::{Dn, Entry, Filter, budget, filter::log::LogFilter};

use super::{
    external_walk::ExternalWalk,
    limits,
    run::{SearchRun, Walked},
    target::{Target, Walk},
    work::Step,
};
use crate::{
    Configuration, NamingContext, OperationError,
    backend::{
        complete,
        external::{
            AnswerStream, Answers, ExternalAsker, ExternalOperation, ExternalRequest, ExternalSearch, ROOM_OCTETS,
            UNSUPPORTED, refuse_controls,
        },
    },
    refusal::SearchRefusal,
    request::context::RequestContext,
    scratch::{Scratch, TURN_STEPS},
};

/// Refuses critical controls that need the stored entries, and drops the others.
///
/// # Errors
/// `unavailableCriticalExtension`.
pub(super) fn drop_controls(origin: &mut RequestContext) -> Result<(), OperationError> {
    refuse_controls(origin)?;
    origin.drop_controls(origin.dropped_controls.and(UNSUPPORTED));
    Ok(())
}

/// The search as another program is asked for it.
///
/// # Errors
/// `adminLimitExceeded`: the request is too long to be written as text here.
pub(crate) fn external_search(
    configuration: &Configuration,
    bounds: Option<&SearchLimits>,
    base: &Dn,
    request: &SearchRequest<'_>,
    pdu: &[u8],
) -> Result<ExternalSearch, OperationError> {
    if budget::cost_of(pdu) > MOST_TEXT_STEPS {
        return Err(SearchRefusal::TooMuchWork.into());
    }
    Ok(ExternalSearch {
        base: base.clone(),
        scope: match request.scope {
            Scope::BaseObject => 0,
            Scope::SingleLevel => 1,
            Scope::WholeSubtree => 2,
            Scope::SubordinateSubtree => 3,
        },
        dereference: match request.deref_aliases {
            DerefAliases::Never => 0,
            DerefAliases::InSearching => 1,
            DerefAliases::FindingBaseObject => 2,
            DerefAliases::Always => 3,
        },
        size_limit: limits::size(bounds, request.size_limit),
        time_limit: limits::time(bounds, request.time_limit),
        filter: LogFilter::whole(&configuration.schema, &request.filter).to_string(),
        types_only: request.types_only,
        attributes: request.attributes.iter().map(<[u8]>::to_vec).collect(),
    })
}

/// For a database whose entries are elsewhere: sends the request, and adds the walk over the answers.
///
/// # Errors
/// `adminLimitExceeded`: to write the request as text would take too long.
pub(super) fn begin(
    run: &mut SearchRun,
    context: &Arc<NamingContext>,
    base: &Dn,
    request: &SearchRequest<'_>,
    pdu: &[u8],
    scratch: &Scratch,
) -> Result<(), OperationError> {
    let Some(database) = context.backend.external() else {
        return Ok(());
    };
    let configuration = Arc::clone(&run.configuration);
    let bounds = limits::of(&configuration, context, &run.origin.identity, base);
    let search = ExternalSearch {
        size_limit: run.limits.size,
        ..external_search(&configuration, bounds, base, request, pdu)?
    };
    let (deadline, now) = (run.limits.deadline_micros, scratch.directory().monotonic_micros());
    let asked = ExternalRequest {
        asker: ExternalAsker::of(&run.origin),
        operation: ExternalOperation::Search(search),
        time: deadline.map(|deadline| Duration::from_micros(deadline.saturating_sub(now))),
    };
    let (answers, stream) = Answers::of_search();
    database.begin(asked, answers);
    run.walk_over(context, stream);
    Ok(())
}

impl SearchRun {
    /// Adds the walk over entries from elsewhere, which the other side has filtered.
    pub(super) fn walk_over(&mut self, context: &Arc<NamingContext>, stream: AnswerStream) {
        self.filter
            .compile(&self.configuration.schema, &Filter::And(Vec::new()));
        self.targets.push_back(Target {
            context: Arc::clone(context),
            walk: Walk::External(Box::new(ExternalWalk::new(stream))),
        });
    }

    /// Whether the filter of the request is applied here.
    pub(super) fn applies_filter(&self, context: &NamingContext) -> bool {
        let is_external = |target: &Target| matches!(target.walk, Walk::External(_));
        context.backend.has_entries() && !self.targets.front().is_some_and(is_external)
    }

    /// Whether the search must wait for entries from elsewhere: see [`SearchRun::poll_ready`].
    pub fn is_waiting(&self) -> bool {
        if self.waits_for_overlays() || self.waits_for_changes() {
            return true;
        }
        match self.targets.front().map(|target| &target.walk) {
            Some(Walk::External(walk)) => self.deferred.is_none() && walk.is_waiting(),
            _ => false,
        }
    }

    /// Octets that it may hold of entries from elsewhere.
    pub fn held_octets(&self) -> usize {
        let is_external = |target: &&Target| matches!(target.walk, Walk::External(_));
        self.targets.iter().filter(is_external).count() * ROOM_OCTETS as usize
    }

    /// Whether the search was abandoned or canceled.
    pub fn is_stopped(&self) -> bool {
        self.origin.stop.stopped().is_some()
    }

    /// Ready when a step can be taken.
    pub fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(extras) = &mut self.extras
            && let Some(wait) = &mut extras.wait
        {
            if wait.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            extras.wait = None;
            return Poll::Ready(());
        }
        match self.targets.front_mut().map(|target| &mut target.walk) {
            Some(Walk::External(walk)) => walk.poll_ready(cx),
            _ => self.poll_changes(cx),
        }
    }

    /// Drops the walk over entries from elsewhere.
    pub(crate) fn close_external(&mut self) {
        self.targets.retain(|target| !matches!(target.walk, Walk::External(_)));
    }

    pub(super) fn walk_external(
        &mut self,
        context: &NamingContext,
        walk: &mut ExternalWalk,
        step: &mut Step<'_>,
    ) -> Result<Walked, OperationError> {
        loop {
            if let Some(end) = self.time_is_up(step.scratch) {
                return Ok(end);
            }
            let is_used_up = step.is_used_up();
            let Some(entry) = walk.next() else {
                // The search continues when an entry has come.
                if walk.is_waiting() {
                    return Ok(Walked::SliceEnd);
                }
                let result = walk.result();
                if result.is_plain_success() {
                    return Ok(Walked::Through);
                }
                self.verdict = Some(result);
                return Ok(Walked::Finish);
            };
            if is_used_up {
                return Ok(Walked::SliceEnd);
            }
            complete::complete_received(&self.configuration, entry);
            if let Some(end) = self.consider_sent(context, entry, step)? {
                return Ok(end);
            }
            walk.advance();
        }
    }

    /// Considers an entry from elsewhere; `Some`: the walk stops at it.
    fn consider_sent(
        &mut self,
        context: &NamingContext,
        entry: &Entry,
        step: &mut Step<'_>,
    ) -> Result<Option<Walked>, OperationError> {
        let before = step.out.len();
        let considered = self.consider_memory(context, entry, step);
        if step.is_exhausted() {
            step.out.truncate(before);
            return Ok(Some(Walked::Exhausted));
        }
        step.slice.has_advanced = true;
        considered
    }
}

/// Most steps for writing a request as text. The reactor waits meanwhile: some ten milliseconds.
const MOST_TEXT_STEPS: u64 = 20 * TURN_STEPS;
