//! Extended operations (RFC 4511 §4.12): dispatch, Who am I (RFC 4532), Cancel (RFC 3909), StartTLS (RFC 4511 §4.14).

use std::sync::Arc;

use ironbark_config::Disallow;
use ironbark_ldap_proto::{
    ExtendedRequest, ExtendedResponse, LdapResult, MessageId, Operation, encode_extended_response,
    extended::{ExtendedOperation, cancel},
};
use ironbark_model::{Dn, ResultCode};

use super::{overlay_operation, password_modify, replica_digest, transaction, verify_credentials};
use crate::{
    Configuration, Directory, OperationError,
    admission::check_extended,
    backend::call::Call,
    identity::session::Session,
    outcome::{
        completion::Begun,
        end::{Outcome, record_end_elsewhere},
    },
    refusal::ExtendedRefusal,
    request::{context::RequestContext, stop::Cancellation},
    scratch::Scratch,
};

/// Begins an extended operation.
pub(crate) fn start(
    scratch: &mut Scratch,
    session: &mut Session,
    call: &mut Call<'_, '_>,
    request: &ExtendedRequest<'_>,
    out: &mut Vec<u8>,
) -> Result<Begun, OperationError> {
    let directory = &Arc::clone(scratch.directory());
    let (configuration, origin) = (call.configuration, &mut *call.origin);
    let row = configuration.extended_operation(request.name);
    let row = row.ok_or(ExtendedRefusal::Unsupported)?;
    match row.operation {
        // As in slapd, the database of the identity decides.
        ExtendedOperation::WhoAmI => {
            let holder = configuration.context_of(&origin.identity.dn);
            let holder = holder.filter(|_| !origin.identity.is_anonymous());
            let holder = holder.unwrap_or(&configuration.frontend);
            check_extended(holder, configuration, row, origin)?;
            who_am_i(directory, origin, request, out)
        }
        // As in slapd, nothing prevents a client from canceling its own operation.
        ExtendedOperation::Cancel => cancel(directory, session, origin, request, out),
        ExtendedOperation::StartTls => {
            check_extended(&configuration.frontend, configuration, row, origin)?;
            start_tls(directory, session, configuration, origin, request, out)
        }
        ExtendedOperation::PasswordModify => password_modify::start(directory, call, row, request.value),
        ExtendedOperation::ReplicaDigest => replica_digest::start(directory, call, row, request.value),
        ExtendedOperation::StartTransaction | ExtendedOperation::EndTransaction => {
            let holder = configuration.context_of(&origin.identity.dn);
            let holder = holder.unwrap_or(&configuration.frontend);
            check_extended(holder, configuration, row, origin)?;
            if row.operation == ExtendedOperation::StartTransaction {
                transaction::start(directory, session, origin, request.value, out)
            } else {
                transaction::end(directory, session, origin, request.value, out)
            }
        }
        ExtendedOperation::VerifyCredentials => {
            verify_credentials::start(scratch, session, call, row, request.value, out)
        }
        ExtendedOperation::OfOverlay => overlay_operation::start(directory, call, row, request.value),
    }
}

/// The entry that an operation is about; `None`: there is none, or the request cannot be read.
pub(crate) fn subject(
    configuration: &Configuration,
    origin: &RequestContext,
    request: &ExtendedRequest<'_>,
) -> Option<Dn> {
    match configuration.extended_operation(request.name)?.operation {
        ExtendedOperation::PasswordModify => password_modify::subject(configuration, origin, request.value),
        ExtendedOperation::ReplicaDigest => replica_digest::subject(configuration, request.value),
        ExtendedOperation::OfOverlay => overlay_operation::subject(configuration, request),
        ExtendedOperation::WhoAmI
        | ExtendedOperation::Cancel
        | ExtendedOperation::StartTls
        | ExtendedOperation::StartTransaction
        | ExtendedOperation::EndTransaction
        | ExtendedOperation::VerifyCredentials => None,
    }
}

/// Accepts a handshake. The identity then becomes anonymous, unless `disallow tls_2_anon` is set; in that case
/// `disallow tls_authc` refuses authenticated clients. A refusal changes nothing.
fn start_tls(
    directory: &Directory,
    session: &mut Session,
    configuration: &Configuration,
    origin: &RequestContext,
    request: &ExtendedRequest<'_>,
    out: &mut Vec<u8>,
) -> Result<Begun, OperationError> {
    let disallow = configuration.settings.disallow;
    if request.value.is_some() {
        return Err(ExtendedRefusal::UnexpectedValue.into());
    }
    if session.is_tls {
        return Err(ExtendedRefusal::TlsStarted.into());
    }
    if session.strength.sasl != 0 {
        return Err(ExtendedRefusal::TlsUnderSaslLayer.into());
    }
    if session.in_flight.keys().any(|id| *id != origin.message_id) {
        return Err(ExtendedRefusal::TlsDuringOperations.into());
    }
    let stays_bound = disallow.contains(Disallow::TLS_2_ANON) && !session.identity.is_anonymous();
    if stays_bound && disallow.contains(Disallow::TLS_AUTHC) {
        return Err(ExtendedRefusal::TlsAfterAuthentication.into());
    }
    if !stays_bound && !session.identity.is_anonymous() {
        session.identity = Arc::default();
        session.searches.paged.clear();
    }
    session.is_tls = true;
    session.verification = None;
    transaction::abort(session, out);
    succeed(directory, origin, None, out);
    Ok(Begun::StartTls)
}

fn who_am_i(
    directory: &Directory,
    origin: &RequestContext,
    request: &ExtendedRequest<'_>,
    out: &mut Vec<u8>,
) -> Result<Begun, OperationError> {
    if request.value.is_some() {
        return Err(ExtendedRefusal::UnexpectedValue.into());
    }
    let identity = &origin.identity;
    let authorization_id = if identity.is_anonymous() {
        String::new()
    } else {
        format!("dn:{}", identity.dn.pretty())
    };
    Ok(succeed(directory, origin, Some(authorization_id.as_bytes()), out))
}

/// Cancels a search that is under way, or a write that waits for its turn. A write that is executing can no longer be
/// canceled.
fn cancel(
    directory: &Directory,
    session: &mut Session,
    origin: &RequestContext,
    request: &ExtendedRequest<'_>,
    out: &mut Vec<u8>,
) -> Result<Begun, OperationError> {
    let target = cancel::decode_request(request.value)?;
    let flag = session
        .in_flight
        .get(&target.value())
        .ok_or(ExtendedRefusal::NoSuchOperation)?;
    match flag.cancel() {
        Cancellation::Accepted => Ok(succeed(directory, origin, None, out)),
        Cancellation::Already => Err(ExtendedRefusal::CancelUnderWay.into()),
        Cancellation::TooLate => Err(ExtendedRefusal::TooLateToCancel.into()),
    }
}

/// Answers with success.
pub(super) fn succeed(
    directory: &Directory,
    origin: &RequestContext,
    value: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Begun {
    let response = ExtendedResponse {
        result: LdapResult::new(ResultCode::SUCCESS),
        name: None,
        value,
    };
    let id = MessageId::new(origin.message_id).unwrap_or_default();
    encode_extended_response(out, id, &response, &[]);
    record_end_elsewhere(
        directory,
        origin,
        Outcome::new(Operation::Extended, ResultCode::SUCCESS, ""),
    );
    Begun::Answered
}
