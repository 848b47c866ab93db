//! Simple paged results (RFC 2696): a run that is put aside between pages.

use std::sync::{Arc, atomic::AtomicU32};

use ironbark_ldap_proto::controls::PagedResults;
use ironbark_model::ResultCode;

use super::{run::SearchRun, sort::OCTETS_LIMIT, tally::Tally};
use crate::{Configuration, OperationError, request::context::RequestContext};

/// Paged searches that one connection may have open; the oldest gives way.
const CURSORS_PER_CONNECTION: usize = 16;

/// Searches of one connection that go on beyond one request.
#[derive(Default)]
pub(crate) struct OpenSearches {
    /// Paged searches between two pages, most recent last.
    pub(crate) paged: Vec<PagedCursor>,
    /// Sorted searches under way, as far as `sssvlv-maxperconn` counts them.
    pub(super) sorts: Option<Arc<AtomicU32>>,
}

/// A paged search between two pages.
pub(crate) struct PagedCursor {
    cookie: u64,
    run: Box<SearchRun>,
}

impl PagedCursor {
    /// Octets that the sorting of its entries holds.
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
    /// After the last step: if the page is full and the search is not, keeps the run for the next page.
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
        // Those of an overlay sssvlv are limited by it.
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

    /// Decides, when a step is the last, whether another page follows.
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

/// Lets the oldest sorted searches go, as long as all of them hold more than one may; not the last.
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

/// The configuration under which the search of a cookie began.
pub(crate) fn configuration_of(searches: &OpenSearches, cookie: &[u8]) -> Option<Arc<Configuration>> {
    let cookie = u64::from_be_bytes(cookie.try_into().ok()?);
    let cursor = searches.paged.iter().find(|cursor| cursor.cookie == cookie)?;
    Some(Arc::clone(&cursor.run.configuration))
}

/// A further page ends under the configuration that the search began with, as long as the rules are the same.
///
/// # Errors
/// They are others: `unwillingToPerform`.
pub(crate) fn check_rules(begun: Option<&Configuration>, configuration: &Configuration) -> Result<(), OperationError> {
    match begun {
        Some(begun) if !begun.has_rules_of(configuration) => Err(old_cookie()),
        _ => Ok(()),
    }
}

/// The error for a cookie by which no search can go on.
fn old_cookie() -> OperationError {
    OperationError::new(
        ResultCode::UNWILLING_TO_PERFORM,
        "paged results cookie is invalid or old",
    )
}

/// Entries of the pages before the one that a cookie stands for.
pub(crate) fn sent_before(searches: &OpenSearches, cookie: &[u8]) -> u32 {
    let known = |cursor: &&PagedCursor| cursor.cookie.to_be_bytes() == cookie;
    searches.paged.iter().find(known).map_or(0, |cursor| cursor.run.sent)
}

/// Takes up a paged search where its last page ended.
///
/// # Errors
/// `protocolError` for what is no cookie, `unwillingToPerform` for one that this connection does not know or has used
/// already.
pub(crate) fn resume(
    searches: &mut OpenSearches,
    asked: PagedResults<'_>,
    origin: &RequestContext,
) -> Result<Option<Box<SearchRun>>, OperationError> {
    let malformed = |_| OperationError::new(ResultCode::PROTOCOL_ERROR, "paged results cookie is invalid");
    let cookie = u64::from_be_bytes(asked.cookie.try_into().map_err(malformed)?);
    let place = searches
        .paged
        .iter()
        .position(|cursor| cursor.cookie == cookie)
        .ok_or_else(old_cookie)?;
    let mut run = searches.paged.remove(place).run;
    if asked.size == 0 {
        // The client gives the rest up (RFC 2696 §3).
        return Ok(None);
    }
    if let Some(page) = run.extras.as_mut().and_then(|extras| extras.paged.as_mut()) {
        page.left = asked.size;
        page.full = false;
        // A cookie serves once: one that is sent again would otherwise give the page after the one it was given for.
        page.cookie = origin.operation;
    }
    Ok(Some(run))
}
