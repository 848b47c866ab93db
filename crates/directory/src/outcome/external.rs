//! The end of an operation that a database answers whose entries are elsewhere.

use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use ironbark_ldap_proto::Operation;
use ironbark_model::ResultCode;
use tokio::sync::oneshot;

use super::{
    completion::{Begun, Completion, Submitted},
    end::{Outcome, record_end_elsewhere},
    log, respond,
};
use crate::{
    Directory, OperationError,
    backend::external::{Answers, ExternalAsker, ExternalDatabase, ExternalOperation, ExternalRequest, Recipient},
    refusal::RequestRefusal,
    request::{context::RequestContext, identity::Identity, stop::Stop},
    result::OperationResult,
};

/// Who waits for the result of an operation that returns no entries.
pub(crate) struct Responder {
    pub(crate) directory: Arc<Directory>,
    pub(crate) origin: RequestContext,
    pub(crate) operation: Operation,
    /// Who the connection speaks for after a success.
    pub(crate) identity: Option<Arc<Identity>>,
    pub(crate) reply: oneshot::Sender<Completion>,
}

impl Responder {
    /// Begins the operation, which may take some time at most.
    pub(crate) fn ask(self, database: &dyn ExternalDatabase, operation: ExternalOperation, time: Option<Duration>) {
        let asker = ExternalAsker::of(&self.origin);
        let request = ExternalRequest { asker, operation, time };
        database.begin(request, Answers::of_other(self));
    }
}

impl Recipient for Responder {
    fn answer(self: Box<Self>, result: OperationResult) {
        let Self {
            directory,
            origin,
            operation,
            identity,
            reply,
        } = *self;
        // The connection may be gone.
        let _ = reply.send(completion(&directory, &origin, operation, identity, &result));
    }

    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.reply.poll_closed(cx)
    }
}

/// Begins an operation that returns no entries and goes to no writer. From here on it cannot be canceled.
/// `identity` is that of the connection after a bind that succeeds.
///
/// # Errors
/// `canceled`.
pub(crate) fn submit(
    directory: &Arc<Directory>,
    origin: &RequestContext,
    database: &dyn ExternalDatabase,
    operation: Operation,
    identity: Option<Arc<Identity>>,
    asked: ExternalOperation,
    time: Option<Duration>,
) -> Result<Begun, OperationError> {
    if !origin.stop.begin() {
        return Err(RequestRefusal::Canceled.into());
    }
    let (reply, receiver) = oneshot::channel();
    let responder = Responder {
        directory: Arc::clone(directory),
        origin: origin.clone(),
        operation,
        identity,
        reply,
    };
    responder.ask(database, asked, time);
    Ok(Begun::Submitted(Submitted {
        receiver,
        blocks_connection: operation == Operation::Bind,
    }))
}

/// Encoded response, log line, counters. What was abandoned is answered with nothing (RFC 4511 §4.11).
fn completion(
    directory: &Directory,
    origin: &RequestContext,
    operation: Operation,
    identity: Option<Arc<Identity>>,
    result: &OperationResult,
) -> Completion {
    let mut response = Vec::new();
    let identity = identity.filter(|_| result.code == ResultCode::SUCCESS);
    if origin.stop.stopped() == Some(Stop::Abandoned) {
        directory.statistics().shared().record_completed(operation);
    } else {
        if let Some(identity) = &identity {
            log::bound(origin, identity.dn.pretty(), "SIMPLE", 0);
        }
        respond::result(&mut response, origin.message_id, operation, result);
        let outcome = Outcome::of_result(operation, result);
        record_end_elsewhere(directory, origin, outcome);
    }
    Completion {
        message_id: origin.message_id,
        stop: origin.stop.clone(),
        response,
        identity,
        negotiation: None,
        layer: None,
        verification: origin.verification.clone(),
    }
}
