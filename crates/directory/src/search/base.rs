//! Where a search begins: who may search there, what is said of a base that is not there, is hidden, is a referral, or that an alias leads to.

use ironbark_config::access::Privileges;
use ironbark_model::{Dn, ResultCode};
use ironbark_store::{EntryId, Location, Scope, View};

use super::{
    SearchRun,
    alias::{self, Followed},
};
use crate::{
    Configuration, Context, OperationError,
    access::{Subject, Target, WriteCheck},
    disclosure::{Ancestor, Disclosure},
    referral,
};

/// How a client has come to a base object.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    /// The name that it asked for.
    pub(super) asked: &'a Dn,
    /// Where aliases have led.
    pub(super) followed: Option<&'a Followed>,
    pub(super) scope: Scope,
}

impl<'a> Way<'a> {
    /// The name of the base object.
    fn base(&self) -> &'a Dn {
        self.followed.map_or(self.asked, |followed| &followed.dn)
    }
}

/// The error for a base that is not there; `ancestor` is the deepest entry on the way to it.
pub(super) fn missing(
    run: &SearchRun,
    configuration: &Configuration,
    context: &Context,
    (view, way): (View<'_>, Way<'_>),
    ancestor: Ancestor,
) -> OperationError {
    let disclosure = disclosure_of(run, configuration, context, view);
    let error = disclosure.missing(way.base(), ancestor, Some(way.scope));
    told(run, disclosure, way, error)
}

/// Searching needs the privilege to search on the base object itself; without `disclose` it does not even exist.
pub(super) fn check_access(
    run: &SearchRun,
    configuration: &Configuration,
    context: &Context,
    (view, way): (View<'_>, Way<'_>),
    id: EntryId,
) -> Result<(), OperationError> {
    let disclosure = disclosure_of(run, configuration, context, view);
    let Some(record) = view.record(id)? else {
        return Ok(());
    };
    let check = WriteCheck::on_record(context, configuration, disclosure.subject, &record, view);
    require_search(&check, || disclosure.hidden(way.base(), &record, Some(way.scope)))
        .map_err(|error| told(run, disclosure, way, error))
}

/// A referral entry is answered with, if the search begins there.
///
/// # Errors
/// `referral`.
pub(super) fn refuse_referral(
    run: &SearchRun,
    configuration: &Configuration,
    view: View<'_>,
    (base, scope): (&Dn, Scope),
    id: EntryId,
) -> Result<(), OperationError> {
    let Some(record) = view.record(id)? else {
        return Ok(());
    };
    let urls = referral::urls_below(configuration, &record, (base, base), Some(scope));
    let error = OperationError::referral(view.dn(id)?.pretty().to_owned(), urls);
    Err(within_domain(run, error))
}

/// An error about a base as the client hears it, which may not know of what an alias names.
fn told(run: &SearchRun, disclosure: Disclosure<'_>, way: Way<'_>, error: OperationError) -> OperationError {
    let Some(followed) = way.followed else {
        return within_domain(run, error);
    };
    let Disclosure {
        context,
        configuration,
        view,
        ..
    } = disclosure;
    match reaches(disclosure, followed) {
        Ok(true) => within_domain(run, error),
        Ok(false) => alias_problem(run, configuration, context, (view, way.asked, way.scope), None),
        Err(failed) => failed,
    }
}

/// An answer as it is under the domain scope control, with which a client wants no referrals.
fn within_domain(run: &SearchRun, error: OperationError) -> OperationError {
    if run.options.domain_scope && error.result_code == ResultCode::REFERRAL {
        OperationError::no_such_object(error.matched_dn)
    } else {
        error
    }
}

/// What the client may know of names.
pub(super) fn disclosure_of<'a>(
    run: &'a SearchRun,
    configuration: &'a Configuration,
    context: &'a Context,
    view: View<'a>,
) -> Disclosure<'a> {
    Disclosure {
        context,
        configuration,
        subject: Subject::of(&run.origin, context),
        view,
    }
}

/// Whether the subject may know of the entry that an alias on the way to the base names.
fn reaches(disclosure: Disclosure<'_>, followed: &Followed) -> Result<bool, OperationError> {
    match disclosure.view.locate(&followed.dn.ancestor(followed.target_depth))? {
        Location::Entry(id) => disclosure.discloses_entry(id),
        Location::Missing { .. } => Ok(false),
    }
}

/// What is answered when a base is an alias, or lies below one, that cannot be followed; without an `error`, because what it leads to may not be
/// known of: that is told as if it led to nothing. Nor is an alias told of that may not be known of itself.
pub(super) fn alias_problem(
    run: &SearchRun,
    configuration: &Configuration,
    context: &Context,
    (view, base, scope): (View<'_>, &Dn, Scope),
    error: Option<OperationError>,
) -> OperationError {
    let disclosure = disclosure_of(run, configuration, context, view);
    let answer = || {
        let (nothing, alias) = alias::leads_to_nothing(view, base)?;
        Ok(match alias {
            Some((id, _)) if !disclosure.discloses_entry(id)? => disclosure.missing(base, alias, Some(scope)),
            _ => error.unwrap_or(nothing),
        })
    };
    answer().unwrap_or_else(|failed: OperationError| failed)
}

pub(super) fn require_search(
    check: &WriteCheck<'_>,
    hidden: impl FnOnce() -> OperationError,
) -> Result<(), OperationError> {
    if check.permits(Target::Entry, Privileges::SEARCH) {
        Ok(())
    } else if check.discloses_base() {
        Err(OperationError::code(ResultCode::INSUFFICIENT_ACCESS_RIGHTS))
    } else {
        Err(hidden())
    }
}
