//! A page of a search (RFC 2696).

use ironbark_ldap_proto::controls::PagedResults;

use crate::request::context::RequestContext;

/// The page of a run.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// Entries left on this page.
    pub(super) left: u32,
    /// Identifies the cursor on this connection.
    pub(super) cookie: u64,
    /// What the response control carries: `Some` if there is more.
    pub(super) next: Option<[u8; 8]>,
    pub(super) full: bool,
}

impl Page {
    /// The first page, of `size` entries.
    pub(crate) fn first(origin: &RequestContext, size: u32) -> Self {
        // The operation number is unique on the connection, which is all a cookie has to be.
        Self {
            left: size,
            cookie: origin.operation,
            ..Self::default()
        }
    }

    /// Counts an entry that was sent; whether the page is now full.
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

    /// Sets the response control of this page: a cookie if there is more.
    pub(super) fn conclude(&mut self, has_more: bool) {
        self.next = has_more.then(|| self.cookie.to_be_bytes());
    }
}
