//! Requests: what overlays decide of them before their operations begin.

use std::{sync::Arc, time::Duration};

use ironbark_ldap_proto::{Operation, Request, controls::RequestControls};
use ironbark_model::{Dn, Entry, Filter, ResultCode, filter::Assertion};
use ironbark_store::Location;
use tokio::sync::oneshot;

use crate::{
    Configuration, NamingContext, OperationError,
    access::{Requester, assertion::check_assertion_on_record},
    backend::referral,
    outcome::given::Answer,
    request::context::RequestContext,
};

/// Sees each request to a database before its operation begins, and decides what becomes of it: all but Unbind,
/// Abandon, binds without a name and extended operations that are not about an entry.
pub trait RequestHooks: Send + Sync {
    /// Decides. Runs on the reactor: what takes time is decided [elsewhere](Decision::Elsewhere).
    fn decide(&self, request: &IncomingRequest<'_>) -> Decision;
}

/// What becomes of a request.
pub enum Decision {
    /// It goes on.
    Continue,
    /// It ends with this answer.
    Answer(Box<Answer>),
    /// A search, which goes over these entries in place of those of the database: parents first, complete
    /// ([`crate::backend::complete_entries`]). Access rules judge them.
    Entries(Arc<[Entry]>),
    /// The connection ends, and nothing is answered.
    Close,
    /// The request is held so long; then this.
    After(Duration, Box<Decision>),
    /// The request is held until this has come. A sender that goes away leaves it without a chance: `other`.
    Elsewhere(oneshot::Receiver<Decision>),
}

/// A request whose database is known, and which that admits.
pub struct IncomingRequest<'a> {
    /// What it is answered under.
    pub configuration: &'a Configuration,
    /// The database whose overlay is asked.
    pub context: &'a NamingContext,
    /// Which operation.
    pub operation: Operation,
    /// As it was read.
    pub request: &'a Request<'a>,
    /// The entry that it is about: the base of a search, the name of the others.
    pub dn: &'a Dn,
    /// With which controls.
    pub controls: &'a RequestControls<'a>,
    pub(crate) origin: &'a RequestContext,
}

impl IncomingRequest<'_> {
    /// The entry that the request is about, if it is of an object class, and the client may find it by that.
    ///
    /// # Errors
    /// The storage failed.
    pub fn entry_of_class(&self, class: &str) -> Result<Option<Entry>, OperationError> {
        let Some(database) = self.context.database() else {
            return Ok(None);
        };
        let snapshot = database.snapshot()?;
        let view = snapshot.view();
        let Location::Entry(id) = view.locate(self.dn)? else {
            return Ok(None);
        };
        let Some(record) = view.record(id)? else {
            return Ok(None);
        };
        let filter = Filter::Equality(Assertion {
            attribute: b"objectClass".into(),
            value: class.as_bytes().into(),
        });
        let requester = Requester::of(self.configuration, self.context, self.origin);
        match check_assertion_on_record(requester, &record, view, &filter) {
            Ok(()) => Ok(Some(record.to_entry(self.dn.clone())?)),
            Err(error) if error.result_code == ResultCode::ASSERTION_FAILED => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The answer that sends the client to other servers; those of `referral` where there are none. Without any it is
    /// `other`, as in slapd.
    pub fn referral(&self, urls: &[String]) -> Answer {
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
        let diagnostic_message = match code {
            ResultCode::OTHER => "bad referral object".to_owned(),
            _ => String::new(),
        };
        Answer {
            diagnostic_message,
            referrals,
            ..Answer::code(code)
        }
    }
}
