//! What the directory knows of one connection: who it speaks for, and where it comes from.

use core::net::IpAddr;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering},
};

use ironbark_model::Dn;
use rustc_hash::FxHashMap;

use crate::{
    bind_failures::SourceAddress,
    sasl::{Negotiation, SecurityLayer},
};

/// The peer of a connection, as the access log and access rules name it.
#[derive(Clone, Debug)]
pub struct Peer {
    /// `IP=127.0.0.1:12345` or `PATH=/run/ldapi`, as slapd's log prints it.
    pub name: Box<str>,
    /// Our side, in the same form.
    pub socket_name: Box<str>,
    /// The listener's URL.
    pub listener_url: Box<str>,
    /// Its name in lower case as `reverse-lookup` finds it, else `unknown`; `local` on a local socket. `None` where nobody has connected.
    pub domain: Option<Box<str>>,
    /// Address, for ldap://.
    pub address: Option<IpAddr>,
    /// User and group of the process, for ldapi://.
    pub credentials: Option<(u32, u32)>,
}

/// Where connections come from that are to take turns with others: what one user or customer has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// By the network.
    Address(SourceAddress),
    /// By the local socket: the user of the process.
    User(u32),
    /// By no socket.
    Unknown,
}

impl Peer {
    /// Where it comes from.
    pub fn source(&self) -> Source {
        match (self.address, self.credentials) {
            (Some(address), _) => Source::Address(SourceAddress::from(address)),
            (None, Some((user, _))) => Source::User(user),
            (None, None) => Source::Unknown,
        }
    }
}

/// Security strength factors, as `security` and access rules use them: about the length of keys in bits, 1 for integrity alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Strength {
    /// The highest of the others.
    pub ssf: u32,
    /// Of the socket: `localSSF` for ldapi://.
    pub transport: u32,
    /// Of TLS.
    pub tls: u32,
    /// Of a SASL security layer.
    pub sasl: u32,
}

impl Strength {
    /// Of a connection that its socket alone protects.
    pub fn of_transport(transport: u32) -> Self {
        Self {
            ssf: transport,
            transport,
            ..Self::default()
        }
    }
}

/// The authorization identity of a connection (RFC 4513 §4). Immutable: a bind replaces it.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Authorization DN; the root DN for anonymous.
    pub dn: Dn,
    /// The identity that authenticated, when it acts for another one, `dn`.
    pub authentication_dn: Option<Dn>,
    /// The SASL mechanism by which it authenticated.
    pub mechanism: Option<&'static str>,
}

/// What a TLS handshake has told.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TlsChannel {
    /// DER of the subject of the client's certificate, if it has shown one that is trusted.
    pub subject: Option<Vec<u8>>,
    /// Channel binding tls-server-end-point (RFC 5929 §4): the hash of our certificate.
    pub endpoint: Option<Vec<u8>>,
    /// Channel binding tls-exporter (RFC 9266).
    pub exporter: Option<[u8; 32]>,
}

impl Identity {
    /// Whether no one has bound.
    pub fn is_anonymous(&self) -> bool {
        self.dn.depth() == 0
    }
}

/// Writes of which none is executed behind one that was refused: a file of changes that ends at its first error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequence(Option<Arc<AtomicU64>>);

impl Sequence {
    /// Whether writes have to be executed in their order.
    pub(crate) fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// An operation was refused.
    pub(crate) fn refuse(&self, operation: u64) {
        if let Some(first) = &self.0 {
            first.fetch_min(operation, Ordering::AcqRel);
        }
    }

    /// Whether an operation before this one was refused.
    pub(crate) fn has_ended_before(&self, operation: u64) -> bool {
        let first = self.0.as_ref().map(|first| first.load(Ordering::Acquire));
        first.is_some_and(|first| operation > first)
    }
}

/// Set while a connection may do no more than change its password, as the password policy wants it. Each bind begins with a new one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Restriction(Option<Arc<AtomicBool>>);

impl Restriction {
    /// One that can be set.
    pub(crate) fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Whether only the password may be changed.
    pub(crate) fn holds(&self) -> bool {
        self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Acquire))
    }

    /// Restricts the connection, or lets it go.
    pub(crate) fn set(&self, holds: bool) {
        if let Some(flag) = &self.0 {
            flag.store(holds, Ordering::Release);
        }
    }
}

/// Lets one operation be given up: Abandon, Cancel, a closed connection, shutdown.
///
/// The default is that of an operation that ends before anybody could ask: it cannot be stopped, and takes no memory.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Option<Arc<AtomicU8>>);

/// Why an operation was asked to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// There is to be no response (RFC 4511 §4.11).
    Abandoned,
    /// The response is `canceled` (RFC 3909).
    Canceled,
}

/// How a request to cancel an operation ended (RFC 3909 §2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancellation {
    /// The operation will be answered with `canceled`.
    Accepted,
    /// It was given up before.
    Already,
    /// It goes on to its end.
    TooLate,
}

impl StopFlag {
    /// For an operation that others will be heard beside.
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Gives the operation up, whatever it is at: even one that goes on is answered with nothing.
    pub fn abandon(&self) {
        if let Some(flag) = &self.0 {
            flag.store(ABANDONED, Ordering::Release);
        }
    }

    /// Asks the operation to end with `canceled`.
    pub fn cancel(&self) -> Cancellation {
        let Some(flag) = &self.0 else {
            return Cancellation::TooLate;
        };
        match flag.compare_exchange(RUNNING, CANCELED, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Cancellation::Accepted,
            Err(EXECUTING) => Cancellation::TooLate,
            Err(_) => Cancellation::Already,
        }
    }

    /// From here on the operation can no longer be canceled; false if it has been stopped. May be called again.
    pub fn begin(&self) -> bool {
        let Some(flag) = &self.0 else { return true };
        let begun = flag.compare_exchange(RUNNING, EXECUTING, Ordering::AcqRel, Ordering::Acquire);
        matches!(begun, Ok(_) | Err(EXECUTING))
    }

    /// Whether the operation can be asked to end.
    pub fn can_stop(&self) -> bool {
        self.0.is_some()
    }

    /// Whether both are of one operation.
    fn is(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(flag), Some(other)) => Arc::ptr_eq(flag, other),
            _ => false,
        }
    }

    /// Whether and why the operation was asked to end.
    pub fn stopped(&self) -> Option<Stop> {
        match self.0.as_ref()?.load(Ordering::Acquire) {
            ABANDONED => Some(Stop::Abandoned),
            CANCELED => Some(Stop::Canceled),
            _ => None,
        }
    }
}

const RUNNING: u8 = 0;
const ABANDONED: u8 = 1;
const CANCELED: u8 = 2;
/// Past the point from which it can be canceled.
const EXECUTING: u8 = 3;

/// The state of one connection between operations. Lives on the connection's reactor.
pub struct Session {
    /// `conn=` of the log, rising over the whole server.
    pub connection: u64,
    /// `op=` of the next operation.
    pub next_operation: u64,
    /// The peer.
    pub peer: Arc<Peer>,
    /// Who the connection speaks for.
    pub identity: Arc<Identity>,
    /// Protocol version of the last bind request, whether or not it succeeded; `None` before any.
    pub bound_version: Option<u8>,
    /// How well the connection is protected.
    pub strength: Strength,
    /// Whether TLS is spoken, or the handshake for it is under way.
    pub is_tls: bool,
    /// What the TLS handshake has told.
    pub(crate) channel: Option<Arc<TlsChannel>>,
    /// A SASL negotiation that is not finished.
    pub(crate) negotiation: Option<Box<Negotiation>>,
    /// What a bind has agreed upon, until the connection uses it.
    layer: Option<Box<dyn SecurityLayer>>,
    /// Operations under way by message ID, for Abandon and Cancel.
    pub in_flight: FxHashMap<i32, StopFlag>,
    pub(crate) sequence: Sequence,
    pub(crate) restriction: Restriction,
    /// Paged searches under way (RFC 2696), most recent last.
    pub(crate) paged: Vec<crate::search::PagedCursor>,
    /// Sorted searches under way, as far as `sssvlv-maxperconn` counts them.
    pub(crate) sorts: Option<Arc<AtomicU32>>,
}

impl Session {
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
            layer: None,
            in_flight: FxHashMap::default(),
            sequence: Sequence::default(),
            restriction: Restriction::default(),
            paged: Vec::new(),
            sorts: None,
        }
    }

    /// A TLS handshake has ended: its strength, and what else it has told.
    pub fn secured(&mut self, strength: u32, channel: TlsChannel) {
        self.is_tls = true;
        self.strength.tls = strength;
        self.strength.ssf = self.strength.ssf.max(strength);
        self.channel = Some(Arc::new(channel));
    }

    /// A bind has ended. A layer that it brings protects what follows its answer; without one everything stays as it is (RFC 4422 §3.7).
    pub(crate) fn protect(&mut self, layer: Option<Box<dyn SecurityLayer>>) {
        let Some(layer) = layer else { return };
        self.strength.sasl = layer.strength();
        self.strength.ssf = self.strength.ssf.max(self.strength.sasl);
        self.layer = Some(layer);
    }

    /// Whether a security layer waits until the answer to its bind has left.
    pub fn has_layer_waiting(&self) -> bool {
        self.layer.is_some()
    }

    /// The security layer that waits.
    pub fn take_layer(&mut self) -> Option<Box<dyn SecurityLayer>> {
        self.layer.take()
    }

    /// From here on no write of this session is executed behind one that was refused: it is answered with `canceled`. For writes of one
    /// database, which are executed in the order in which they were begun.
    pub fn stop_at_refusal(&mut self) {
        self.sequence = Sequence(Some(Arc::new(AtomicU64::new(u64::MAX))));
    }

    /// An operation has ended. One that a bind gave up may end when another has its message ID already.
    pub(crate) fn ended(&mut self, message_id: i32, stop: &StopFlag) {
        if self.in_flight.get(&message_id).is_some_and(|flag| flag.is(stop)) {
            self.in_flight.remove(&message_id);
        }
    }

    /// A bind request has come. Whatever becomes of it, what is under way is given up, and the connection speaks for nobody until a bind
    /// succeeds (RFC 4511 §4.2.1). A SASL negotiation stays for the bind that goes on with it.
    pub(crate) fn begin_bind(&mut self) {
        self.stop_all();
        self.identity = Arc::default();
        self.restriction = Restriction::default();
    }

    /// Stops everything under way: the connection is closing, or a bind changes who it speaks for (RFC 4511 §4.2.1).
    pub fn stop_all(&mut self) {
        for (_, flag) in self.in_flight.drain() {
            flag.abandon();
        }
        self.paged.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        session.ended(7, &first);
        assert_eq!(session.in_flight.len(), 1);
        session.ended(7, &second);
        assert!(session.in_flight.is_empty());
    }
}
