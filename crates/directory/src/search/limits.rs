//! Size, time and look-through limits of one search (RFC 4511 §4.5.1.4-5, slapd.conf(5) `limits`).

use ironbark_config::limits::{
    HardLimit, LimitsDnPattern, LimitsRule, LimitsSelector, PageSize, PageTotal, SearchLimits, UncheckedLimit,
};
use ironbark_model::Dn;

use crate::{
    Configuration, NamingContext,
    access::Lookup,
    refusal::{PageRefusal, SearchRefusal},
    request::identity::Identity,
};

/// The limits for an identity on a database. `None`: the identity is the rootdn, which has no limits.
///
/// `base` is the name that the operation is about, for `dn.this` selectors.
pub(crate) fn of<'a>(
    configuration: &Configuration,
    context: &'a NamingContext,
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
        LimitsSelector::Group { class, attribute, dn } => {
            !identity.is_anonymous() && Lookup::new(configuration, &identity.dn).is_member(*class, attribute, dn)
        }
    }
}

/// Matches a DN with a pattern. As in slapd, nothing is below the empty DN.
fn matches(pattern: &LimitsDnPattern, dn: &Dn) -> bool {
    let is_below = |name: &Dn| !name.is_root() && dn.depth() > name.depth() && dn.is_within(name);
    match pattern {
        LimitsDnPattern::Exact(name) => dn == name,
        LimitsDnPattern::OneLevel(name) => dn.depth() == name.depth() + 1 && is_below(name),
        LimitsDnPattern::Subtree(name) => dn == name || is_below(name),
        LimitsDnPattern::Children(name) => is_below(name),
        LimitsDnPattern::Regex(expression) => expression.is_match(dn.normalized()),
    }
}

/// A request for a page of a paged search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageRequest {
    /// Requested entries of this page.
    pub(crate) size: u32,
    /// Entries of the pages before.
    pub(crate) before: u32,
}

/// The size limit of a search. `requested` is the client's limit (0: none). It is cut to the hard limit.
pub(crate) fn size(limits: Option<&SearchLimits>, requested: u32) -> Option<u32> {
    limits.map_or(positive(requested), |limits| {
        effective(requested, limits.size_soft, limits.size_hard)
    })
}

/// The time limit of a search in seconds.
pub(crate) fn time(limits: Option<&SearchLimits>, requested: u32) -> Option<u32> {
    limits.map_or(positive(requested), |limits| {
        effective(requested, limits.time_soft_s, limits.time_hard_s)
    })
}

/// The limit of candidates of a search.
///
/// # Errors
/// `adminLimitExceeded`: this identity may not search at all.
pub(crate) fn unchecked(limits: Option<&SearchLimits>) -> Result<Option<u64>, SearchRefusal> {
    match limits.map_or(UncheckedLimit::Unlimited, |limits| limits.unchecked) {
        UncheckedLimit::Disabled => Err(SearchRefusal::UncheckedLimit),
        UncheckedLimit::At(most) => Ok(Some(u64::from(most))),
        UncheckedLimit::Unlimited => Ok(None),
    }
}

/// The size limit of one page of a paged search.
///
/// # Errors
/// `adminLimitExceeded`: this identity may not use pages, the page is too large, or the client asks for more than all
/// pages may have.
pub(crate) fn page(
    limits: Option<&SearchLimits>,
    page: PageRequest,
    requested: u32,
) -> Result<Option<u32>, PageRefusal> {
    let before = page.before;
    let Some(limits) = limits else {
        return Ok(positive(requested).map(|most| most.saturating_sub(before)));
    };
    let total = match limits.page_total {
        PageTotal::Disabled => return Err(PageRefusal::NotAllowed),
        PageTotal::Hard => match limits.size_hard {
            HardLimit::Soft => limits.size_soft,
            HardLimit::At(most) => Some(most),
            HardLimit::Unlimited => None,
        },
        PageTotal::At(most) => Some(most),
        PageTotal::Unlimited => None,
    };
    let largest = match limits.page_size {
        PageSize::At(most) if page.size > most => return Err(PageRefusal::TooLarge),
        PageSize::At(most) => Some(most),
        PageSize::Unset | PageSize::Unlimited => None,
    };
    let Some(total) = total else {
        return Ok(positive(requested).map(|most| most.checked_sub(before).unwrap_or(most)));
    };
    // The requested limit is cut to the total.
    let requested = positive(requested).map(|asked| if asked > total { total } else { asked });
    let left = requested.unwrap_or(total).checked_sub(before);
    let allowed = match (left, largest) {
        (Some(left), Some(largest)) if left >= largest => Some(largest.saturating_add(1)),
        (Some(left), _) => Some(left),
        (None, Some(largest)) => Some(largest.saturating_add(1)),
        (None, None) => match limits.size_hard {
            HardLimit::Soft => Some(0),
            HardLimit::At(most) => Some(most),
            HardLimit::Unlimited => None,
        },
    };
    match (requested, allowed) {
        (Some(asked), Some(allowed)) if allowed > 0 && asked.saturating_sub(before) > allowed => {
            Err(PageRefusal::TooManyEntries)
        }
        (Some(asked), None) => Ok(Some(asked)),
        (_, allowed) => Ok(allowed),
    }
}

fn positive(requested: u32) -> Option<u32> {
    (requested != 0).then_some(requested)
}

fn effective(requested: u32, soft: Option<u32>, hard: HardLimit) -> Option<u32> {
    if requested == 0 {
        return soft;
    }
    let most = match hard {
        // A soft limit of 0 applies only to clients without a limit of their own.
        HardLimit::Soft => soft.filter(|&soft| soft > 0),
        HardLimit::At(most) => Some(most),
        HardLimit::Unlimited => None,
    };
    Some(most.map_or(requested, |most| most.min(requested)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_over_a_limit_is_cut() {
        let limits = SearchLimits::default();
        assert_eq!(size(Some(&limits), 0), Some(500));
        assert_eq!(size(Some(&limits), 7), Some(7));
        assert_eq!(size(Some(&limits), 501), Some(500));
        let limits = SearchLimits {
            size_soft: Some(10),
            size_hard: HardLimit::At(20),
            ..SearchLimits::default()
        };
        assert_eq!(size(Some(&limits), 20), Some(20));
        assert_eq!(size(Some(&limits), 21), Some(20));
        let limits = SearchLimits {
            size_hard: HardLimit::Unlimited,
            ..SearchLimits::default()
        };
        assert_eq!(size(Some(&limits), 100_000), Some(100_000));
        let limits = SearchLimits {
            size_soft: Some(0),
            ..SearchLimits::default()
        };
        assert_eq!((size(Some(&limits), 0), size(Some(&limits), 9)), (Some(0), Some(9)));
        assert_eq!(size(None, 0), None);
    }

    #[test]
    fn pages_have_the_smallest_limit() {
        let of = |limits: &SearchLimits, size, before, requested| {
            page(Some(limits), PageRequest { size, before }, requested)
        };
        let limits = SearchLimits {
            page_size: PageSize::At(4),
            page_total: PageTotal::At(10),
            ..SearchLimits::default()
        };
        assert_eq!(of(&limits, 4, 0, 0), Ok(Some(5)));
        assert_eq!(of(&limits, 4, 8, 0), Ok(Some(2)));
        assert_eq!(of(&limits, 5, 0, 0), Err(PageRefusal::TooLarge));
        assert_eq!(of(&limits, 2, 0, 9), Err(PageRefusal::TooManyEntries));
        let limits = SearchLimits {
            page_total: PageTotal::Unlimited,
            ..SearchLimits::default()
        };
        assert_eq!(of(&limits, 4, 600, 0), Ok(None));
        assert_eq!(of(&limits, 4, 600, 700), Ok(Some(100)));
        assert_eq!(of(&SearchLimits::default(), 4, 498, 0), Ok(Some(2)));
        assert_eq!(page(None, PageRequest { size: 4, before: 4 }, 6), Ok(Some(2)));
    }
}
