//! The SASL part of Bind (RFC 4511 §4.2): chooses the mechanism, continues or begins a negotiation, answers.

use std::sync::Arc;

use ironbark_ldap_proto::{BindResponse, EncodeControl, LdapResult, MessageId, Operation, encode_bind_response};
use ironbark_model::ResultCode;

use super::sasl_turn::{Ended, Settled, Turn};
use crate::{
    Configuration, OperationError,
    admission::check_bind,
    identity::session::Session,
    outcome::{
        completion::{Begun, Completion},
        end::{Outcome, record_end, record_end_elsewhere},
        hashing_pool, respond,
    },
    refusal::{BindRefusal, SaslRefusal},
    request::{context::RequestContext, stop::Restriction},
    sasl::{Exchange, Mechanism, Negotiation, SecurityLayer, Situation},
    scratch::Scratch,
};

/// Longer messages of a client are refused: names are shorter, and so are passwords.
const MAX_MESSAGE: usize = 65_536;

/// One bind request of a negotiation.
pub(crate) struct Step<'m> {
    /// The name of the mechanism.
    pub(crate) mechanism: &'m [u8],
    /// The client's message.
    pub(crate) message: Option<&'m [u8]>,
    /// The state after the step before.
    pub(crate) under_way: Option<Box<Negotiation>>,
}

/// Takes one step. A bind with another mechanism ends the negotiation that is under way (RFC 4513 §5.2.1.2).
pub(crate) fn start(
    scratch: &Scratch,
    session: &mut Session,
    configuration: &Arc<Configuration>,
    origin: &mut RequestContext,
    step: Step<'_>,
    out: &mut Vec<u8>,
) -> Result<Begun, OperationError> {
    let Step {
        mechanism: name,
        message,
        under_way,
    } = step;
    if name.is_empty() {
        return Err(BindRefusal::NoMechanism.into());
    }
    check_bind(&configuration.frontend, configuration, false, origin)?;
    let situation = Situation::of(configuration, origin);
    let mechanism = Mechanism::find(name).ok_or_else(|| SaslRefusal::unknown(name))?;
    mechanism.check(configuration, situation)?;
    if message.is_some_and(|message| message.len() > MAX_MESSAGE) {
        return Err(SaslRefusal::malformed("message too long").into());
    }
    session.restriction = Restriction::new();
    let under_way = under_way.filter(|negotiation| std::ptr::eq(negotiation.mechanism, mechanism));
    let turn = Turn {
        directory: Arc::clone(scratch.directory()),
        configuration: Arc::clone(configuration),
        origin: origin.clone(),
        mechanism,
        exchange: under_way.map_or(Exchange::Begin, |negotiation| negotiation.exchange),
        message: message.map(<[u8]>::to_vec),
        restriction: session.restriction.clone(),
    };
    if turn.takes_long() {
        return submit(turn);
    }
    let settled = match turn.run() {
        Ok(Ended::Judged(judgement, context)) => {
            return judgement.submit(scratch.directory(), configuration, &context, origin);
        }
        Ok(Ended::Settled(settled)) => Ok(settled),
        Err(error) => Err(error),
    };
    let answer = Answer::new(origin, settled, out);
    let directory = scratch.directory();
    let outcome = Outcome::new(Operation::Bind, answer.code, &answer.text);
    record_end(directory, scratch.shard(), directory.slow_micros(), origin, outcome);
    session.negotiation = answer.negotiation;
    session.protect(answer.layer);
    if let Some(identity) = answer.identity {
        session.identity = identity;
    }
    Ok(Begun::Answered)
}

/// Takes the step on the hashing pool. Nothing else on the connection begins before the step has ended.
fn submit(turn: Turn) -> Result<Begun, OperationError> {
    let (directory, origin) = (Arc::clone(&turn.directory), turn.origin.clone());
    let octets = turn.message.as_ref().map_or(0, Vec::len);
    hashing_pool::submit(&directory, &origin, Operation::Bind, octets, move |reply| {
        let (directory, origin) = (Arc::clone(&turn.directory), turn.origin.clone());
        let configuration = Arc::clone(&turn.configuration);
        let settled = match turn.run() {
            Ok(Ended::Judged(judgement, context)) => {
                return judgement.queue(directory, configuration, &context, &origin, reply);
            }
            Ok(Ended::Settled(settled)) => Ok(settled),
            Err(error) => Err(error),
        };
        let mut response = Vec::new();
        let answer = Answer::new(&origin, settled, &mut response);
        record_end_elsewhere(
            &directory,
            &origin,
            Outcome::new(Operation::Bind, answer.code, &answer.text),
        );
        // The connection may be gone.
        let _ = reply.send(Completion {
            message_id: origin.message_id,
            stop: origin.stop.clone(),
            response,
            identity: answer.identity,
            negotiation: answer.negotiation,
            layer: answer.layer,
            verification: origin.verification.clone(),
        });
    })
}

/// The effect of a step on the session.
struct Answer {
    code: ResultCode,
    text: String,
    identity: Option<Arc<crate::request::identity::Identity>>,
    negotiation: Option<Box<Negotiation>>,
    layer: Option<Box<dyn SecurityLayer>>,
}

impl Answer {
    /// Appends the response.
    fn new(origin: &RequestContext, settled: Result<Settled, OperationError>, out: &mut Vec<u8>) -> Self {
        let (code, data, identity, negotiation, layer) = match settled {
            Ok(Settled::Challenge(challenge, negotiation)) => (
                ResultCode::SASL_BIND_IN_PROGRESS,
                Some(challenge),
                None,
                Some(Box::new(negotiation)),
                None,
            ),
            Ok(Settled::Accepted(identity, data, layer)) => (ResultCode::SUCCESS, data, Some(identity), None, layer),
            Err(error) => {
                respond::refusal(out, origin.message_id, Operation::Bind, &error);
                let text = error.diagnostic_message.into_owned();
                return Self {
                    code: error.result_code,
                    text,
                    identity: None,
                    negotiation: None,
                    layer: None,
                };
            }
        };
        let response = BindResponse {
            result: LdapResult::new(code),
            server_sasl_credentials: data.as_deref(),
        };
        let bound = identity
            .as_ref()
            .map(|identity| respond::bound_controls(origin, identity));
        let controls: Vec<&dyn EncodeControl> = bound.iter().flatten().map(|control| control as _).collect();
        encode_bind_response(
            out,
            MessageId::new(origin.message_id).unwrap_or_default(),
            &response,
            &controls,
        );
        Self {
            code,
            text: String::new(),
            identity,
            negotiation,
            layer,
        }
    }
}
