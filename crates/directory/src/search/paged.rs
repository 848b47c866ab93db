//! Simple paged results (RFC 2696): what a search has done is kept between pages, and each page is prepared as a new
//! request. So its restrictions, limits and rights are those in force when it comes.
//!
//! A cookie belongs to the request that it was given for: the same base, scope, filter, attributes and sort, of the
//! same requester.

use std::{
    fmt::{self, Write as _},
    sync::{Arc, atomic::AtomicU32},
};

use ironbark_ldap_proto::{
    SearchRequest,
    controls::{PagedResults, RequestControls},
};
use ironbark_model::Dn;
use sha2::{Digest, Sha256};

use super::{page::RequestDigest, progress::SearchProgress, run::SearchRun, sort::OCTETS_LIMIT};
use crate::refusal::PageRefusal;

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

/// A paged search between two pages.
pub(crate) struct PagedCursor {
    cookie: u64,
    /// The request that the cookie belongs to.
    request: RequestDigest,
    progress: Box<SearchProgress>,
}

impl PagedCursor {
    /// Octets of its sorted entries.
    fn octets(&self) -> usize {
        self.progress.sort().map_or(0, super::sort::Sorting::octets)
    }

    fn is_limited(&self) -> bool {
        self.progress.sort().is_some_and(super::sort::Sorting::is_limited)
    }
}

impl SearchRun {
    /// Keeps what the run has done for the next page, if there is one. Called after the last step of a page.
    pub(crate) fn put_aside(&mut self, searches: &mut OpenSearches) {
        let Some(page) = self.extras.as_ref().and_then(|extras| extras.paged.as_ref()) else {
            return;
        };
        if page.next.is_none() {
            return;
        }
        let cursor = PagedCursor {
            cookie: page.cookie,
            request: page.request,
            progress: Box::new(self.progress_of_page()),
        };
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

/// Entries that the search with this cookie has sent on earlier pages.
pub(crate) fn sent_before(searches: &OpenSearches, cookie: &[u8]) -> u32 {
    let known = |cursor: &&PagedCursor| cursor.cookie.to_be_bytes() == cookie;
    let found = searches.paged.iter().find(known);
    found.map_or(0, |cursor| cursor.progress.sent_on_earlier_pages())
}

/// Takes up a paged search after its last page. `None`: the client abandons it. A cookie is valid once: if it could be
/// sent again, it would give the page after the right one.
///
/// # Errors
/// `protocolError` for a malformed cookie. `unwillingToPerform` for a cookie that is unknown on this connection, used
/// already, or of another request.
pub(super) fn take(
    searches: &mut OpenSearches,
    asked: PagedResults<'_>,
    request: RequestDigest,
) -> Result<Option<Box<SearchProgress>>, PageRefusal> {
    let cookie = asked.cookie.try_into().map_err(|_| PageRefusal::MalformedCookie)?;
    let cookie = u64::from_be_bytes(cookie);
    let is_its = |cursor: &PagedCursor| cursor.cookie == cookie && cursor.request == request;
    let place = searches.paged.iter().position(is_its).ok_or(PageRefusal::OldCookie)?;
    let cursor = searches.paged.remove(place);
    // A size of 0 abandons the rest (RFC 2696 §3).
    Ok((asked.size > 0).then_some(cursor.progress))
}

/// A digest of what must be the same in the requests for all pages.
pub(super) fn digest(
    requester: &Dn,
    base: &Dn,
    request: &SearchRequest<'_>,
    controls: &RequestControls<'_>,
) -> RequestDigest {
    let mut digest = Digesting(Sha256::new());
    let SearchRequest {
        scope,
        deref_aliases,
        types_only,
        filter,
        attributes,
        ..
    } = request;
    let sort = controls.server_side_sort.as_ref().map(|control| &control.value);
    let names = (requester.normalized(), base.normalized());
    // Writing into a digest cannot fail.
    let _ = write!(
        digest,
        "{names:?} {scope:?} {deref_aliases:?} {types_only} {filter:?} {attributes:?} {sort:?}"
    );
    RequestDigest(digest.0.finalize().into())
}

struct Digesting(Sha256);

impl fmt::Write for Digesting {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text);
        Ok(())
    }
}
