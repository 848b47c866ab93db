//! Extended operations (RFC 4511 §4.12): dispatch, Who am I (RFC 4532), Cancel (RFC 3909), StartTLS's refusal.

use std::sync::Arc;

use ironbark_config::Operations;
use ironbark_ldap_proto::{
    ExtendedRequest, ExtendedResponse, LdapResult, MessageId, Operation,
    controls::RequestControls,
    encode_extended_response,
    extended::{ExtendedOperation, cancel, lookup},
};
use ironbark_model::ResultCode;

use super::{Origin, password_modify};
use crate::{Configuration, Directory, OperationError, Session, Started, session::Stop};

/// Begins an extended operation.
pub(crate) fn start(
    directory: &Arc<Directory>,
    session: &mut Session,
    configuration: &Arc<Configuration>,
    origin: &Origin,
    request: &ExtendedRequest<'_>,
    controls: &RequestControls<'_>,
    out: &mut Vec<u8>,
) -> Result<Started, OperationError> {
    let row = lookup(request.name)
        .ok_or_else(|| OperationError::new(ResultCode::PROTOCOL_ERROR, "unsupported extended operation"))?;
    if row.operation != ExtendedOperation::StartTls {
        configuration.frontend.check_requirements(origin)?;
    }
    let restrict = &configuration.frontend.settings.restrict;
    if restrict.operations.contains(Operations::EXTENDED) || restrict.extended.iter().any(|oid| oid == row.oid) {
        return Err(OperationError::new(
            ResultCode::UNWILLING_TO_PERFORM,
            "extended operation restricted",
        ));
    }
    match row.operation {
        ExtendedOperation::WhoAmI => who_am_i(directory, origin, request, out),
        ExtendedOperation::Cancel => cancel(directory, session, origin, request, out),
        ExtendedOperation::StartTls => Err(OperationError::new(ResultCode::UNAVAILABLE, "Could not initialize TLS")),
        ExtendedOperation::PasswordModify => {
            password_modify::start(directory, configuration, origin, request.value, controls)
        }
    }
}

fn who_am_i(
    directory: &Directory,
    origin: &Origin,
    request: &ExtendedRequest<'_>,
    out: &mut Vec<u8>,
) -> Result<Started, OperationError> {
    if request.value.is_some() {
        return Err(OperationError::new(
            ResultCode::PROTOCOL_ERROR,
            "no request data expected",
        ));
    }
    let identity = &origin.identity;
    let authorization_id = if identity.is_anonymous() {
        String::new()
    } else {
        format!("dn:{}", identity.dn.pretty())
    };
    let response = ExtendedResponse {
        result: LdapResult::new(ResultCode::SUCCESS),
        name: None,
        value: Some(authorization_id.as_bytes()),
    };
    encode_extended_response(
        out,
        MessageId::new(origin.message_id).unwrap_or_default(),
        &response,
        &[],
    );
    crate::log::result(directory, origin, Operation::Extended, ResultCode::SUCCESS, "");
    Ok(Started::Answered)
}

/// Cancels a search that is under way. Writes that are queued are canceled as well; binds and extended operations never are.
fn cancel(
    directory: &Directory,
    session: &mut Session,
    origin: &Origin,
    request: &ExtendedRequest<'_>,
    out: &mut Vec<u8>,
) -> Result<Started, OperationError> {
    let target =
        cancel::decode_request(request.value).map_err(|fault| OperationError::new(fault.code, fault.diagnostic))?;
    let flag = session
        .in_flight
        .get(&target.value())
        .ok_or_else(|| OperationError::new(ResultCode::NO_SUCH_OPERATION, "message ID not found"))?;
    if flag.stopped().is_some() {
        return Err(OperationError::new(
            ResultCode::OPERATIONS_ERROR,
            "message ID already being cancelled",
        ));
    }
    flag.stop(Stop::Canceled);
    let response = ExtendedResponse {
        result: LdapResult::new(ResultCode::SUCCESS),
        name: None,
        value: None,
    };
    encode_extended_response(
        out,
        MessageId::new(origin.message_id).unwrap_or_default(),
        &response,
        &[],
    );
    crate::log::result(directory, origin, Operation::Extended, ResultCode::SUCCESS, "");
    Ok(Started::Answered)
}
