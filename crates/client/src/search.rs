//! Searching.

use std::time::Duration;

use ironbark_ldap_proto::{DerefAliases, EncodeControl, Filter, List, Request, Scope, SearchRequest};

use crate::{Client, ClientError, Pending, ReceivedResult, SearchEntry, SearchItem, incoming::Incoming};

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

/// A search under way. Dropping it before its end abandons the search (RFC 4511 §4.11).
///
/// At most about 1,024 parts or 4 MiB wait to be taken. Then the connection is not read until some are taken, or until
/// another operation of the connection is waited for.
#[derive(Debug)]
pub struct SearchStream {
    pending: Pending,
    result: Option<ReceivedResult>,
}

/// A whole answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchOutcome {
    /// Entries, in the order of the answer.
    pub entries: Vec<SearchEntry>,
    /// URIs of the continuation references.
    pub references: Vec<Vec<String>>,
    /// Result.
    pub result: ReceivedResult,
}

impl SearchStream {
    /// The same search with another limit for the wait for each part of the answer; `None`: no limit, for a search that
    /// lasts (RFC 4533 §3.4).
    #[must_use]
    pub fn with_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.pending = self.pending.with_timeout(timeout);
        self
    }

    /// The next part of the answer; `None` after the result.
    pub async fn next(&mut self) -> Result<Option<SearchItem>, ClientError> {
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
    pub const fn result(&self) -> Option<&ReceivedResult> {
        self.result.as_ref()
    }

    /// The request that was sent.
    pub const fn pending(&self) -> &Pending {
        &self.pending
    }

    /// Waits for the whole answer and keeps it in memory; intermediate responses are skipped.
    ///
    /// # Errors
    /// [`ClientError::TooLong`]: it has more than [`crate::Options::max_collected`] octets.
    pub async fn collect(mut self) -> Result<SearchOutcome, ClientError> {
        let most = self.pending.most_collected();
        let (mut entries, mut references) = (Vec::new(), Vec::new());
        let mut octets: usize = 0;
        loop {
            let incoming = self.pending.next().await?;
            if let Incoming::Item(item) = &incoming {
                octets = octets.saturating_add(item.octets());
                if octets > most {
                    return Err(ClientError::TooLong(most));
                }
            }
            match incoming {
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
    pub fn search(&self, search: &Search<'_>, controls: &[&dyn EncodeControl]) -> Result<SearchStream, ClientError> {
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
