//! Size, time and look-through limits of one search (RFC 4511 §4.5.1.4-5, slapd.conf(5) `limits`).

use std::ops::ControlFlow;

use ironbark_config::limits::{
    DnPattern, HardLimit, LimitsRule, LimitsSelector, PageTotal, SearchLimits, UncheckedLimit,
};
use ironbark_model::{Dn, ResultCode};
use ironbark_store::Location;

use crate::{Configuration, Context, OperationError, session::Identity};

/// The limits that bind an identity on a database; `None`: the rootdn, whom nothing binds.
///
/// `base` is the name that the operation is about, for `dn.this` selectors.
pub(crate) fn of<'a>(
    configuration: &Configuration,
    context: &'a Context,
    identity: &Identity,
    base: &Dn,
) -> Option<&'a SearchLimits> {
    if context.is_root(&identity.dn) {
        return None;
    }
    let rule = context
        .settings
        .limits
        .iter()
        .find(|rule| applies(configuration, rule, identity, base));
    Some(rule.map_or(&context.settings.search_limits, |rule| &rule.limits))
}

fn applies(configuration: &Configuration, rule: &LimitsRule, identity: &Identity, base: &Dn) -> bool {
    match &rule.selector {
        LimitsSelector::Any => true,
        LimitsSelector::Anonymous => identity.is_anonymous(),
        LimitsSelector::Users => !identity.is_anonymous(),
        LimitsSelector::Dn { is_base, pattern } => {
            let dn = if *is_base { base } else { &identity.dn };
            (*is_base || !identity.is_anonymous()) && matches(pattern, dn)
        }
        LimitsSelector::Group {
            class: _,
            attribute,
            dn,
        } => !identity.is_anonymous() && is_member(configuration, dn, attribute, identity).unwrap_or_default(),
    }
}

fn matches(pattern: &DnPattern, dn: &Dn) -> bool {
    match pattern {
        DnPattern::Exact(name) => dn == name,
        DnPattern::OneLevel(name) => dn.depth() == name.depth() + 1 && dn.is_within(name),
        DnPattern::Subtree(name) => dn.is_within(name),
        DnPattern::Children(name) => dn.depth() > name.depth() && dn.is_within(name),
        DnPattern::Regex(expression) => regex::RegexBuilder::new(expression)
            .case_insensitive(true)
            .size_limit(1 << 20)
            .build()
            .is_ok_and(|expression| expression.is_match(&String::from_utf8_lossy(dn.normalized()))),
    }
}

/// Whether the group entry names the identity in an attribute.
fn is_member(
    configuration: &Configuration,
    group: &Dn,
    attribute: &ironbark_model::AttributeDescription,
    identity: &Identity,
) -> Result<bool, OperationError> {
    let Some(database) = configuration.context_of(group).and_then(|context| context.database()) else {
        return Ok(false);
    };
    let snapshot = database.snapshot()?;
    let view = snapshot.view();
    let Location::Entry(id) = view.locate(group)? else {
        return Ok(false);
    };
    let Some(members) = view.record(id)?.and_then(|record| record.values(attribute)) else {
        return Ok(false);
    };
    let mut found = false;
    members.for_each(&mut |value| {
        found = Dn::parse(&configuration.schema, value).is_ok_and(|member| member == identity.dn);
        if found {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(found)
}

/// Entries that a search may return, given what the client asked for (0: nothing in particular).
///
/// # Errors
/// `adminLimitExceeded` when the client asks for more than the hard limit.
pub(crate) fn size(limits: Option<&SearchLimits>, requested: u32) -> Result<Option<u32>, OperationError> {
    limits.map_or(Ok(positive(requested)), |limits| {
        effective(requested, limits.size_soft, limits.size_hard)
    })
}

/// Seconds that a search may take.
///
/// # Errors
/// As for [`size`].
pub(crate) fn time(limits: Option<&SearchLimits>, requested: u32) -> Result<Option<u32>, OperationError> {
    limits.map_or(Ok(positive(requested)), |limits| {
        effective(requested, limits.time_soft_s, limits.time_hard_s)
    })
}

/// Candidates that a search may have.
///
/// # Errors
/// `unwillingToPerform` when no search is allowed at all.
pub(crate) fn unchecked(limits: Option<&SearchLimits>) -> Result<Option<u64>, OperationError> {
    match limits.map_or(UncheckedLimit::Unlimited, |limits| limits.unchecked) {
        UncheckedLimit::Disabled => Err(OperationError::code(ResultCode::UNWILLING_TO_PERFORM)),
        UncheckedLimit::At(most) => Ok(Some(u64::from(most))),
        UncheckedLimit::Unlimited => Ok(None),
    }
}

/// Entries that all pages of a paged search may have together.
///
/// # Errors
/// `unwillingToPerform` when paging is refused to this identity, `adminLimitExceeded` when the page is too big.
pub(crate) fn page_total(
    limits: Option<&SearchLimits>,
    page: u32,
    requested: u32,
) -> Result<Option<u32>, OperationError> {
    let Some(limits) = limits else {
        return Ok(positive(requested));
    };
    if limits.page_size.is_some_and(|most| page > most) {
        return Err(OperationError::code(ResultCode::ADMIN_LIMIT_EXCEEDED));
    }
    match limits.page_total {
        PageTotal::Disabled => Err(OperationError::new(
            ResultCode::UNWILLING_TO_PERFORM,
            "pagedResults control not allowed",
        )),
        PageTotal::Unlimited => Ok(positive(requested)),
        PageTotal::At(most) => Ok(Some(positive(requested).map_or(most, |requested| requested.min(most)))),
        PageTotal::Hard => effective(requested, limits.size_soft, limits.size_hard),
    }
}

fn positive(requested: u32) -> Option<u32> {
    (requested != 0).then_some(requested)
}

fn effective(requested: u32, soft: Option<u32>, hard: HardLimit) -> Result<Option<u32>, OperationError> {
    if requested == 0 {
        return Ok(soft);
    }
    match hard {
        // Without a hard limit of its own, asking for more than the soft one is cut, not refused.
        HardLimit::Soft => Ok(Some(soft.map_or(requested, |soft| soft.min(requested)))),
        HardLimit::At(hard) if requested > hard => Err(OperationError::code(ResultCode::ADMIN_LIMIT_EXCEEDED)),
        HardLimit::At(_) | HardLimit::Unlimited => Ok(Some(requested)),
    }
}

#[cfg(test)]
mod tests {
    use ironbark_config::limits::{HardLimit, SearchLimits};

    use super::size;

    #[test]
    fn a_request_over_a_hard_limit_is_refused_and_over_a_soft_one_is_cut() {
        let limits = SearchLimits::default();
        assert_eq!(size(Some(&limits), 0), Ok(Some(500)));
        assert_eq!(size(Some(&limits), 7), Ok(Some(7)));
        assert_eq!(size(Some(&limits), 501), Ok(Some(500)));
        let limits = SearchLimits {
            size_soft: Some(10),
            size_hard: HardLimit::At(20),
            ..SearchLimits::default()
        };
        assert_eq!(size(Some(&limits), 20), Ok(Some(20)));
        assert!(size(Some(&limits), 21).is_err());
        let limits = SearchLimits {
            size_hard: HardLimit::Unlimited,
            ..SearchLimits::default()
        };
        assert_eq!(size(Some(&limits), 100_000), Ok(Some(100_000)));
        assert_eq!(size(None, 0), Ok(None));
    }
}
