//! Overlays that are told what a database answers.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use ironbark_ldap_proto::Operation;
use ironbark_model::{Entry, ResultCode};

use super::context::RequestContext;

/// Is told of the results that requests to a database end with, and of the entries that its searches send. As in slapd,
/// it is not told of requests that are refused before they come to the database, of successful binds, and of what
/// something else answers in place of the database.
pub trait ResponseHooks: Send + Sync {
    /// Whether it is told of results.
    fn takes_results(&self) -> bool;

    /// Whether it is told of entries.
    fn takes_entries(&self) -> bool;

    /// Whether it is told of successful simple binds, too.
    fn takes_binds(&self) -> bool {
        false
    }

    /// Whether it reads the messages of requests that have ended ([`RequestContext::message`]).
    fn takes_messages(&self) -> bool {
        false
    }

    /// A request has ended. Runs on any thread and must not wait.
    fn result(&self, origin: &RequestContext, result: &SentResult<'_>);

    /// A search sends an entry, which is whole here, whatever the client sees of it. Runs on any thread and must not
    /// wait; the search goes on when the returned future has ended.
    fn entry(&self, origin: &RequestContext, entry: &Entry) -> Option<ResponseWait>;
}

/// What a search waits for before it sends more.
pub type ResponseWait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The result of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentResult<'a> {
    /// The result code.
    pub code: ResultCode,
    /// Which operation.
    pub operation: Operation,
    /// Entries that a search has returned.
    pub entries: u32,
    /// May be empty.
    pub matched_dn: &'a str,
    /// Text for people; may be empty.
    pub text: &'a str,
}

/// Those of one database, in the order in which they act.
pub(crate) struct Responses(Vec<Arc<dyn ResponseHooks>>);

impl Responses {
    /// `None`: there are no hooks.
    pub(crate) fn of(hooks: Vec<Arc<dyn ResponseHooks>>) -> Option<Arc<Self>> {
        (!hooks.is_empty()).then(|| Arc::new(Self(hooks)))
    }

    pub(crate) fn result(&self, origin: &RequestContext, result: &SentResult<'_>) {
        let is_bound = result.operation == Operation::Bind && result.code == ResultCode::SUCCESS;
        for hooks in self
            .0
            .iter()
            .filter(|hooks| hooks.takes_results() && (!is_bound || hooks.takes_binds()))
        {
            hooks.result(origin, result);
        }
    }

    pub(crate) fn takes_messages(&self) -> bool {
        self.0.iter().any(|hooks| hooks.takes_messages())
    }

    pub(crate) fn takes_entries(&self) -> bool {
        self.0.iter().any(|hooks| hooks.takes_entries())
    }

    pub(crate) fn entry(&self, origin: &RequestContext, entry: &Entry) -> Option<ResponseWait> {
        let hooks = self.0.iter().filter(|hooks| hooks.takes_entries());
        let waits: Vec<_> = hooks.filter_map(|hooks| hooks.entry(origin, entry)).collect();
        if waits.is_empty() {
            return None;
        }
        Some(Box::pin(async move {
            for wait in waits {
                wait.await;
            }
        }))
    }
}

impl fmt::Debug for Responses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Responses").field(&self.0.len()).finish()
    }
}
