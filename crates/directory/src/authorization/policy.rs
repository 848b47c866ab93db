//! `authz-policy`: whether an authenticated identity may act for another one.

use ironbark_config::AuthzPolicy;
use ironbark_model::{AttributeDescription, Dn};

use super::{Asking, find::stored_values, rule};
use crate::{OperationError, access::Subject};

/// Whether `own` may act for `other`. Everybody may act as anonymous and as himself, and the rootdn for all names of
/// its database. Others need the rules that `authz-policy` chooses.
///
/// # Errors
/// The storage failed.
pub(crate) fn is_authorized(asking: Asking<'_>, own: &Dn, other: &Dn) -> Result<bool, OperationError> {
    if other.is_root() {
        return Ok(true);
    }
    if own.is_root() {
        return Ok(false);
    }
    let manages = || {
        asking
            .configuration
            .context_of(other)
            .is_some_and(|context| context.is_root(own))
    };
    if own == other || manages() {
        return Ok(true);
    }
    let well_known = &asking.configuration.well_known;
    let to = || has_rule(asking, own, own, &well_known.authz_to, other);
    let from = || has_rule(asking, own, other, &well_known.authz_from, own);
    Ok(match asking.configuration.settings.sasl.authz_policy {
        AuthzPolicy::None => false,
        AuthzPolicy::From => from()?,
        AuthzPolicy::To => to()?,
        AuthzPolicy::Any => to()? || from()?,
        AuthzPolicy::All => to()? && from()?,
    })
}

/// Whether a rule in an attribute of `holder` names somebody. The rule looks at other entries with the rights of `own`.
fn has_rule(
    asking: Asking<'_>,
    own: &Dn,
    holder: &Dn,
    attribute: &AttributeDescription,
    named: &Dn,
) -> Result<bool, OperationError> {
    let rules = stored_values(asking, holder, attribute)?;
    let subject = Subject {
        dn: own,
        real_dn: own,
        // Results for another subject do not count.
        sets: None,
        ..asking.subject
    };
    is_named(Asking { subject, ..asking }, &rules, named)
}

/// Whether one of some rules (OpenLDAP authz syntax) names somebody.
///
/// # Errors
/// `adminLimitExceeded`: [`Asking::look_through`]; the storage failed.
pub(crate) fn is_named(asking: Asking<'_>, rules: &[Vec<u8>], named: &Dn) -> Result<bool, OperationError> {
    for text in rules.iter().filter_map(|value| std::str::from_utf8(value).ok()) {
        if rule::names(asking, text, named)? {
            return Ok(true);
        }
    }
    Ok(false)
}
