//! The directory's view of one connection: its identity, and its source.

use std::{collections::HashMap, sync::Arc};

use super::verification::KeptNegotiation;
use crate::{
    request::{
        identity::{Identity, Peer, Strength, TlsChannel},
        stop::{Restriction, Sequence, StopFlag},
    },
    sasl::{Negotiation, SecurityLayer},
    search::OpenSearches,
    write::transaction::OpenTransaction,
};

/// The state of one connection between operations. Lives on the connection's reactor.
pub struct Session {
    /// `conn=` of the log, rising over the whole server.
    pub connection: u64,
    /// `op=` of the next operation.
    pub next_operation: u64,
    /// The peer.
    pub peer: Arc<Peer>,
    /// The identity of the connection.
    pub identity: Arc<Identity>,
    /// Protocol version of the last bind request, whether or not it succeeded; `None` before any.
    pub bound_version: Option<u8>,
    /// How well the connection is protected.
    pub strength: Strength,
    /// Whether TLS is spoken, or the handshake for it is under way.
    pub is_tls: bool,
    /// Facts from the TLS handshake.
    pub(crate) channel: Option<Arc<TlsChannel>>,
    /// A SASL negotiation that is not finished.
    pub(crate) negotiation: Option<Box<Negotiation>>,
    /// The one of Verify Credentials, which is beside the connection's own.
    pub(crate) verification: Option<KeptNegotiation>,
    /// The security layer that a bind has negotiated, until the connection uses it.
    layer: Option<Box<dyn SecurityLayer>>,
    /// Operations under way by message ID, for Abandon and Cancel.
    pub in_flight: HashMap<i32, StopFlag>,
    pub(crate) sequence: Sequence,
    pub(crate) restriction: Restriction,
    /// The transaction that the client has started.
    pub(crate) transaction: Option<Box<OpenTransaction>>,
    /// Searches that continue after their first request.
    pub(crate) searches: OpenSearches,
}

impl Session {
    /// Whether it keeps a transaction between requests.
    pub fn keeps_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// A fresh anonymous session.
    pub fn new(connection: u64, peer: Arc<Peer>) -> Self {
        Self {
            connection,
            next_operation: 0,
            peer,
            identity: Arc::default(),
            bound_version: None,
            strength: Strength::default(),
            is_tls: false,
            channel: None,
            negotiation: None,
            verification: None,
            layer: None,
            in_flight: HashMap::new(),
            sequence: Sequence::default(),
            restriction: Restriction::default(),
            transaction: None,
            searches: OpenSearches::default(),
        }
    }

    /// A TLS handshake has ended: sets the strength and the facts from the handshake.
    pub fn secured(&mut self, strength: u32, channel: TlsChannel) {
        self.is_tls = true;
        self.strength.tls = strength;
        self.strength.ssf = self.strength.ssf.max(strength);
        self.channel = Some(Arc::new(channel));
    }

    /// A bind has ended. Its layer, if any, protects everything after the bind's response; without a layer nothing
    /// changes (RFC 4422 §3.7).
    pub(crate) fn protect(&mut self, layer: Option<Box<dyn SecurityLayer>>) {
        let Some(layer) = layer else { return };
        self.strength.sasl = layer.strength();
        self.strength.ssf = self.strength.ssf.max(self.strength.sasl);
        self.layer = Some(layer);
    }

    /// Whether a security layer waits until the bind's response has been sent.
    pub fn has_layer_waiting(&self) -> bool {
        self.layer.is_some()
    }

    /// The security layer that waits.
    pub fn take_layer(&mut self) -> Option<Box<dyn SecurityLayer>> {
        self.layer.take()
    }

    /// From here on, no write of this session is executed after one that was refused: later ones are answered with
    /// `canceled`. For writes of one database, which are executed in the order in which they were begun.
    pub fn stop_at_refusal(&mut self) {
        self.sequence = Sequence::kept();
    }

    /// An operation has ended. If a bind abandoned it, another operation may have its message ID already.
    pub(crate) fn conclude(&mut self, message_id: i32, stop: &StopFlag) {
        if self.in_flight.get(&message_id).is_some_and(|flag| flag.is(stop)) {
            self.in_flight.remove(&message_id);
        }
    }

    /// A bind request has come. In any case, operations under way are abandoned, and the connection is anonymous until
    /// a bind succeeds (RFC 4511 §4.2.1). A SASL negotiation stays for the bind that continues it; one of Verify
    /// Credentials ends.
    pub(crate) fn begin_bind(&mut self) {
        self.stop_all();
        self.verification = None;
        self.identity = Arc::default();
        self.restriction = Restriction::default();
    }

    /// Stops everything under way: the connection is closing, or a bind changes its identity (RFC 4511 §4.2.1).
    pub fn stop_all(&mut self) {
        for (_, flag) in self.in_flight.drain() {
            flag.abandon();
        }
        self.searches.paged.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::stop::Stop;

    #[test]
    fn the_end_of_an_abandoned_operation_leaves_the_next_one_of_its_message_id() {
        let peer = Peer {
            name: "".into(),
            socket_name: "".into(),
            listener_url: "".into(),
            domain: None,
            address: None,
            credentials: None,
        };
        let mut session = Session::new(1, Arc::new(peer));
        let (first, second) = (StopFlag::new(), StopFlag::new());
        session.in_flight.insert(7, first.clone());
        session.stop_all();
        assert_eq!(first.stopped(), Some(Stop::Abandoned));
        session.in_flight.insert(7, second.clone());
        session.conclude(7, &first);
        assert_eq!(session.in_flight.len(), 1);
        session.conclude(7, &second);
        assert!(session.in_flight.is_empty());
    }
}
