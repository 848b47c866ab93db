//! Searching.

use ironbark_ldap_proto::{DerefAliases, EncodeControl, Filter, List, Request, Scope, SearchRequest};

use crate::{Client, Control, Error, LdapResult, Pending, SearchEntry, connection::Incoming};

/// What to search for (RFC 4511 §4.5.1).
#[derive(Clone, PartialEq, Debug)]
pub struct Search<'a> {
    /// Name of the base object.
    pub base: &'a str,
    /// Scope.
    pub scope: Scope,
    /// Whether aliases are followed.
    pub deref_aliases: DerefAliases,
    /// Most entries wanted; 0: the client sets no limit.
    pub size_limit: u32,
    /// Most seconds to wait; 0: the client sets no limit.
    pub time_limit: u32,
    /// Attribute descriptions only, no values.
    pub types_only: bool,
    /// Filter.
    pub filter: Filter<'a>,
    /// Which attributes to return; empty for all user attributes.
    pub attributes: &'a [&'a str],
}

impl<'a> Search<'a> {
    /// A search for all user attributes, without limits.
    pub const fn new(base: &'a str, scope: Scope, filter: Filter<'a>) -> Self {
        Self {
            base,
            scope,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit: 0,
            types_only: false,
            filter,
            attributes: &[],
        }
    }

    /// The same search for these attributes only.
    #[must_use]
    pub fn with_attributes(self, attributes: &'a [&'a str]) -> Self {
        Self { attributes, ..self }
    }
}

/// One part of the answer to a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SearchItem {
    /// An entry.
    Entry(SearchEntry),
    /// A continuation reference (RFC 4511 §4.5.3).
    Reference {
        /// Its URIs.
        uris: Vec<String>,
        /// Controls of the reference.
        controls: Vec<Control>,
    },
    /// An intermediate response (RFC 4511 §4.13).
    Intermediate {
        /// OID.
        name: Option<String>,
        /// Value.
        value: Option<Vec<u8>>,
        /// Controls of the response.
        controls: Vec<Control>,
    },
}

/// A search under way. Dropping it before its end abandons the search.
#[derive(Debug)]
pub struct SearchStream {
    pending: Pending,
    result: Option<LdapResult>,
}

/// A whole answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchOutcome {
    /// Entries, in the order of the answer.
    pub entries: Vec<SearchEntry>,
    /// URIs of the continuation references.
    pub references: Vec<Vec<String>>,
    /// Result.
    pub result: LdapResult,
}

impl SearchStream {
    /// The next part of the answer; `None` after the result.
    pub async fn next(&mut self) -> Result<Option<SearchItem>, Error> {
        if self.result.is_some() {
            return Ok(None);
        }
        match self.pending.next().await? {
            Incoming::Item(item) => Ok(Some(item)),
            Incoming::Done(result) => {
                self.result = Some(result);
                Ok(None)
            }
            other => Err(self.pending.unexpected(&other)),
        }
    }

    /// The result, after [`SearchStream::next`] has returned `None`.
    pub const fn result(&self) -> Option<&LdapResult> {
        self.result.as_ref()
    }

    /// The request that was sent.
    pub const fn pending(&self) -> &Pending {
        &self.pending
    }

    /// Waits for the whole answer and keeps it in memory; intermediate responses are skipped.
    pub async fn collect(mut self) -> Result<SearchOutcome, Error> {
        let (mut entries, mut references) = (Vec::new(), Vec::new());
        loop {
            match self.pending.next().await? {
                Incoming::Item(SearchItem::Entry(entry)) => entries.push(entry),
                Incoming::Item(SearchItem::Reference { uris, .. }) => references.push(uris),
                Incoming::Item(SearchItem::Intermediate { .. }) => {}
                Incoming::Done(result) => {
                    return Ok(SearchOutcome {
                        entries,
                        references,
                        result,
                    });
                }
                other => return Err(self.pending.unexpected(&other)),
            }
        }
    }
}

impl Client {
    /// Starts a search.
    pub fn search(&self, search: &Search<'_>, controls: &[&dyn EncodeControl]) -> Result<SearchStream, Error> {
        let attributes: Vec<&[u8]> = search.attributes.iter().map(|name| name.as_bytes()).collect();
        let request = Request::Search(SearchRequest {
            base: search.base.as_bytes(),
            scope: search.scope,
            deref_aliases: search.deref_aliases,
            size_limit: search.size_limit,
            time_limit: search.time_limit,
            types_only: search.types_only,
            filter: search.filter.clone(),
            attributes: List::new(&attributes),
        });
        Ok(SearchStream {
            pending: self.send(&request, controls)?,
            result: None,
        })
    }
}
