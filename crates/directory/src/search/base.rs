//! Where a search begins: who may search there, what is said of a base that is hidden, is a referral, or that an alias
//! leads to.

use ironbark_config::access::Privileges;
use ironbark_model::{Dn, ResultCode};
use ironbark_store::{Location, Scope, View};

use super::{
    alias::{self, Followed, FoundBase},
    run::SearchRun,
};
use crate::{
    Configuration, NamingContext, OperationError,
    access::{Requester, SubjectDecisions, Target, WriteCheck, disclosure::Disclosure},
    backend::referral,
};

/// An answer as it is under the domain scope control, with which a client wants no referrals.
pub(super) fn within_domain(run: &SearchRun, error: OperationError) -> OperationError {
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
    context: &'a NamingContext,
    view: View<'a>,
) -> Disclosure<'a> {
    Disclosure {
        requester: Requester::of(configuration, context, &run.origin),
        view,
    }
}

/// Whether the subject may know of the entry that an alias on the way to the base names.
pub(super) fn reaches(disclosure: Disclosure<'_>, followed: &Followed) -> Result<bool, OperationError> {
    match disclosure.view.locate(&followed.dn.ancestor(followed.target_depth))? {
        Location::Entry(id) => disclosure.discloses_entry(id),
        Location::Missing { .. } => Ok(false),
    }
}

/// What is answered when a base is an alias, or lies below one, that cannot be followed; without an `error`, because
/// what it leads to may not be known of: that is told as if it led to nothing. Nor is an alias told of that may not be
/// known of itself.
pub(super) fn alias_problem(
    disclosure: Disclosure<'_>,
    base: &Dn,
    scope: Scope,
    error: Option<OperationError>,
) -> OperationError {
    let answer = || {
        let (nothing, alias) = alias::leads_to_nothing(disclosure.view, base)?;
        Ok(match alias {
            Some((id, _)) if !disclosure.discloses_entry(id)? => disclosure.missing(base, alias, Some(scope)),
            _ => error.unwrap_or(nothing),
        })
    };
    answer().unwrap_or_else(|failed: OperationError| failed)
}

/// Searching needs the privilege to search on the base object itself; without `disclose` it does not even exist.
pub(super) fn ask(
    run: &SearchRun,
    disclosure: Disclosure<'_>,
    standing: &SubjectDecisions,
    base: FoundBase<'_>,
) -> Result<(), OperationError> {
    let Disclosure { requester, view } = disclosure;
    let Some(record) = view.record(base.id)? else {
        return Ok(());
    };
    let scope = base.scope;
    let check = WriteCheck::on_record(requester, &record, view).remembered(standing);
    let Err(error) = require_search(&check, || disclosure.hidden(base.dn(), &record, Some(scope))) else {
        return Ok(());
    };
    if let Some(followed) = base.followed
        && !reaches(disclosure, followed)?
    {
        return Err(alias_problem(disclosure, base.asked, scope, None));
    }
    Err(within_domain(run, error))
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

/// A base object that is a referral is not searched.
///
/// # Errors
/// `referral`; `noSuchObject` where no referrals are wanted.
pub(super) fn refuse_referral(
    run: &SearchRun,
    configuration: &Configuration,
    view: View<'_>,
    base: FoundBase<'_>,
) -> Result<(), OperationError> {
    let Some(record) = view.record(base.id)? else {
        return Ok(());
    };
    if view.is_exhausted() {
        return Err(OperationError::new(
            ResultCode::ADMIN_LIMIT_EXCEEDED,
            "search takes too much work",
        ));
    }
    let dn = base.dn();
    let urls = referral::urls_below(configuration, &record, dn, dn, Some(base.scope));
    let error = OperationError::referral(view.dn(base.id)?.pretty().to_owned(), urls);
    Err(within_domain(run, error))
}
