//! Verify Credentials (OpenLDAP's module vc): a bind beside the session of its connection. Its response is the answer.
//!
//! Invariants: the connection keeps its identity, whatever the bind ends with. The answer tells no more than a bind
//! would: the bind is judged, counted, delayed and logged as any other. A success means that credentials of the request
//! were right.

use std::sync::Arc;

use ironbark_ldap_proto::{
    Authentication, BindRequest, BindResponse, DecodeLimits, ExtendedResponse, MessageId, Operation, RawControls,
    Request, RequestMessage, Response, ResponseMessage,
    controls::{ControlSet, RequestControls},
    encode_extended_response,
    extended::{
        ExtendedDescriptor,
        verify_credentials::{VerifyCredentialsRequest, VerifyCredentialsResponse},
    },
};
use ironbark_model::{Dn, ResultCode};

use super::bind;
use crate::{
    Configuration, Directory, OperationError,
    admission::{check_extended, controls::policy},
    backend::call::Call,
    identity::{session::Session, verification::KeptNegotiation},
    outcome::{
        completion::Begun,
        end::{Outcome, record_end, record_end_elsewhere},
        log, respond,
    },
    overlay::overlays_of,
    refusal::{Failure, VerificationRefusal},
    request::{
        context::{Cookie, RequestContext, RequestKind, Verification},
        identity::Identity,
        stop::{Restriction, Sequence},
    },
    sasl::{Mechanism, Negotiation, mechanism::Kind},
    scratch::Scratch,
};

/// Begins the bind. Nothing else on the connection begins before it has ended.
pub(super) fn start(
    scratch: &mut Scratch,
    session: &mut Session,
    call: &mut Call<'_, '_>,
    row: &ExtendedDescriptor,
    value: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<Begun, OperationError> {
    let (configuration, origin) = (call.configuration, &mut *call.origin);
    let under_way = session.verification.take();
    check_extended(&configuration.frontend, configuration, row, origin)?;
    let request = VerifyCredentialsRequest::decode(value, &configuration.decode_limits)?;
    let negotiation = match request.cookie {
        None => None,
        Some(cookie) => {
            let continued = under_way.and_then(|negotiation| negotiation.continued(cookie));
            Some(continued.ok_or(VerificationRefusal::UnknownCookie)?)
        }
    };
    refuse(configuration, &request)?;
    let verification = Arc::new(Verification {
        origin: origin.clone(),
        cookie: new_cookie(scratch.directory())?,
    });
    let mut aside = session.aside(negotiation);
    let mut response = Vec::new();
    if let Begun::Submitted(submitted) = bind_aside(scratch, &mut aside, call, &request, &verification, &mut response) {
        return Ok(Begun::Submitted(submitted));
    }
    let ended = Ended {
        response,
        identity: Some(aside.identity),
        negotiation: aside.negotiation,
    };
    finish(scratch.directory(), session, &verification, ended, out);
    Ok(Begun::Answered)
}

/// Refuses what proves nothing, and what a bind would not be allowed to find out.
fn refuse(configuration: &Configuration, request: &VerifyCredentialsRequest<'_>) -> Result<(), VerificationRefusal> {
    match request.authentication {
        Authentication::Simple(password) => {
            let dn = Dn::parse(&configuration.schema, request.name).ok();
            if password.is_empty() || dn.as_ref().is_some_and(|dn| dn.depth() == 0) {
                return Err(VerificationRefusal::NoCredentials);
            }
            // They are asked about simple binds alone, so a SASL bind would not ask them either.
            let context = dn.and_then(|dn| configuration.context_of(&dn));
            if context.is_some_and(|context| !overlays_of(context).requests.is_empty()) {
                return Err(VerificationRefusal::OverlaysDecide);
            }
        }
        Authentication::Sasl { mechanism, .. } => {
            let kind = Mechanism::find(mechanism).map(|mechanism| mechanism.kind);
            if let Some(Kind::External | Kind::Anonymous) = kind {
                return Err(VerificationRefusal::ProvesNothing);
            }
        }
        Authentication::Other { .. } => {}
    }
    Ok(())
}

/// Begins the bind in its own session. What is answered at once is in `response`, also a refusal.
fn bind_aside(
    scratch: &mut Scratch,
    aside: &mut Session,
    call: &Call<'_, '_>,
    request: &VerifyCredentialsRequest<'_>,
    verification: &Arc<Verification>,
    response: &mut Vec<u8>,
) -> Begun {
    let configuration = call.configuration;
    let bind = BindRequest {
        version: 3,
        name: request.name,
        authentication: request.authentication,
    };
    let operation = Request::Bind(bind);
    let mut origin = origin_of(verification);
    scratch.shard().record_initiated(Operation::Bind);
    let controls = read_controls(configuration, &mut origin, &request.controls, &operation);
    log::request(configuration, &mut scratch.base, &origin, &operation);
    if configuration.of_overlays.keeps_messages {
        let (id, controls) = (call.message.id, request.controls);
        let mut message = Vec::new();
        RequestMessage {
            id,
            operation,
            controls,
        }
        .encode(&mut message);
        origin.pdu = Some(message.into());
    }
    let begun = controls.and_then(|()| bind::start(scratch, aside, configuration, &mut origin, &bind, response));
    begun.unwrap_or_else(|error| {
        respond::refusal(response, origin.message_id, Operation::Bind, &error);
        let (directory, outcome) = (scratch.directory(), Outcome::of_refusal(Operation::Bind, &error));
        record_end(directory, scratch.shard(), directory.slow_micros(), &origin, outcome);
        Begun::Answered
    })
}

/// The context of the bind: nobody asks, from the same place.
fn origin_of(verification: &Arc<Verification>) -> RequestContext {
    let origin = &verification.origin;
    RequestContext {
        identity: Arc::default(),
        request: RequestKind::of(Operation::Bind),
        critical_controls: ControlSet::NONE,
        dropped_controls: ControlSet::NONE,
        bound_version: None,
        sequence: Sequence::default(),
        restriction: Restriction::default(),
        responses: None,
        bound: None,
        pdu: None,
        verification: Some(Arc::clone(verification)),
        ..origin.clone()
    }
}

/// Reads the controls of the bind. The lines of the log say, as in slapd, that it is none of the connection's own.
fn read_controls(
    configuration: &Configuration,
    origin: &mut RequestContext,
    controls: &RawControls<'_>,
    operation: &Request<'_>,
) -> Result<(), OperationError> {
    let limits = &configuration.decode_limits;
    let read = RequestControls::decode(controls, operation, &policy(configuration), limits);
    let tracking = read.as_ref().ok().and_then(|read| read.session_tracking.as_ref());
    let tracked = tracking.and_then(|control| log::tracked(&control.value));
    let [outer, inner] = [&origin.tracked, &tracked].map(|text| text.as_deref().unwrap_or_default());
    origin.tracked = Some(format!("{outer} VERIFYCREDENTIALS{inner}").into());
    let read = read?;
    origin.note_controls(&read, &configuration.of_overlays.bound);
    Ok(())
}

fn new_cookie(directory: &Directory) -> Result<Cookie, Failure> {
    directory.randomness().bytes().map_err(|error| {
        tracing::error!(target: "any", "making a cookie: {error}");
        Failure::Internal
    })
}

/// The end of the bind.
pub(crate) struct Ended {
    /// Its encoded response; empty if it was abandoned.
    pub(crate) response: Vec<u8>,
    /// The identity that a success proves.
    pub(crate) identity: Option<Arc<Identity>>,
    /// The SASL negotiation, if it continues.
    pub(crate) negotiation: Option<Box<Negotiation>>,
}

/// Answers with the result of the bind, and keeps its negotiation for the next request.
pub(crate) fn finish(
    directory: &Directory,
    session: &mut Session,
    verification: &Verification,
    ended: Ended,
    out: &mut Vec<u8>,
) {
    let origin = &verification.origin;
    if ended.response.is_empty() {
        return directory.statistics().shared().record_completed(Operation::Extended);
    }
    let limits = DecodeLimits {
        controls: usize::MAX,
        ..DecodeLimits::default()
    };
    let refusal = match ResponseMessage::decode(&ended.response, &limits) {
        Ok(ResponseMessage {
            operation: Response::Bind(bind),
            controls,
            ..
        }) if bind.result.code != ResultCode::SUCCESS || ended.proves_somebody() => {
            session.verification = ended
                .negotiation
                .map(|negotiation| KeptNegotiation::new(verification.cookie, negotiation));
            let cookie = session.verification.as_ref().map(|_| &verification.cookie[..]);
            return answer(directory, origin, &bind, controls, cookie, out);
        }
        Ok(ResponseMessage {
            operation: Response::Bind(_),
            ..
        }) => VerificationRefusal::NoCredentials.into(),
        Ok(_) | Err(_) => OperationError::from(Failure::Internal),
    };
    respond::refusal(out, origin.message_id, Operation::Extended, &refusal);
    record_end_elsewhere(directory, origin, Outcome::of_refusal(Operation::Extended, &refusal));
}

impl Ended {
    fn proves_somebody(&self) -> bool {
        self.identity.as_ref().is_some_and(|identity| !identity.is_anonymous())
    }
}

/// As slapd, the result of the bind is that of the operation too.
fn answer(
    directory: &Directory,
    origin: &RequestContext,
    bind: &BindResponse<'_>,
    controls: RawControls<'_>,
    cookie: Option<&[u8]>,
    out: &mut Vec<u8>,
) {
    let result = bind.result;
    let mut value = Vec::new();
    VerifyCredentialsResponse {
        code: result.code,
        diagnostic_message: result.diagnostic_message,
        cookie,
        server_sasl_credentials: bind.server_sasl_credentials,
        controls,
    }
    .encode(&mut value);
    let response = ExtendedResponse {
        result,
        name: None,
        value: Some(&value),
    };
    let id = MessageId::new(origin.message_id).unwrap_or_default();
    encode_extended_response(out, id, &response, &[]);
    let text = String::from_utf8_lossy(result.diagnostic_message);
    let outcome = Outcome::new(Operation::Extended, result.code, &text);
    record_end_elsewhere(directory, origin, outcome);
}
