//! Simple paged results (RFC 2696): the run is kept between pages.

use std::sync::{Arc, atomic::AtomicU32};

use ironbark_ldap_proto::controls::PagedResults;

use super::{run::SearchRun, sort::OCTETS_LIMIT, tally::Tally};
use crate::{Configuration, OperationError, refusal::PageRefusal, request::context::RequestContext};

/// Paged searches that one connection may keep. Beyond that the oldest is dropped.
const CURSORS_PER_CONNECTION: usize = 16;

/// Searches of one connection that continue in a later request.
#[derive(Default)]
pub(crate) struct OpenSearches {
    /// Paged searches between two pages, the most recent one last.
    pub(crate) paged: Vec<PagedCursor>,
    /// Number of sorted searches under way, where `sssvlv-maxperconn` limits them.
    pub(super) sorts: Option<Arc<AtomicU32>>,
}

impl OpenSearches {
    /// Drops the searches that began under such a configuration.
    pub(crate) fn drop_those_of(&mut self, is_meant: impl Fn(&Configuration) -> bool) {
        self.paged.retain(|cursor| !is_meant(&cursor.run.configuration));
    }
}

/// A paged search between two pages.
pub(crate) struct PagedCursor {
    cookie: u64,
    run: Box<SearchRun>,
}

impl PagedCursor {
    /// Octets of its sorted entries.
    fn octets(&self) -> usize {
        let extras = self.run.extras.as_ref();
        let sorting = extras.and_then(|extras| extras.sort.as_ref());
        sorting.map_or(0, super::sort::Sorting::octets)
    }

    fn is_limited(&self) -> bool {
        let extras = self.run.extras.as_ref();
        let sorting = extras.and_then(|extras| extras.sort.as_ref());
        sorting.is_some_and(super::sort::Sorting::is_limited)
    }
}

impl SearchRun {
    /// Keeps the run for the next page, if there is one. Called after the last step of a page.
    pub(crate) fn put_aside(&mut self, searches: &mut OpenSearches) {
        let Some(page) = self.extras.as_ref().and_then(|extras| extras.paged.as_ref()) else {
            return;
        };
        if page.next.is_none() {
            return;
        }
        let cookie = page.cookie;
        let run = Box::new(SearchRun {
            origin: self.origin.clone(),
            configuration: self.configuration.clone(),
            filter: std::mem::take(&mut self.filter),
            referral_filter: self.referral_filter.take(),
            selection: std::mem::take(&mut self.selection),
            options: self.options,
            limits: self.limits,
            deferred: None,
            work: self.work,
            targets: std::mem::take(&mut self.targets),
            extras: self.extras.take(),
            sent: self.sent,
            references: 0,
            tally: Tally::after(self.sent),
            verdict: None,
        });
        let cursor = PagedCursor { cookie, run };
        // Sorted searches under an overlay sssvlv have that overlay's limit instead.
        if !cursor.is_limited() {
            let mut others = searches
                .paged
                .iter()
                .enumerate()
                .filter(|(_, other)| !other.is_limited());
            if let Some((oldest, _)) = others.next()
                && others.count() + 1 >= CURSORS_PER_CONNECTION
            {
                searches.paged.remove(oldest);
            }
        }
        searches.paged.push(cursor);
        make_room(searches);
    }

    /// Decides whether another page follows. Called in the last step of a page.
    pub(super) fn conclude_page(&mut self) {
        let has_more_candidates = !self.targets.is_empty();
        let is_refused = self.verdict.is_some();
        let Some(extras) = &mut self.extras else { return };
        let has_more = has_more_candidates || extras.sort.as_ref().is_some_and(super::sort::Sorting::has_more);
        if let Some(page) = &mut extras.paged {
            page.conclude(page.is_full() && has_more && !is_refused);
        }
    }
}

/// Drops the oldest sorted searches while all together hold more octets than one search may. The last one stays.
fn make_room(searches: &mut OpenSearches) {
    let mut octets: usize = searches.paged.iter().map(PagedCursor::octets).sum();
    let mut left = searches.paged.len();
    searches.paged.retain(|cursor| {
        left -= 1;
        let own = cursor.octets();
        let is_kept = octets <= OCTETS_LIMIT || own == 0 || left == 0;
        if !is_kept {
            octets -= own;
        }
        is_kept
    });
}

/// The configuration under which the search with this cookie began.
pub(crate) fn configuration_of(searches: &OpenSearches, cookie: &[u8]) -> Option<Arc<Configuration>> {
    let cookie = u64::from_be_bytes(cookie.try_into().ok()?);
    let cursor = searches.paged.iter().find(|cursor| cursor.cookie == cookie)?;
    Some(Arc::clone(&cursor.run.configuration))
}

/// Checks that a paged search may continue. It ends under the configuration under which it began, provided that the
/// access rules are still the same.
///
/// # Errors
/// `unwillingToPerform`: the rules have changed.
pub(crate) fn check_rules(begun: Option<&Configuration>, configuration: &Configuration) -> Result<(), PageRefusal> {
    match begun {
        Some(begun) if !begun.has_rules_of(configuration) => Err(PageRefusal::OldCookie),
        _ => Ok(()),
    }
}

/// Entries that the search with this cookie has sent on earlier pages.
pub(crate) fn sent_before(searches: &OpenSearches, cookie: &[u8]) -> u32 {
    let known = |cursor: &&PagedCursor| cursor.cookie.to_be_bytes() == cookie;
    searches.paged.iter().find(known).map_or(0, |cursor| cursor.run.sent)
}

/// Takes up a paged search after its last page. `None`: the client abandons it.
///
/// # Errors
/// `protocolError` for a malformed cookie. `unwillingToPerform` for a cookie that is unknown on this
/// connection, or used already.
pub(crate) fn resume(
    searches: &mut OpenSearches,
    asked: PagedResults<'_>,
    origin: &RequestContext,
) -> Result<Option<Box<SearchRun>>, OperationError> {
    let cookie = asked.cookie.try_into().map_err(|_| PageRefusal::MalformedCookie)?;
    let cookie = u64::from_be_bytes(cookie);
    let place = searches
        .paged
        .iter()
        .position(|cursor| cursor.cookie == cookie)
        .ok_or(PageRefusal::OldCookie)?;
    let mut run = searches.paged.remove(place).run;
    if asked.size == 0 {
        // A size of 0 abandons the rest (RFC 2696 §3).
        return Ok(None);
    }
    if let Some(page) = run.extras.as_mut().and_then(|extras| extras.paged.as_mut()) {
        page.left = asked.size;
        page.full = false;
        // A cookie is valid once. If it could be sent again, it would give the page after the right one.
        page.cookie = origin.operation;
    }
    Ok(Some(run))
}
