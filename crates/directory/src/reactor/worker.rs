//! A reactor's side of the directory. It decodes requests, answers fast ones at once, and keeps caches and scratch
//! memory.

use std::{ops::ControlFlow, rc::Rc, sync::Arc};

use ironbark_ldap_proto::{
    DecodeError, MessageId, Operation, Request, RequestMessage, SearchRequest,
    controls::{ControlSet, RequestControls},
    encode_notice_of_disconnection,
};
use ironbark_model::{Dn, ResultCode, budget};

use super::held::{Held, HeldUntil};
use crate::{
    Configuration, Directory, OperationError,
    admission::controls::policy,
    backend::call::Call,
    identity::session::Session,
    operation::{
        abandon, bind,
        compare::{self, Compared},
        extended, submit, transaction, unbind,
    },
    outcome::{
        completion::{Begun, Submitted},
        end::{Outcome, record_end},
        respond,
    },
    reactor::{bare::BareAnswer, long_searches::LongSearches},
    refusal::{ClusterRefusal, RequestRefusal, SearchRefusal},
    request::{
        context::{RequestContext, RequestKind},
        stop::StopFlag,
    },
    scratch::{Scratch, TURN_STEPS},
    search::{self, LookAhead, Progress, SearchRun},
    statistics::Shard,
};

/// The state that one reactor has of the directory. It is not shared.
pub struct Worker {
    pub(super) directory: Arc<Directory>,
    /// The configuration at the last request.
    #[expect(
        clippy::redundant_allocation,
        reason = "requests count on the reactor's own counter, not on the shared one"
    )]
    pub(super) configuration: Rc<Arc<Configuration>>,
    pub(super) scratch: Scratch,
    /// The threads for searches that are too long for a reactor.
    pub(super) long_searches: Arc<LongSearches>,
    /// The answer to every search, in benchmarks.
    bare: Option<Arc<BareAnswer>>,
    ahead: LookAhead,
    /// Finished runs. Later searches use their memory, so a search in steady state allocates nothing.
    #[expect(clippy::vec_box, reason = "a run changes hands as a box")]
    spare_runs: Vec<Box<SearchRun>>,
}

/// Requests that begin one after the other without a wait. They may share a snapshot.
pub struct RequestBatch<'w>(&'w mut Worker);

/// The state of a request after its begin.
pub enum Started {
    /// The output has the response, if the operation has one.
    Answered,
    /// A search that is not finished: call [`Worker::step`].
    Search(Box<SearchRun>),
    /// It runs elsewhere: await it, then call [`Worker::finish`].
    Submitted(Submitted),
    /// StartTLS was answered with success. Write the output, then begin the handshake; start nothing before that (RFC
    /// 4511 §4.14).
    StartTls,
    /// An overlay must still decide: wait, then call [`Worker::resume`].
    Held(Box<(Held, HeldUntil)>),
    /// Write the output and close. The text is the reason for the log.
    Disconnect(&'static str),
}

impl From<Begun> for Started {
    fn from(begun: Begun) -> Self {
        match begun {
            Begun::Answered => Self::Answered,
            Begun::Submitted(submitted) => Self::Submitted(submitted),
            Begun::StartTls => Self::StartTls,
        }
    }
}

impl Worker {
    pub(crate) fn new(
        directory: Arc<Directory>,
        long_searches: Arc<LongSearches>,
        bare: Option<Arc<BareAnswer>>,
    ) -> Self {
        let shard = directory.statistics().new_shard();
        Self {
            scratch: Scratch::new(Arc::clone(&directory), shard),
            configuration: Rc::new(directory.configuration()),
            spare_runs: Vec::new(),
            long_searches,
            bare,
            ahead: LookAhead::default(),
            directory,
        }
    }

    /// Begins a batch of requests that have all been received. So it sees every write that its clients know of.
    /// `arrived_micros` is their time of arrival in monotonic microseconds; `None`: now.
    pub fn batch(&mut self, arrived_micros: Option<u64>) -> RequestBatch<'_> {
        self.refresh();
        self.scratch.refresh_snapshot();
        self.scratch.ended_micros = None;
        self.scratch.arrived_micros = arrived_micros;
        self.scratch.turn_left = TURN_STEPS;
        RequestBatch(self)
    }

    /// Takes the configuration in force and drops the former one.
    pub(super) fn refresh(&mut self) {
        if self.directory.refresh(&mut self.configuration) {
            // The caches belong to another schema, and perhaps to other databases.
            self.scratch.forget();
            self.spare_runs.clear();
            self.ahead = LookAhead::default();
        }
    }

    /// The reactor's counters.
    pub fn shard(&self) -> &Shard {
        &self.scratch.shard
    }

    /// Steps of a [`Budget`] that the last turn has used.
    pub fn spent_in_turn(&self) -> u64 {
        TURN_STEPS.saturating_sub(self.scratch.turn_left)
    }

    /// [`RequestBatch::start`] for one PDU alone.
    pub fn start(&mut self, session: &mut Session, pdu: &[u8], out: &mut Vec<u8>) -> Started {
        self.batch(None).start(session, pdu, out)
    }

    fn begin_or_answer_barely(&mut self, session: &mut Session, pdu: &[u8], out: &mut Vec<u8>) -> Started {
        let Some(bare) = &self.bare else {
            return self.begin(session, pdu, out);
        };
        match bare.answer(&mut self.scratch, pdu, out) {
            Ok(ControlFlow::Break(())) => Started::Answered,
            Ok(ControlFlow::Continue(())) => self.begin(session, pdu, out),
            Err(_) => Started::Disconnect("storage failure"),
        }
    }

    fn begin(&mut self, session: &mut Session, pdu: &[u8], out: &mut Vec<u8>) -> Started {
        let configuration = Rc::clone(&self.configuration);
        let ended = self.scratch.ended_micros.take();
        let received_micros = ended.unwrap_or_else(|| self.directory.monotonic_micros());
        let arrived_micros = *self.scratch.arrived_micros.get_or_insert(received_micros);
        let message = match RequestMessage::decode(pdu, &configuration.decode_limits) {
            Ok(message) => message,
            Err(error) => return self.refuse_undecodable(session, &error, out),
        };
        let kind = message.operation.operation();
        self.scratch.shard.record_initiated(kind);
        let mut origin = RequestContext {
            connection: session.connection,
            operation: session.next_operation,
            message_id: message.id.value(),
            identity: Arc::clone(&session.identity),
            peer: Arc::clone(&session.peer),
            strength: session.strength,
            request: RequestKind::of(kind),
            channel: session.channel.clone(),
            critical_controls: ControlSet::NONE,
            dropped_controls: ControlSet::NONE,
            bound_version: session.bound_version,
            stop: StopFlag::default(),
            sequence: session.sequence.clone(),
            restriction: session.restriction.clone(),
            arrived_micros,
            received_micros,
            taken_micros: received_micros,
            tracked: None,
            responses: None,
            bound: None,
            pdu: None,
            verification: None,
        };
        session.next_operation += 1;
        if kind == Operation::Bind {
            begin_bind(session, out);
        }
        if message.id == MessageId::UNSOLICITED {
            encode_notice_of_disconnection(out, ResultCode::PROTOCOL_ERROR, "message ID is zero");
            return Started::Disconnect("message ID is zero");
        }
        match message.operation {
            Request::Unbind => {
                crate::outcome::log::unbind(&origin);
                unbind::tell_unbind(&configuration, &origin);
                self.scratch.shard.record_completed(kind);
                Started::Disconnect("")
            }
            Request::Abandon(target) => {
                abandon::abandon(session, &origin, target);
                unbind::tell_abandon(&configuration, &origin, target.value());
                self.scratch.shard.record_completed(kind);
                Started::Answered
            }
            _ if session.in_flight.contains_key(&origin.message_id) => {
                self.answer(&origin, kind, &RequestRefusal::MessageIdInUse.into(), out)
            }
            _ => self.start_controlled(session, &configuration, &mut origin, &message, pdu, out),
        }
    }

    /// Decodes the controls and dispatches.
    fn start_controlled(
        &mut self,
        session: &mut Session,
        configuration: &Arc<Configuration>,
        origin: &mut RequestContext,
        message: &RequestMessage<'_>,
        pdu: &[u8],
        out: &mut Vec<u8>,
    ) -> Started {
        let kind = message.operation.operation();
        if !crate::room::may_begin() {
            return self.answer(origin, kind, &RequestRefusal::NoMemory.into(), out);
        }
        let mut controls = match RequestControls::decode(
            &message.controls,
            &message.operation,
            &policy(configuration),
            &configuration.decode_limits,
        ) {
            Ok(controls) => controls,
            Err(fault) => {
                crate::outcome::log::request(configuration, &mut self.scratch.base, origin, &message.operation);
                return self.refuse_controls(session, configuration, origin, message, fault.into(), out);
            }
        };
        origin.tracked = controls
            .session_tracking
            .as_ref()
            .and_then(|control| crate::outcome::log::tracked(&control.value));
        crate::outcome::log::request(configuration, &mut self.scratch.base, origin, &message.operation);
        if kind == Operation::Bind {
            origin.identity = Arc::clone(&session.identity);
        }
        if !message.controls.is_empty() {
            origin.note_controls(&controls, &configuration.of_overlays.bound);
        }
        if let Request::Extended(request) = &message.operation {
            origin.request.extended = configuration.extended_operation(request.name).map(|row| row.oid);
        }
        if session.negotiation.is_some() && kind != Operation::Bind {
            return self.answer(origin, kind, &RequestRefusal::NegotiationUnderWay.into(), out);
        }
        if let Err(error) = crate::identity::proxied::authorize(configuration, origin, &controls) {
            return self.refuse_controls(session, configuration, origin, message, error, out);
        }
        if configuration.of_overlays.keeps_messages {
            origin.pdu = Some(pdu.into());
        }
        let mut call = Call {
            configuration,
            origin: &mut *origin,
            message,
            controls: &mut controls,
            pdu,
            entries: None,
        };
        if configuration.of_overlays.has_request_hooks {
            return self.pass(session, &mut call, 0, None, out);
        }
        self.begin_operation(session, &mut call, out)
    }

    /// Begins an operation that no overlay holds back.
    pub(super) fn begin_operation(
        &mut self,
        session: &mut Session,
        call: &mut Call<'_, '_>,
        out: &mut Vec<u8>,
    ) -> Started {
        if let Request::Search(request) = &call.message.operation {
            return self.start_search(session, call, request, out);
        }
        call.origin.stop = StopFlag::new();
        match self.dispatch(session, call, out) {
            Ok(started) => {
                if let Started::Submitted(_) = started {
                    let origin = &call.origin;
                    session.in_flight.insert(origin.message_id, origin.stop.clone());
                }
                started
            }
            Err(error) => self.answer(call.origin, call.kind(), &error, out),
        }
    }

    /// Answers a request whose controls are refused. As in slapd, the name of a search's base is parsed before the
    /// controls, and other names after them.
    fn refuse_controls(
        &mut self,
        session: &mut Session,
        configuration: &Configuration,
        origin: &RequestContext,
        message: &RequestMessage<'_>,
        mut error: OperationError,
        out: &mut Vec<u8>,
    ) -> Started {
        match &message.operation {
            Request::Search(request) if Dn::parse(&configuration.schema, request.base).is_err() => {
                error = SearchRefusal::InvalidBase.into();
            }
            // This bind has ended the SASL negotiation that was under way.
            Request::Bind(_) => session.negotiation = None,
            _ => {}
        }
        self.answer(origin, message.operation.operation(), &error, out)
    }

    /// Starts any operation except a search.
    fn dispatch(
        &mut self,
        session: &mut Session,
        call: &mut Call<'_, '_>,
        out: &mut Vec<u8>,
    ) -> Result<Started, OperationError> {
        let scratch = &mut self.scratch;
        match &call.message.operation {
            Request::Bind(request) => {
                bind::start(scratch, session, call.configuration, call.origin, request, out).map(Started::from)
            }
            Request::Compare(request) => {
                let code = match compare::compare(scratch, call, request)? {
                    Compared::Here(is_true) => respond::compared(is_true),
                    Compared::Elsewhere(begun) => return Ok(Started::from(begun)),
                };
                respond::code(out, call.origin.message_id, Operation::Compare, code);
                Ok(self.answered(call.origin, Outcome::new(Operation::Compare, code, "")))
            }
            Request::Extended(request) => extended::start(scratch, session, call, request, out).map(Started::from),
            Request::Add(_) | Request::Delete(_) | Request::Modify(_) | Request::ModifyDn(_) => {
                if let Some(control) = &call.controls.transaction {
                    let (identifier, kind) = (control.value.0, call.kind());
                    transaction::specify(&self.directory, session, call, &mut scratch.turn_left, identifier)?;
                    respond::code(out, call.origin.message_id, kind, ResultCode::SUCCESS);
                    return Ok(self.answered(call.origin, Outcome::new(kind, ResultCode::SUCCESS, "")));
                }
                submit::submit(&self.directory, call, &mut scratch.turn_left).map(Started::from)
            }
            Request::Search(_) | Request::Unbind | Request::Abandon(_) => Ok(Started::Answered),
        }
    }

    fn start_search(
        &mut self,
        session: &mut Session,
        call: &mut Call<'_, '_>,
        request: &SearchRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Started {
        let mut run = match self.spare_runs.pop() {
            Some(mut run) => {
                run.reset(call.origin, call.configuration);
                run
            }
            None => Box::new(SearchRun::new(call.origin.clone(), call.configuration)),
        };
        if let Err(error) = search::prepare(&mut self.scratch, &mut session.searches, &mut run, call, request, None) {
            let started = self.answer(&run.origin, Operation::Search, &error, out);
            run.extras = None;
            run.deferred = None;
            self.spare_runs.push(run);
            return started;
        }
        match self.slice(session, &mut run, out) {
            Progress::Done => {
                self.spare_runs.push(run);
                Started::Answered
            }
            Progress::More => {
                run.keep_request(call.pdu);
                run.origin.stop = StopFlag::new();
                session.in_flight.insert(run.origin.message_id, run.origin.stop.clone());
                Started::Search(run)
            }
        }
    }

    /// Continues a search for one slice, and appends to `out`. Hand over a search that [`SearchRun::is_long`]: its step
    /// here would have no limit.
    pub fn step(&mut self, session: &mut Session, run: &mut SearchRun, out: &mut Vec<u8>) -> Progress {
        self.scratch.turn_left = TURN_STEPS;
        self.scratch.refresh_snapshot();
        if let Err(error) = self.renew(session, run) {
            run.refuse(error, &mut self.scratch, out);
            self.conclude(session, run);
            return Progress::Done;
        }
        self.slice(session, run, out)
    }

    /// Aborts a transaction that keeps a closed database open between two requests. The client is told in `out`.
    pub fn let_go(&mut self, session: &mut Session, out: &mut Vec<u8>) {
        self.refresh();
        let current = &self.configuration;
        let is_outdated = |configuration: &Configuration| configuration.has_closed_under(current);
        if session.transaction.as_ref().is_some_and(|open| open.is_of(is_outdated)) {
            transaction::abort(session, out);
        }
    }

    /// Whether a search must end because it keeps a closed database open that is waited for. A search of another
    /// database goes on under the configuration that is in force.
    pub fn must_end(&mut self, session: &mut Session, run: &mut SearchRun) -> bool {
        self.directory.ends_searches_of_closed() && {
            self.refresh();
            run.configuration.has_closed_under(&self.configuration) && self.renew(session, run).is_err()
        }
    }

    /// Ends such a search with `unavailable`.
    pub fn end(&mut self, session: &mut Session, run: &mut SearchRun, out: &mut Vec<u8>) {
        run.refuse(ClusterRefusal::Replaced.into(), &mut self.scratch, out);
        self.conclude(session, run);
    }

    /// Call this before the reactor waits. It drops the snapshot, which would keep LMDB from reusing freed pages. It
    /// also drops a configuration that is no longer in force, so that its databases can be closed.
    pub fn rest(&mut self) {
        self.scratch.rest();
        self.refresh();
    }

    fn slice(&mut self, session: &mut Session, run: &mut SearchRun, out: &mut Vec<u8>) -> Progress {
        let progress = run.step(&mut self.scratch, out);
        if progress == Progress::Done {
            self.conclude(session, run);
        }
        progress
    }

    /// Ends a search.
    pub(super) fn conclude(&mut self, session: &mut Session, run: &mut SearchRun) {
        if run.origin.stop.can_stop() {
            session.conclude(run.origin.message_id, &run.origin.stop);
        }
        // What is put aside takes the tally with it.
        self.scratch.shard.record_sent(run.sent_now(), run.references);
        if !run.origin.stop.is_abandoned() {
            run.put_aside(&mut session.searches);
        }
        // A sorted search gives its place back when it ends, and not only when its memory is used again.
        run.extras = None;
        run.deferred = None;
        run.close_external();
    }

    /// Answers with a result, logs it, and counts it.
    pub(super) fn answer(
        &mut self,
        origin: &RequestContext,
        kind: Operation,
        error: &OperationError,
        out: &mut Vec<u8>,
    ) -> Started {
        respond::refusal(out, origin.message_id, kind, error);
        origin.sequence.refuse(origin.operation);
        self.answered(origin, Outcome::of_refusal(kind, error))
    }

    /// Logs and counts an operation whose response is in the output.
    pub(super) fn answered(&mut self, origin: &RequestContext, outcome: Outcome<'_>) -> Started {
        let slow = self.configuration.slow_micros();
        let now = record_end(&self.directory, &self.scratch.shard, slow, origin, outcome);
        self.scratch.ended_micros = Some(now);
        Started::Answered
    }

    fn refuse_undecodable(&self, session: &mut Session, error: &DecodeError, out: &mut Vec<u8>) -> Started {
        let fault = error.fault();
        session.sequence.refuse(session.next_operation);
        session.next_operation += 1;
        match error {
            DecodeError::Operation { id, operation, .. } if !fault.disconnect => {
                if *operation == Operation::Bind {
                    begin_bind(session, out);
                    session.negotiation = None;
                }
                respond::refusal(out, id.value(), *operation, &(*fault).into());
                self.scratch.shard.record_initiated(*operation);
                self.scratch.shard.record_result(*operation, fault.code, 0);
                Started::Answered
            }
            DecodeError::Operation { .. } | DecodeError::Envelope { .. } => {
                encode_notice_of_disconnection(out, fault.code, fault.diagnostic);
                Started::Disconnect(fault.diagnostic)
            }
        }
    }
}

/// A bind has come, whether it can be read or not.
fn begin_bind(session: &mut Session, out: &mut Vec<u8>) {
    session.begin_bind();
    transaction::abort(session, out);
}

impl RequestBatch<'_> {
    /// Begins one complete PDU. Appends to `out` what can be answered at once.
    pub fn start(&mut self, session: &mut Session, pdu: &[u8], out: &mut Vec<u8>) -> Started {
        let started = self.0.begin_or_answer_barely(session, pdu, out);
        let scratch = &mut self.0.scratch;
        scratch.turn_left = scratch.turn_left.saturating_sub(budget::cost_of_request(pdu));
        started
    }

    /// Looks up together what the searches at the front of `received` ask for: so none waits for memory while others
    /// could. This changes no answer. `limit`: the longest message in octets, as for [`ironbark_ldap_proto::frame`].
    /// Returns the number of messages that it has looked at, at least one: call it again after these.
    pub fn look_ahead(&mut self, received: &[u8], limit: usize) -> usize {
        let Worker {
            ahead,
            scratch,
            configuration,
            bare,
            ..
        } = &mut *self.0;
        if bare.is_some() {
            return 1;
        }
        ahead.look(scratch, configuration, received, limit)
    }

    /// Whether the batch has taken so long that other connections should come first.
    pub fn is_used_up(&self) -> bool {
        self.0.scratch.turn_left < TURN_STEPS / 2
    }

    /// Arrival of its messages in monotonic microseconds, for a later batch of the remaining ones.
    pub fn arrived_micros(&mut self) -> u64 {
        let Worker { directory, scratch, .. } = &mut *self.0;
        *scratch
            .arrived_micros
            .get_or_insert_with(|| directory.monotonic_micros())
    }
}
