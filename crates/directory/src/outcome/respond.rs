//! Responses: an outcome becomes an LDAPResult in an output buffer.

use ironbark_ldap_proto::{
    BindResponse, EncodeControl, ExtendedResponse, LdapResult, List, MessageId, Operation, encode_bind_response,
    encode_extended_response, encode_result,
};
use ironbark_model::ResultCode;

use super::{
    completion::Completion,
    end::{Outcome, record_end_elsewhere},
    given::Answer,
};
use crate::{
    Directory, OperationError, ResponseControl,
    backend::written::{BindEnd, ExtendedAnswer, Success},
    request::{context::RequestContext, identity::Identity, stop::Stop},
    result::{OperationResult, encode_refusal, told},
};

/// Appends the response of an operation that ended with this code and has nothing else to report.
pub(crate) fn code(out: &mut Vec<u8>, message_id: i32, operation: Operation, code: ResultCode) {
    let id = MessageId::new(message_id).unwrap_or_default();
    encode_result(out, id, operation, &LdapResult::new(code), &[]);
}

/// Appends the response of a bind that gives the connection this identity, and has nothing else to report.
pub(crate) fn bound(out: &mut Vec<u8>, origin: &RequestContext, identity: &Identity) {
    let controls = bound_controls(origin, identity);
    let controls: Vec<&dyn EncodeControl> = controls.iter().map(|control| control as _).collect();
    let response = BindResponse {
        result: LdapResult::new(ResultCode::SUCCESS),
        server_sasl_credentials: None,
    };
    let id = MessageId::new(origin.message_id).unwrap_or_default();
    encode_bind_response(out, id, &response, &controls);
}

/// What overlays send with the response of a bind that gives the connection this identity.
pub(crate) fn bound_controls(origin: &RequestContext, identity: &Identity) -> Vec<ResponseControl> {
    let bound = origin.bound.as_ref();
    bound.map(|bound| bound.of(origin, identity)).unwrap_or_default()
}

/// The code that a comparison ends with.
pub(crate) fn compared(is_true: bool) -> ResultCode {
    if is_true {
        ResultCode::COMPARE_TRUE
    } else {
        ResultCode::COMPARE_FALSE
    }
}

/// Appends the response of an operation that was refused.
pub(crate) fn refusal(out: &mut Vec<u8>, message_id: i32, operation: Operation, error: &OperationError) {
    let id = MessageId::new(message_id).unwrap_or_default();
    let controls = error.controls.iter();
    let controls: Vec<&dyn EncodeControl> = controls.map(|control| control as &dyn EncodeControl).collect();
    encode_refusal(error, |result| encode_result(out, id, operation, &result, &controls));
}

/// Appends the response of an operation whose result something else has chosen.
pub(crate) fn result(out: &mut Vec<u8>, message_id: i32, operation: Operation, result: &OperationResult) {
    let id = MessageId::new(message_id).unwrap_or_default();
    result.encode(|result| encode_result(out, id, operation, &result, &[]));
}

/// Appends the answer that an overlay has chosen.
pub(crate) fn given(out: &mut Vec<u8>, message_id: i32, operation: Operation, answer: &Answer) {
    let Some(unsolicited) = &answer.unsolicited else {
        return result(out, message_id, operation, &answer.result);
    };
    let Some(name) = &unsolicited.name else {
        return result(out, MessageId::UNSOLICITED.value(), operation, &answer.result);
    };
    answer.result.encode(|result| {
        let response = ExtendedResponse {
            result,
            name: Some(name.as_bytes()),
            value: unsolicited.value.as_deref(),
        };
        encode_extended_response(out, MessageId::UNSOLICITED, &response, &[]);
    });
}

/// The response of a bind, with the mechanism's data for the client.
fn bind_result(out: &mut Vec<u8>, origin: &RequestContext, end: &BindEnd) {
    let refusal = end.verdict.as_ref().err();
    let told = refusal
        .map(|refusal| told(&refusal.diagnostic_message))
        .unwrap_or_default();
    let result = LdapResult {
        code: refusal.map_or(ResultCode::SUCCESS, |refusal| refusal.result_code),
        matched_dn: &[],
        diagnostic_message: told.as_bytes(),
        referrals: List::default(),
    };
    let credentials = end.server_credentials.as_deref();
    let response = BindResponse {
        result,
        server_sasl_credentials: credentials.filter(|_| refusal.is_none()),
    };
    let identity = end.identity.as_ref().filter(|_| refusal.is_none());
    let of_identity = identity.map(|identity| bound_controls(origin, identity));
    let controls = end.controls.iter().chain(of_identity.iter().flatten());
    let controls: Vec<&dyn EncodeControl> = controls.map(|control| control as &dyn EncodeControl).collect();
    encode_bind_response(
        out,
        MessageId::new(origin.message_id).unwrap_or_default(),
        &response,
        &controls,
    );
}

/// The end of a write: encoded response, log line, counters. An abandoned write gets no response (RFC 4511 §4.11).
pub(crate) fn write_completion(
    directory: &Directory,
    origin: &RequestContext,
    operation: Operation,
    outcome: Result<Success, OperationError>,
) -> Completion {
    let mut response = Vec::new();
    let mut identity = None;
    if origin.stop.stopped() == Some(Stop::Abandoned) {
        directory.statistics().shared().record_completed(operation);
    } else {
        let mut code = ResultCode::SUCCESS;
        let refused = match outcome {
            Ok(Success { bind: Some(end), .. }) => {
                bind_result(&mut response, origin, &end);
                identity = end.identity;
                if let Some(identity) = &identity {
                    let bound = identity.authentication_dn.as_ref().unwrap_or(&identity.dn);
                    super::log::bound(origin, bound.pretty(), end.mechanism, 0);
                }
                end.verdict.err()
            }
            Ok(Success {
                compared: Some(is_true),
                ..
            }) => {
                code = compared(is_true);
                self::code(&mut response, origin.message_id, operation, code);
                None
            }
            Ok(mut success) => {
                let refusal = success.extended.refusal.take();
                if let Some(error) = &refusal {
                    refused_extended(&mut response, origin.message_id, &success.extended, error);
                } else {
                    succeed(&mut response, origin.message_id, operation, &success);
                }
                refusal.map(|error| *error)
            }
            Err(error) => {
                refusal(&mut response, origin.message_id, operation, &error);
                Some(error)
            }
        };
        let outcome = match &refused {
            None => Outcome::new(operation, code, ""),
            Some(error) => Outcome::of_refusal(operation, error),
        };
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

/// The response of an extended operation that was refused, and says more.
fn refused_extended(out: &mut Vec<u8>, message_id: i32, answer: &ExtendedAnswer, error: &OperationError) {
    let id = MessageId::new(message_id).unwrap_or_default();
    encode_refusal(error, |result| {
        let response = ExtendedResponse {
            result,
            name: answer.name.map(str::as_bytes),
            value: answer.value.as_deref(),
        };
        encode_extended_response(out, id, &response, &[]);
    });
}

fn succeed(out: &mut Vec<u8>, message_id: i32, operation: Operation, success: &Success) {
    use ironbark_ldap_proto::controls::{Control, PostReadResponse, PreReadResponse};

    let id = MessageId::new(message_id).unwrap_or_default();
    if operation == Operation::Extended {
        let response = ExtendedResponse {
            result: LdapResult::new(ResultCode::SUCCESS),
            name: success.extended.name.map(str::as_bytes),
            value: success.extended.value.as_deref(),
        };
        return encode_extended_response(out, id, &response, &[]);
    }
    let pre_read = success
        .pre_read
        .as_deref()
        .map(|entry| Control::optional(PreReadResponse(entry)));
    let post_read = success
        .post_read
        .as_deref()
        .map(|entry| Control::optional(PostReadResponse(entry)));
    let mut controls: Vec<&dyn EncodeControl> = Vec::new();
    if let Some(control) = &pre_read {
        controls.push(control);
    }
    if let Some(control) = &post_read {
        controls.push(control);
    }
    encode_result(out, id, operation, &LdapResult::new(ResultCode::SUCCESS), &controls);
}
