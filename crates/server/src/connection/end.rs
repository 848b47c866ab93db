//! How a connection ends: asked by the server, told by the client, or lost.

use std::task::Context;

use ironbark_ldap_proto::encode_notice_of_disconnection;
use ironbark_model::ResultCode;

use super::{CloseRequest, Connection, State};
use crate::reactor::Work;

impl Connection {
    /// Shutdown, idle and write timeouts.
    pub(super) fn obey_request(&mut self) {
        match self.handle.take_request() {
            None => {}
            Some(CloseRequest::Shutdown) if self.state == State::Open => {
                self.state = State::Draining;
                self.give_up_searches();
                self.input.clear();
            }
            Some(CloseRequest::Shutdown) => {}
            Some(CloseRequest::Idle) => self.lose("idletimeout"),
            Some(CloseRequest::WriteTimeout) => self.lose("writetimeout"),
            Some(CloseRequest::Overload) => self.lose("overload"),
        }
    }

    /// Says good-bye when the server ends and nothing is under way any more.
    pub(super) fn drain_if_asked(&mut self) {
        if self.state == State::Draining && self.submitted.is_empty() {
            self.notify(ResultCode::UNAVAILABLE, SHUTDOWN_REASON);
            self.close(SHUTDOWN_REASON);
        }
    }

    /// Whether everything that has to be sent is sent, or cannot be.
    pub(super) fn has_ended(&mut self, work: &mut Work, cx: &mut Context<'_>) -> bool {
        if let State::Closing(reason) = self.state
            && self.output.is_empty()
        {
            self.stream.finish(cx, &mut work.input);
            self.state = State::Closed(reason);
        }
        matches!(self.state, State::Closed(_))
    }

    /// Sends a notice of disconnection (RFC 4511 §4.4.1).
    pub(super) fn notify(&mut self, code: ResultCode, diagnostic: &str) {
        encode_notice_of_disconnection(self.output.buffer(), code, diagnostic);
        self.results += 1;
    }

    /// No more messages; what waits is sent.
    pub(super) fn close(&mut self, reason: &'static str) {
        if !matches!(self.state, State::Closed(_)) {
            self.state = State::Closing(reason);
            self.abandon();
        }
    }

    /// The client is gone, or is treated as such.
    pub(super) fn lose(&mut self, reason: &'static str) {
        self.state = State::Closed(reason);
        self.abandon();
    }

    /// Nothing of what is under way is answered.
    fn abandon(&mut self) {
        self.give_up_searches();
        self.input.clear();
        self.session.stop_all();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.session.stop_all();
        self.reactor.hold(&self.handle, 0);
        let (number, descriptor) = (self.status.number, self.stream.descriptor());
        match self.state {
            State::Closing("") | State::Closed("") => {
                tracing::info!(target: "stats", "conn={number} fd={descriptor} closed");
            }
            State::Closing(reason) | State::Closed(reason) => {
                tracing::info!(target: "stats", "conn={number} fd={descriptor} closed ({reason})");
            }
            // The reactor ends, and the client has not taken what it was sent.
            State::Open | State::Draining => {
                tracing::info!(target: "stats", "conn={number} fd={descriptor} closed ({SHUTDOWN_REASON})");
            }
        }
        self.reactor.forget(number);
    }
}

/// slapd's reason in the log, and the diagnostic of our notice of disconnection.
const SHUTDOWN_REASON: &str = "slapd shutdown";
