//! Finds the naming context and the base object of a search, and adds the targets that the search walks over.

use std::{rc::Rc, sync::Arc};

use ironbark_model::{Budget, Dn, Entry, Filter, ResultCode};
use ironbark_store::{DitScope, Location, View};

use super::{
    alias::{self, FoundBase},
    base as search_base, null,
    run::SearchRun,
    target::{Target, Walk},
};
use crate::{
    Configuration, NamingContext, OperationError,
    access::{
        Requester, SubjectDecisions, WriteCheck,
        assertion::{check_assertion, check_assertion_on_record},
        disclosure::{Disclosure, missing_in_memory},
    },
    backend::{call::GivenEntries, external::AnswerStream, naming_context::Backend, referral},
    frontend::root_dse,
    overlay::{derived::DerivedFor, facts::Facts, overlays_of},
    refusal::SearchRefusal,
    scratch::{DnCache, Scratch},
};

/// The begin of a search, before the base object is found.
#[derive(Clone, Copy)]
pub(super) struct SearchPlace<'a> {
    pub(super) configuration: &'a Arc<Configuration>,
    pub(super) context: &'a Arc<NamingContext>,
    /// The name of the base object.
    pub(super) base: &'a Dn,
    pub(super) scope: DitScope,
    /// Whether aliases in the name of the base object are followed.
    pub(super) dereferences: bool,
    /// Entries that replace the entries of the database.
    pub(super) given: Option<&'a GivenEntries>,
}

impl<'a> SearchPlace<'a> {
    /// Decides what the client may know of names.
    fn disclosure(&self, run: &'a SearchRun, view: View<'a>) -> Disclosure<'a> {
        search_base::disclosure_of(run, self.configuration, self.context, view)
    }
}

/// The naming context of a base object. For the root DSE and the subschema subentry: the frontend.
pub(super) fn choose<'c>(
    configuration: &'c Configuration,
    base: &Dn,
    scope: DitScope,
) -> Result<&'c Arc<NamingContext>, OperationError> {
    let is_frontend_entry = |entries: &[ironbark_model::Entry]| entries.first().is_some_and(|entry| entry.dn == *base);
    if scope == DitScope::Base
        && (is_frontend_entry(&configuration.root_dse) || is_frontend_entry(&configuration.subschema))
    {
        return Ok(&configuration.frontend);
    }
    configuration
        .context_of(base)
        .ok_or_else(|| referral::default_referral(configuration, base, Some(scope)))
}

/// Finds the base object, and adds the targets that the search walks over.
pub(super) fn add_targets(
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
                let target = Target::memory(Arc::clone(context), entries, suffix.clone(), DitScope::Base);
                run.targets.push_back(target);
            }
            Ok(())
        }
        // The request is sent later, when nothing can fail any more.
        Backend::External(_) => Ok(()),
        Backend::Stored { .. } => {
            if let Some(snapshot) = scratch.take_snapshot(context)? {
                let standing = scratch.standing(configuration, context, &run.origin, snapshot.view());
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
        Location::Missing { ancestor: None } if base.is_root() && scope != DitScope::Base => 0,
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
    if run.options.deref_in_searching && scope != DitScope::Base {
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
            let facts = Facts::read(configuration, context, view, &overlays_of(context).derivations)?;
            let derived = DerivedFor {
                configuration,
                context,
                facts: facts.as_ref(),
                asker: requester,
                manages_dsa_it: run.options.manage_dsa_it,
            };
            let (view, record) = (view.deriving(&derived), record.deriving(&derived));
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
    if scope == DitScope::Base {
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
                DitScope::Base => (false, DitScope::Base),
                DitScope::OneLevel => (below && suffix.depth() == base.depth() + 1, DitScope::Base),
                DitScope::Subtree | DitScope::Children => (below, DitScope::Subtree),
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
    pub(super) fn has_referral_entries(&self, scratch: &mut Scratch) -> Result<bool, OperationError> {
        for target in &self.targets {
            if scratch.holds_referrals(&target.context)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
