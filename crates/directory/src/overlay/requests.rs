//! Requests: decisions of overlays before the operations begin.

use std::{sync::Arc, time::Duration};

use ironbark_config::Operations;
use ironbark_ldap_proto::{Operation, Request, controls::RequestControls};
use ironbark_model::{Dn, Entry, Filter, ResultCode, filter::Assertion};
use ironbark_store::Location;
use tokio::sync::oneshot;

use super::{DetachedRequest, ExternalAnswer, ReadRequest};
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    access::{Requester, assertion::check_assertion_on_record},
    backend::referral,
    outcome::{given::Answer, slow_work},
    request::context::RequestContext,
    result::OperationResult,
};

/// Sees each request to a database before its operation begins, and decides about it. It does not see Unbind, Abandon,
/// binds without a name, and extended operations without an entry.
pub trait RequestHooks: Send + Sync {
    /// Decides. Runs on the reactor: slow decisions are made [elsewhere](Decision::Elsewhere).
    fn decide(&self, request: &IncomingRequest<'_>) -> Decision;
}

/// The decision about a request.
pub enum Decision {
    /// The request continues.
    Continue,
    /// The request ends with this answer.
    Answer(Box<Answer>),
    /// A search continues over these entries instead of those of the database: parents first, complete
    /// ([`crate::backend::complete_entries`]). Access rules apply to them.
    Entries(Arc<[Entry]>),
    /// Something else than the database has answered.
    External(ExternalAnswer),
    /// The connection is closed without an answer.
    Close,
    /// The request is held for this time; then this decision applies.
    After(Duration, Box<Decision>),
    /// The request is held until a decision arrives. If the sender is dropped, the answer is `other`.
    Elsewhere(oneshot::Receiver<Decision>),
}

/// A request whose database is known, and which that database admits.
pub struct IncomingRequest<'a> {
    /// The server.
    pub directory: &'a Arc<Directory>,
    /// The configuration that it is answered under.
    pub configuration: &'a Arc<Configuration>,
    /// The database whose overlay is asked.
    pub context: &'a Arc<NamingContext>,
    /// Which operation.
    pub operation: Operation,
    /// The request as it was read.
    pub request: &'a Request<'a>,
    /// The entry of the request: the base of a search, the name in other requests.
    pub dn: &'a Dn,
    /// Its controls.
    pub controls: &'a RequestControls<'a>,
    pub(crate) origin: &'a RequestContext,
    /// The message as it came in.
    pub(crate) pdu: &'a [u8],
    pub(crate) read: ReadRequest,
}

impl IncomingRequest<'_> {
    /// The operation, in the terms of settings such as `restrict`.
    pub fn kind(&self) -> Operations {
        self.origin.request.operation
    }

    /// A copy of the request, to be read on another thread.
    pub fn detach(&self) -> DetachedRequest {
        DetachedRequest {
            configuration: Arc::clone(self.configuration),
            context: Arc::clone(self.context),
            origin: self.origin.clone(),
            dn: self.dn.clone(),
            pdu: self.pdu.into(),
            read: self.read,
        }
    }

    /// Who asks. The root DN: an anonymous client.
    pub fn requester(&self) -> &Dn {
        &self.origin.identity.dn
    }

    /// Does slow work on a thread for such work, and decides then. Connections and addresses take turns. Without room
    /// for it the decision is `otherwise`. If the client has gone, neither happens: the work is dropped.
    pub fn elsewhere(&self, work: impl FnOnce() -> Decision + Send + 'static, otherwise: Decision) -> Decision {
        Decision::Elsewhere(slow_work::submit(self.directory, self.origin, work, otherwise))
    }

    /// The request's entry, if it has an object class and the client may search for it by that class.
    ///
    /// # Errors
    /// The storage failed.
    pub fn entry_of_class(&self, class: &str) -> Result<Option<Entry>, OperationError> {
        let filter = Filter::Equality(Assertion {
            attribute: b"objectClass".into(),
            value: class.as_bytes().into(),
        });
        self.matching_entry(self.dn, &filter)
    }

    /// An entry of the database, if the client may search for it by this filter.
    ///
    /// # Errors
    /// The storage failed.
    pub fn matching_entry(&self, dn: &Dn, filter: &Filter<'_>) -> Result<Option<Entry>, OperationError> {
        let Some(database) = self.context.database() else {
            return Ok(None);
        };
        let snapshot = database.snapshot()?;
        let view = snapshot.view();
        let Location::Entry(id) = view.locate(dn)? else {
            return Ok(None);
        };
        let Some(record) = view.record(id)? else {
            return Ok(None);
        };
        let requester = Requester::of(self.configuration, self.context, self.origin);
        match check_assertion_on_record(requester, &record, view, filter) {
            Ok(()) => Ok(Some(record.to_entry(view.dn(id)?)?)),
            Err(error) if error.result_code == ResultCode::ASSERTION_FAILED => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The result that refers the client to other servers: to `urls`, or to those of `referral` if there are none.
    /// Without any, the code is `other`, as in slapd.
    pub fn referral(&self, urls: &[String]) -> OperationResult {
        let urls = if urls.is_empty() {
            &self.configuration.settings.referrals
        } else {
            urls
        };
        let referrals = referral::rewritten(self.configuration, urls, self.dn);
        let code = if referrals.is_empty() {
            ResultCode::OTHER
        } else {
            ResultCode::REFERRAL
        };
        let text = if code == ResultCode::OTHER {
            "bad referral object"
        } else {
            ""
        };
        OperationResult {
            referrals,
            ..OperationResult::new(code, text)
        }
    }
}
