//! The base object of a search: the right to search there, and the answers for a base that is hidden, is a referral, or
//! is reached through an alias.

use ironbark_config::access::Privileges;
use ironbark_model::{Dn, ResultCode};
use ironbark_store::{DitScope, Location, View};

use super::{
    alias::{self, Followed, FoundBase},
    run::SearchRun,
};
use crate::{
    Configuration, NamingContext, OperationError,
    access::{Requester, SubjectDecisions, Target, WriteCheck, disclosure::Disclosure},
    backend::referral,
    refusal::SearchRefusal,
};

/// The answer under the domain scope control: the client wants no referrals.
pub(super) fn within_domain(run: &SearchRun, error: OperationError) -> OperationError {
    if run.options.domain_scope && error.result_code == ResultCode::REFERRAL {
        OperationError::no_such_object(error.matched_dn)
    } else {
        error
    }
}

/// Decides what the client may know of names.
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

/// Whether the subject may know of the target of the last alias on the way to the base.
pub(super) fn reaches(disclosure: Disclosure<'_>, followed: &Followed) -> Result<bool, OperationError> {
    match disclosure.view.locate(&followed.dn.ancestor(followed.target_depth))? {
        Location::Entry(id) => disclosure.discloses_entry(id),
        Location::Missing { .. } => Ok(false),
    }
}

/// The answer when the base is, or lies below, an alias that cannot be followed. `error` is `None` if the subject may
/// not know of the alias's target: the answer is then the same as for an alias that leads to nothing. If the subject
/// may not know of the alias either, the base is missing.
pub(super) fn alias_problem(
    disclosure: Disclosure<'_>,
    base: &Dn,
    scope: DitScope,
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

/// Checks the search privilege on the base object. Without the `disclose` privilege the base does not seem to exist.
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
        Err(SearchRefusal::NoAccess.into())
    } else {
        Err(hidden())
    }
}

/// Refuses a base object that is a referral.
///
/// # Errors
/// `referral`, or `noSuchObject` if the client wants no referrals.
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
        return Err(SearchRefusal::TooMuchWork.into());
    }
    let dn = base.dn();
    let urls = referral::urls_below(configuration, &record, dn, dn, Some(base.scope));
    let error = OperationError::referral(view.dn(base.id)?.pretty().to_owned(), urls);
    Err(within_domain(run, error))
}
