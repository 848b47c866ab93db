//! The end of a connection: the server asks for it, the client unbinds, or the connection is lost.

use std::task::Context;

use ironbark_ldap_proto::encode_notice_of_disconnection;
use ironbark_model::ResultCode;

use super::{CloseRequest, Connection, State};
use crate::reactor::Work;

impl Connection {
    /// Obeys a request to close: shutdown, idle timeout, write timeout, suspension, overload.
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
            Some(CloseRequest::Suspended) => self.lose("dropping"),
            Some(CloseRequest::Overload) => self.lose("overload"),
        }
    }

    /// Sends a notice of disconnection when the server is ending and nothing is under way any more.
    pub(super) fn drain_if_asked(&mut self) {
        if self.state == State::Draining && self.submitted.is_empty() {
            self.notify(ResultCode::UNAVAILABLE, SHUTDOWN_REASON);
            self.close(SHUTDOWN_REASON);
        }
    }

    /// Whether everything has been sent, or can no longer be sent.
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

    /// Takes no more messages; what waits is still sent.
    pub(super) fn close(&mut self, reason: &'static str) {
        if !matches!(self.state, State::Closed(_)) {
            self.state = State::Closing(reason);
            self.abandon();
        }
    }

    /// Ends the connection at once: the client is gone, or is treated as gone.
    pub(super) fn lose(&mut self, reason: &'static str) {
        self.state = State::Closed(reason);
        self.abandon();
    }

    /// Ends everything under way without an answer.
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
            // The reactor ends, and the client has not read all of its output.
            State::Open | State::Draining => {
                tracing::info!(target: "stats", "conn={number} fd={descriptor} closed ({SHUTDOWN_REASON})");
            }
        }
        self.reactor.forget(number);
    }
}

/// slapd's reason in the log. It is also the diagnostic of our notice of disconnection.
const SHUTDOWN_REASON: &str = "slapd shutdown";
