//! The slow part of preparing a search: a large filter, many attribute names, the right to search at the base, the
//! aliases below the base. It is left to the first step, which is limited and can run elsewhere.

use std::{collections::VecDeque, sync::Arc};

use ironbark_ldap_proto::{Request, RequestMessage, SearchRequest, controls::RequestControls};
use ironbark_model::{Budget, CompiledFilter, Filter, Schema, budget};
use ironbark_store::View;

use super::{
    alias::{self, FoundBase, class_filter},
    base,
    run::SearchRun,
    target::{Extent, Target, Walk, is_covered},
    targets::check_base,
    work::Slice,
};
use crate::{
    Configuration, NamingContext, OperationError,
    admission::controls::policy,
    scratch::Scratch,
    search::run::{AskedBase, Deferred},
};

/// Most steps of normalizing a request that is prepared at once.
const LIGHT_STEPS: u64 = 2_000;
/// Most attribute names of a request that is prepared at once.
const LIGHT_NAMES: usize = 1_000;
/// Requests up to this size are always prepared at once.
const LIGHT_OCTETS: usize = 256;

/// Whether the filters of a request are compiled and its names resolved at once.
pub(super) fn is_light(request: &SearchRequest<'_>, pdu: &[u8], controls: &RequestControls<'_>) -> bool {
    // The cost of an assertion also depends on the base object.
    if controls.assertion.is_some() {
        return false;
    }
    pdu.len() <= LIGHT_OCTETS || (budget::cost_of(pdu) <= LIGHT_STEPS && names(request, controls) <= LIGHT_NAMES)
}

/// The number of attribute names in a request.
fn names(request: &SearchRequest<'_>, controls: &RequestControls<'_>) -> usize {
    let specifications = controls.dereference.iter().flat_map(|control| &control.value.0);
    let dereferenced: usize = specifications.map(|one| 1 + one.attributes.len()).sum();
    request.attributes.len() + dereferenced
}

/// What is read in the batch's snapshot. `None`: there is no database, or the steps did not suffice.
fn in_snapshot<T>(
    context: &NamingContext,
    scratch: &mut Scratch,
    budget: &Budget,
    read: impl FnOnce(View<'_>) -> Result<T, OperationError>,
) -> Result<Option<T>, OperationError> {
    let Some(snapshot) = scratch.take_snapshot(context)? else {
        return Ok(None);
    };
    let found = read(snapshot.view().under(budget));
    scratch.keep_snapshot(snapshot);
    let found = found?;
    Ok((!budget.is_exhausted()).then_some(found))
}

impl SearchRun {
    /// Leaves the filters and attribute names of a request to the first step.
    pub(super) fn defer_request(&mut self, context: &Arc<NamingContext>, request: &[u8]) {
        self.request = Some(request.into());
        self.deferred(context).is_uncompiled = true;
    }

    /// Leaves the check whether the subject may search at the base to the first step.
    pub(super) fn defer_base(&mut self, context: &Arc<NamingContext>, base: FoundBase<'_>) {
        self.deferred(context).base = Some(AskedBase::of(base));
    }

    /// Leaves the aliases below the base to the first step.
    pub(super) fn defer_aliases(&mut self, context: &Arc<NamingContext>, base: FoundBase<'_>) {
        self.deferred(context).aliases = Some(AskedBase::of(base));
    }

    fn deferred(&mut self, context: &Arc<NamingContext>) -> &mut Deferred {
        self.deferred.get_or_insert_with(|| {
            Box::new(Deferred {
                context: Arc::clone(context),
                is_uncompiled: false,
                base: None,
                aliases: None,
                continues: false,
            })
        })
    }

    /// Does the deferred preparation. If the steps do not suffice, the rest stays deferred.
    ///
    /// # Errors
    /// The same as of [`super::prepare`].
    pub(super) fn prepare_rest(&mut self, scratch: &mut Scratch, slice: &mut Slice<'_>) -> Result<(), OperationError> {
        let Some(mut deferred) = self.deferred.take() else {
            return Ok(());
        };
        if let Some(base) = &deferred.base {
            self.ask_for_base(&deferred.context, base.found(), scratch, slice.budget)?;
            if slice.budget.is_exhausted() {
                self.deferred = Some(deferred);
                return Ok(());
            }
            deferred.base = None;
            slice.has_advanced = true;
        }
        if let Some(base) = &deferred.aliases {
            if deferred.continues {
                self.follow_aliases_again(&deferred.context, base.found(), scratch, slice.budget)?;
            } else {
                self.follow_aliases(&deferred.context, base.found(), scratch, slice.budget)?;
            }
            if !slice.budget.is_exhausted() {
                deferred.aliases = None;
                slice.has_advanced = true;
            }
        }
        if deferred.is_uncompiled
            && !slice.budget.is_exhausted()
            && let Some(request) = self.request.take()
        {
            let context = Arc::clone(&deferred.context);
            let compiled = self.compile_request(&context, &request, scratch, slice.budget);
            self.request = Some(request);
            compiled?;
            if !slice.budget.is_exhausted() {
                deferred.is_uncompiled = false;
                slice.has_advanced = true;
            }
        }
        if !deferred.is_done() {
            self.deferred = Some(deferred);
        }
        Ok(())
    }

    /// Checks whether the subject may search at the base object.
    fn ask_for_base(
        &self,
        context: &Arc<NamingContext>,
        base: FoundBase<'_>,
        scratch: &mut Scratch,
        budget: &Budget,
    ) -> Result<(), OperationError> {
        let configuration = &self.configuration;
        let Some(snapshot) = scratch.take_snapshot(context)? else {
            return Ok(());
        };
        let Some(standing) = scratch.standing(configuration, context, &self.origin, snapshot.view()) else {
            return Ok(());
        };
        let view = snapshot.view().under(budget);
        let disclosure = base::disclosure_of(self, configuration, context, view);
        let checked = base::ask(self, disclosure, &standing, base);
        scratch.keep_snapshot(snapshot);
        if budget.is_exhausted() { Ok(()) } else { checked }
    }

    /// Adds the targets of aliases below the base, after the base.
    fn follow_aliases(
        &mut self,
        context: &Arc<NamingContext>,
        base: FoundBase<'_>,
        scratch: &mut Scratch,
        budget: &Budget,
    ) -> Result<(), OperationError> {
        let followed = in_snapshot(context, scratch, budget, |view| {
            let mut found = VecDeque::new();
            let disclosure = base::disclosure_of(self, &self.configuration, context, view);
            let bases = alias::expand(disclosure, context, base, &mut found)?;
            Ok((bases, found))
        })?;
        let Some((bases, found)) = followed.filter(|(bases, _)| bases.len() > 1) else {
            return Ok(());
        };
        self.extras.get_or_insert_default().alias_bases = bases;
        let others = self.targets.split_off(1.min(self.targets.len()));
        self.targets.extend(found);
        self.targets.extend(others);
        Ok(())
    }

    /// Keeps, of the targets of a walk that has begun, those that the base and its aliases still lead to. Aliases that
    /// were added since are passed over.
    fn follow_aliases_again(
        &mut self,
        context: &Arc<NamingContext>,
        base: FoundBase<'_>,
        scratch: &mut Scratch,
        budget: &Budget,
    ) -> Result<(), OperationError> {
        let reached = in_snapshot(context, scratch, budget, |view| self.still_reached(context, view, base))?;
        let Some((targets, extents)) = reached else {
            return Ok(());
        };
        let mut reached = targets.into_iter();
        self.targets.retain(|_| reached.next().unwrap_or(false));
        if let Some(sorting) = self.extras.as_deref_mut().and_then(|extras| extras.sort.as_mut()) {
            sorting.cover_more(&extents);
        }
        Ok(())
    }

    /// Which targets the base and its aliases lead to now, and the extents of all that they lead to.
    fn still_reached(
        &self,
        context: &Arc<NamingContext>,
        view: View<'_>,
        base: FoundBase<'_>,
    ) -> Result<(Vec<bool>, Vec<Extent>), OperationError> {
        let mut found = VecDeque::from([Target::stored(Arc::clone(context), base.id, base.scope)]);
        let disclosure = base::disclosure_of(self, &self.configuration, context, view);
        alias::expand(disclosure, context, base, &mut found)?;
        let extents: Vec<Extent> = found.iter().filter_map(Target::extent).collect();
        let is_reached = |target: &Target| match &target.walk {
            Walk::Stored(walk) if walk.base.earlier_bases > 0 => {
                is_covered(&extents, context.number, walk.base.id, view)
            }
            _ => Ok(true),
        };
        let targets = self.targets.iter().map(is_reached).collect::<Result<_, _>>()?;
        Ok((targets, extents))
    }

    fn compile_request(
        &mut self,
        context: &NamingContext,
        request: &[u8],
        scratch: &mut Scratch,
        budget: &Budget,
    ) -> Result<(), OperationError> {
        let configuration = Arc::clone(&self.configuration);
        let limits = &configuration.decode_limits;
        // The request has been decoded once without an error.
        let Ok(message) = RequestMessage::decode(request, limits) else {
            return Ok(());
        };
        let Request::Search(request) = &message.operation else {
            return Ok(());
        };
        let policy = policy(&configuration);
        let Ok(mut controls) = RequestControls::decode(&message.controls, &message.operation, &policy, limits) else {
            return Ok(());
        };
        controls.remove(self.origin.dropped_controls);
        self.resolve_names(&configuration.schema, request, &controls, Some(budget))?;
        if budget.is_exhausted() {
            return Ok(());
        }
        self.compile_filters(&configuration, context, request, &controls, scratch, Some(budget))
    }

    /// Resolves the attribute names in a request and its controls.
    ///
    /// # Errors
    /// The same as of [`SearchRun::resolve_dereference`].
    pub(super) fn resolve_names(
        &mut self,
        schema: &Schema,
        request: &SearchRequest<'_>,
        controls: &RequestControls<'_>,
        budget: Option<&Budget>,
    ) -> Result<(), OperationError> {
        self.selection.resolve(schema, request.attributes.iter(), budget);
        self.add_operational();
        self.resolve_dereference(schema, controls, budget)
    }

    /// Selects operational attributes, if an overlay adds them to all user attributes.
    pub(super) fn add_operational(&mut self) {
        self.selection.all_operational |= self.options.adds_operational && self.selection.all_user;
    }

    /// Compiles the filters of a request and of its controls, and checks the assertion.
    ///
    /// # Errors
    /// `assertionFailed`.
    pub(super) fn compile_filters(
        &mut self,
        configuration: &Configuration,
        context: &NamingContext,
        request: &SearchRequest<'_>,
        controls: &RequestControls<'_>,
        scratch: &mut Scratch,
        budget: Option<&Budget>,
    ) -> Result<(), OperationError> {
        let schema = &configuration.schema;
        let is_exhausted = || budget.is_some_and(Budget::is_exhausted);
        let applies_filter = self.applies_filter(context);
        if applies_filter {
            self.filter.compile_within(schema, &request.filter, budget);
        }
        if let (Some(extras), Some(control)) = (&mut self.extras, &controls.matched_values) {
            // One filter for all: it looks up the values of many equalities at once.
            let mut filter = CompiledFilter::default();
            filter.compile_within(schema, &Filter::Or(control.value.0.clone()), budget);
            extras.matched_values = (!control.value.0.is_empty()).then_some(filter);
        }
        if is_exhausted() {
            return Ok(());
        }
        if let Some(control) = &controls.assertion
            && applies_filter
        {
            // A request that is prepared at once has no assertion.
            let unlimited = Budget::new(u64::MAX);
            let checked = check_base(self, configuration, &control.value.0, budget.unwrap_or(&unlimited));
            if is_exhausted() {
                return Ok(());
            }
            checked?;
        }
        if request.scope != ironbark_ldap_proto::Scope::BaseObject
            && !self.options.manage_dsa_it
            && applies_filter
            && self.has_referral_entries(scratch)?
        {
            let mut filter = CompiledFilter::default();
            let either = Filter::Or(vec![request.filter.clone(), class_filter(b"referral")]);
            filter.compile_within(schema, &either, budget);
            self.referral_filter = Some(filter);
        }
        Ok(())
    }
}
