//! Requests that overlays decide about before their operations begin, and requests that are held meanwhile.
//!
//! A held request has begun for its client: it has a number in the log, is counted, and may be abandoned or canceled.
//! Nothing of it has been executed. It keeps its PDU, and is decoded again when it continues. It continues with the
//! identity of its arrival, whoever has bound on the connection since.

use std::{rc::Rc, sync::Arc, time::Duration};

use ironbark_config::Operations;
use ironbark_ldap_proto::{Authentication, Operation, Request, RequestMessage, Scope, controls::RequestControls};
use ironbark_model::{Dn, ResultCode};
use tokio::sync::oneshot;

use super::worker::{Started, Worker};
use crate::{
    Configuration, Directory, OperationError,
    admission::{check_bind, check_extended, check_restrictions, controls::policy},
    backend::call::{Call, GivenEntries},
    identity::session::Session,
    operation::{bind, detached, extended, submit},
    outcome::{end::Outcome, given::Answer, respond},
    overlay::{Decision, ExternalAnswer, IncomingRequest, overlays_of},
    refusal::{Failure, RequestRefusal},
    request::{
        context::RequestContext,
        stop::{Stop, StopFlag},
    },
};

/// A request that waits for an overlay's decision. If it is dropped, it is never executed.
pub struct Held {
    pdu: Box<[u8]>,
    origin: RequestContext,
    kind: Operation,
    /// The configuration under which it was decoded.
    configuration: Arc<Configuration>,
    /// The overlay's place in the list of its database.
    place: usize,
    /// Nothing else of the connection may begin before this continues: it is a bind, or a write of a sequence.
    pub blocks_connection: bool,
}

/// The event that a held request waits for.
pub enum HeldUntil {
    /// This time passes; then the decision applies.
    Time(Duration, Decision),
    /// A decision comes from elsewhere.
    Decided(oneshot::Receiver<Decision>),
}

impl Held {
    /// The kind of operation.
    pub fn operation(&self) -> Operation {
        self.kind
    }

    /// Octets of memory that it keeps.
    pub fn octets(&self) -> usize {
        self.pdu.len()
    }

    /// Whether it was abandoned or canceled. It must then continue at once.
    pub fn is_stopped(&self) -> bool {
        self.origin.stop.stopped().is_some()
    }
}

impl Worker {
    /// Asks the overlays about a request, beginning with the one at `place`. If `decided` is set, that overlay has
    /// already decided. If no overlay objects, the operation begins.
    pub(super) fn pass(
        &mut self,
        session: &mut Session,
        call: &mut Call<'_, '_>,
        mut place: usize,
        mut decided: Option<Decision>,
        out: &mut Vec<u8>,
    ) -> Started {
        loop {
            let decision = match decided.take() {
                Some(decision) => decision,
                None => match ask(&self.directory, call, place) {
                    Ok(Some(decision)) => decision,
                    Ok(None) => {
                        // The operation may refuse what it reads before it asks the database.
                        call.origin.responses = None;
                        return self.begin_operation(session, call, out);
                    }
                    Err(error) => return self.answer(call.origin, call.kind(), &error, out),
                },
            };
            let until = match decision {
                Decision::Continue => {
                    place += 1;
                    continue;
                }
                Decision::Entries(entries) => {
                    call.entries = Some(GivenEntries::Memory(entries));
                    return self.begin_operation(session, call, out);
                }
                Decision::External(answer) => return self.give_external(session, call, answer, out),
                Decision::Answer(answer) => return self.give(session, call, &answer, out),
                Decision::Close => {
                    self.scratch.shard.record_completed(call.kind());
                    return Started::Disconnect("");
                }
                Decision::After(time, then) => HeldUntil::Time(time, *then),
                Decision::Elsewhere(receiver) => HeldUntil::Decided(receiver),
            };
            return hold(session, call, place, until);
        }
    }

    /// Continues a request that was held. `None`: the decision will never come.
    pub fn resume(
        &mut self,
        session: &mut Session,
        held: Held,
        decision: Option<Decision>,
        out: &mut Vec<u8>,
    ) -> Started {
        let _ = self.batch(None);
        let Held { pdu, mut origin, .. } = held;
        session.conclude(origin.message_id, &origin.stop);
        match origin.stop.stopped() {
            None => {}
            Some(Stop::Abandoned) => {
                self.scratch.shard.record_completed(held.kind);
                return Started::Answered;
            }
            Some(Stop::Canceled) => {
                let error = RequestRefusal::Canceled.into();
                return self.answer(&origin, held.kind, &error, out);
            }
        }
        let configuration = Rc::clone(&self.configuration);
        let Some(decision) = decision else {
            let error = Failure::Internal.into();
            return self.answer(&origin, held.kind, &error, out);
        };
        // Under another configuration there are other overlays: all are asked, unless something has acted already.
        let is_valid = Arc::ptr_eq(&held.configuration, &configuration)
            || match decision {
                Decision::External(ExternalAnswer::Result(_)) => true,
                Decision::External(ExternalAnswer::Entries(_)) => {
                    Arc::ptr_eq(&held.configuration.schema, &configuration.schema)
                }
                _ => false,
            };
        let (place, decided) = if is_valid {
            (held.place, Some(decision))
        } else {
            (0, None)
        };
        let limits = &configuration.decode_limits;
        let message = match RequestMessage::decode(&pdu, limits) {
            Ok(message) => message,
            Err(error) => {
                return self.answer(&origin, held.kind, &error.into(), out);
            }
        };
        let controls = RequestControls::decode(&message.controls, &message.operation, &policy(&configuration), limits);
        let mut controls = match controls {
            Ok(controls) => controls,
            Err(fault) => {
                return self.answer(&origin, held.kind, &fault.into(), out);
            }
        };
        let mut call = Call {
            configuration: &configuration,
            origin: &mut origin,
            message: &message,
            controls: &mut controls,
            pdu: &pdu,
            entries: None,
        };
        self.pass(session, &mut call, place, decided, out)
    }

    /// Answers with what something else than the database has answered.
    fn give_external(
        &mut self,
        session: &mut Session,
        call: &mut Call<'_, '_>,
        answer: ExternalAnswer,
        out: &mut Vec<u8>,
    ) -> Started {
        // As in slapd, overlays are not told of what something else answers.
        call.origin.responses = None;
        match (answer, &call.message.operation) {
            (ExternalAnswer::Entries(entries), Request::Search(_)) => {
                call.entries = Some(GivenEntries::External(entries));
                self.begin_operation(session, call, out)
            }
            (ExternalAnswer::Entries(_), _) => {
                let error = Failure::Internal.into();
                self.answer(call.origin, call.kind(), &error, out)
            }
            (ExternalAnswer::Result(result), operation) => {
                if let Request::Bind(request) = operation
                    && result.code == ResultCode::SUCCESS
                {
                    bind::accept(session, call.configuration, call.origin, request);
                }
                self.give(session, call, &result.without_empty_referral().into(), out)
            }
        }
    }

    /// Answers with what an overlay has chosen, logs it, counts it.
    fn give(&mut self, session: &mut Session, call: &Call<'_, '_>, answer: &Answer, out: &mut Vec<u8>) -> Started {
        let (origin, kind) = (&*call.origin, call.kind());
        if kind == Operation::Bind {
            session.negotiation = None;
        }
        respond::given(out, origin.message_id, kind, answer);
        let started = self.answered(origin, Outcome::of_result(kind, &answer.result));
        if answer.closes {
            return Started::Disconnect("");
        }
        started
    }
}

/// Holds a request.
fn hold(session: &mut Session, call: &mut Call<'_, '_>, place: usize, until: HeldUntil) -> Started {
    let kind = call.kind();
    let mut origin = call.origin.clone();
    origin.stop = StopFlag::new();
    session.in_flight.insert(origin.message_id, origin.stop.clone());
    let held = Held {
        pdu: call.pdu.into(),
        kind,
        configuration: Arc::clone(call.configuration),
        place,
        // Writes of a sequence keep their order.
        blocks_connection: kind == Operation::Bind || origin.sequence.is_kept(),
        origin,
    };
    Started::Held(Box::new((held, until)))
}

/// The decision of the overlay at `place`. `None`: there is no such overlay, or the request does not concern it.
///
/// # Errors
/// A restriction keeps the operation out of the database.
fn ask(directory: &Arc<Directory>, call: &mut Call<'_, '_>, place: usize) -> Result<Option<Decision>, OperationError> {
    let configuration = call.configuration;
    let Some(dn) = subject(call) else { return Ok(None) };
    let Some(context) = configuration.context_of(&dn) else {
        return Ok(None);
    };
    let Some(hooks) = overlays_of(context).requests.get(place) else {
        return Ok(None);
    };
    match &call.message.operation {
        Request::Bind(request) => {
            if !bind::may_try(directory, configuration, call.origin, request) {
                return Ok(None);
            }
            check_bind(context, configuration, true, call.origin)?;
        }
        Request::Extended(request) => {
            let Some(row) = configuration.extended_operation(request.name) else {
                return Ok(None);
            };
            check_extended(context, configuration, row, call.origin)?;
        }
        _ => {
            let kind = call.origin.request.operation;
            if Operations::WRITE.contains(kind) && !submit::may_write(configuration, call.origin) {
                return Ok(None);
            }
            let governing = configuration.governing(context);
            check_restrictions(governing, configuration, kind, call.origin)?;
        }
    }
    call.controls.remove(call.origin.dropped_controls);
    Ok(Some(hooks.decide(&IncomingRequest {
        directory,
        configuration,
        context,
        operation: call.kind(),
        request: &call.message.operation,
        dn: &dn,
        controls: call.controls,
        origin: call.origin,
        pdu: call.pdu,
        read: detached::read,
    })))
}

/// The name of the entry that a request is about. `None`: the request names no entry, or its name is invalid and the
/// operation will refuse it.
fn subject(call: &Call<'_, '_>) -> Option<Dn> {
    let name = match &call.message.operation {
        Request::Bind(request) => match &request.authentication {
            Authentication::Simple(password) if !password.is_empty() => request.name,
            _ => return None,
        },
        Request::Search(request) => {
            let settings = &call.configuration.settings;
            match &settings.default_search_base {
                Some(base) if request.base.is_empty() && request.scope != Scope::BaseObject => {
                    return Some(base.clone());
                }
                _ => request.base,
            }
        }
        Request::Compare(request) => request.entry,
        Request::Add(request) => request.entry,
        Request::Delete(entry) => entry,
        Request::Modify(request) => request.object,
        Request::ModifyDn(request) => request.entry,
        Request::Extended(request) => return extended::subject(call.configuration, call.origin, request),
        Request::Unbind | Request::Abandon(_) => return None,
    };
    Dn::parse(&call.configuration.schema, name).ok()
}
