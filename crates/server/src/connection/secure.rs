//! TLS and SASL security layers on a connection: their begin, and its consequences.

use std::io;

use super::{Connection, State};

impl Connection {
    /// Begins the handshake after the answer to StartTLS has left.
    pub(super) fn begin_tls(&mut self) {
        if !self.starts_tls || !self.output.is_empty() || self.state != State::Open {
            return;
        }
        self.starts_tls = false;
        if !self.input.is_empty() {
            // The client has not waited for the answer, or an attacker has injected bytes. They must not count as
            // protected.
            self.lose("TLS negotiation failure");
            return;
        }
        match self.reactor.tls().context() {
            Some(context) => self.stream.start_tls(context, self.status.claimant()),
            None => self.lose("TLS negotiation failure"),
        }
    }

    /// Takes over the facts of a finished handshake.
    pub(super) fn secure(&mut self) {
        let Some(established) = self.stream.take_established() else {
            return;
        };
        self.session.secured(established.strength, established.channel);
        let (number, descriptor) = (self.status.number, self.stream.descriptor());
        tracing::info!(
            target: "stats",
            "conn={number} fd={descriptor} TLS established tls_ssf={} ssf={} tls_proto={} tls_cipher={}",
            established.strength,
            self.session.strength.ssf,
            established.protocol,
            established.cipher,
        );
    }

    /// Installs the security layer of a bind after its answer has left.
    pub(super) fn begin_layer(&mut self) {
        if !self.output.is_empty() || self.state != State::Open {
            return;
        }
        let Some(layer) = self.session.take_layer() else {
            return;
        };
        if self.input.is_empty() {
            self.stream.protect(layer);
        } else {
            // The same reason as with StartTLS.
            self.lose("SASL negotiation failure");
        }
    }

    pub(super) fn lose_handshake(&mut self, error: &io::Error) {
        let (number, descriptor) = (self.status.number, self.stream.descriptor());
        tracing::debug!(target: "trace", "conn={number} fd={descriptor} TLS accept failure: {error}");
        self.lose("TLS negotiation failure");
    }
}
