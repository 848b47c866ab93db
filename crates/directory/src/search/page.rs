//! A page of a search (RFC 2696).

use ironbark_ldap_proto::controls::PagedResults;

use crate::request::context::RequestContext;

/// A digest of everything in a request that must be the same for each page, with the requester.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct RequestDigest(pub(super) [u8; 32]);

/// The page of a run.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// The request that its cookie belongs to.
    pub(super) request: RequestDigest,
    /// Entries that may still be sent on this page.
    pub(super) left: u32,
    /// Identifies the paged search on this connection.
    pub(super) cookie: u64,
    /// The cookie of the response control: `Some` if there is another page.
    pub(super) next: Option<[u8; 8]>,
    pub(super) full: bool,
}

impl Page {
    /// A page of `size` entries.
    pub(crate) fn new(origin: &RequestContext, request: RequestDigest, size: u32) -> Self {
        // A cookie must only be unique on the connection, as the operation number is.
        Self {
            request,
            left: size,
            cookie: origin.operation,
            ..Self::default()
        }
    }

    /// Counts an entry that was sent; returns whether the page is now full.
    pub(super) fn count(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.full = self.left == 0;
        self.full
    }

    /// The response control.
    pub(super) fn response(&self) -> PagedResults<'_> {
        PagedResults {
            size: 0,
            cookie: self.next.as_ref().map_or(&[], |cookie| cookie),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Sets the cookie of the response control if there is another page.
    pub(super) fn conclude(&mut self, has_more: bool) {
        self.next = has_more.then(|| self.cookie.to_be_bytes());
    }
}
