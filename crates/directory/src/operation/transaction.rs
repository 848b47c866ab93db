//! Transactions (RFC 5805): start, the updates of one, and end.
//!
//! An update is read and answered with success when it comes, and executed when the transaction ends. All updates are
//! for one database. A bind, or StartTLS, aborts the transaction, and so does the end of the connection.

use std::sync::Arc;

use ironbark_ldap_proto::{
    ExtendedResponse, LdapResult, MessageId, encode_extended_response,
    extended::transaction::{ABORTED_NOTICE, EndRequest},
};
use ironbark_model::ResultCode;
use tokio::sync::oneshot;

use super::{extended::succeed, submit};
use crate::{
    Directory, OperationError,
    backend::call::Call,
    identity::session::Session,
    outcome::completion::{Begun, Submitted},
    refusal::{ExtendedRefusal, TransactionRefusal},
    request::context::RequestContext,
};

/// Starts one.
///
/// # Errors
/// `busy`: there is one already. `protocolError`.
pub(super) fn start(
    directory: &Directory,
    session: &mut Session,
    origin: &RequestContext,
    value: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<Begun, OperationError> {
    if value.is_some() {
        return Err(ExtendedRefusal::UnexpectedValue.into());
    }
    if session.transaction.is_some() {
        return Err(TransactionRefusal::TooMany.into());
    }
    session.transaction = Some(Box::default());
    Ok(succeed(directory, origin, Some(b""), out))
}

/// Adds an update to the open transaction.
///
/// # Errors
/// `transactionIdentifierInvalid`: there is none. As of any update before it is executed. `affectsMultipleDSAs`,
/// `unwillingToPerform`, `adminLimitExceeded`, `busy`.
pub(crate) fn specify(
    directory: &Arc<Directory>,
    session: &mut Session,
    call: &mut Call<'_, '_>,
    turn_left: &mut u64,
    identifier: &[u8],
) -> Result<(), OperationError> {
    let open = session.transaction.as_mut().filter(|_| identifier.is_empty());
    let open = open.ok_or(TransactionRefusal::NoSuch)?;
    let (context, update) = submit::read_for_transaction(directory, call, turn_left)?;
    if context.database().is_none() || context.backend.files().is_some() {
        return Err(TransactionRefusal::UnsupportedInContext.into());
    }
    open.add(&context, update)
}

/// Ends it: makes all its updates, or forgets them.
///
/// # Errors
/// `transactionIdentifierInvalid`: there is none. `operationsError`: it has no updates. `protocolError`.
pub(super) fn end(
    directory: &Arc<Directory>,
    session: &mut Session,
    origin: &RequestContext,
    value: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<Begun, OperationError> {
    let request = EndRequest::decode(value)?;
    let open = session.transaction.take_if(|_| request.identifier.is_empty());
    let open = open.ok_or(TransactionRefusal::NoSuch)?;
    if !request.commit {
        return Ok(succeed(directory, origin, None, out));
    }
    let (reply, receiver) = oneshot::channel();
    let transaction = open.settle(directory, origin, reply).ok_or(TransactionRefusal::Empty)?;
    transaction.queue();
    Ok(Begun::Submitted(Submitted {
        receiver,
        blocks_connection: false,
    }))
}

/// Aborts the open transaction, if there is one, and tells the client.
pub(crate) fn abort(session: &mut Session, out: &mut Vec<u8>) {
    if session.transaction.take().is_none() {
        return;
    }
    let notice = ExtendedResponse {
        result: LdapResult::new(ResultCode::SUCCESS),
        name: Some(ABORTED_NOTICE.as_bytes()),
        value: Some(b""),
    };
    encode_extended_response(out, MessageId::UNSOLICITED, &notice, &[]);
}
