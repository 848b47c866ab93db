//! TLS and SASL security layers on a connection: when they begin, and what follows from them.

use std::io;

use super::{Connection, State};

impl Connection {
    /// Begins the handshake once the answer to StartTLS has left.
    pub(super) fn begin_tls(&mut self) {
        if !self.starts_tls || !self.output.is_empty() || self.state != State::Open {
            return;
        }
        self.starts_tls = false;
        if !self.input.is_empty() {
            // Whoever does not wait for the answer, or has put words into the client's mouth: none of it may count as
            // protected.
            self.lose("TLS negotiation failure");
            return;
        }
        match self.reactor.tls().context() {
            Some(context) => self.stream.start_tls(context, self.status.claimant()),
            None => self.lose("TLS negotiation failure"),
        }
    }

    /// Takes note of a handshake that has ended.
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

    /// Uses the security layer of a bind once its answer has left.
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
            // As with StartTLS.
            self.lose("SASL negotiation failure");
        }
    }

    pub(super) fn lose_handshake(&mut self, error: &io::Error) {
        let (number, descriptor) = (self.status.number, self.stream.descriptor());
        tracing::debug!(target: "trace", "conn={number} fd={descriptor} TLS accept failure: {error}");
        self.lose("TLS negotiation failure");
    }
}
