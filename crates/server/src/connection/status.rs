//! The state of a connection for the rest of the server: timeouts, shutdown and cn=Monitor.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering},
};

use ironbark_directory::{ConnectionSource, Identity, Peer};
use ironbark_model::number_map::NumberMap;
use ironbark_runtime::Claimant;

/// Facts of one connection. Only its reactor writes them; everybody may read them.
#[derive(Debug)]
pub(crate) struct Status {
    /// `conn=` of the log.
    pub(crate) number: u64,
    /// The peer.
    pub(crate) peer: Arc<Peer>,
    /// Seconds since 1970.
    pub(crate) started: i64,
    /// Seconds since 1970 of the last message or response.
    pub(crate) active: AtomicI64,
    /// Messages started.
    pub(crate) received: AtomicU64,
    /// Operations under way.
    pub(crate) executing: AtomicU32,
    /// Whether a limit holds back received messages.
    pub(crate) pending: AtomicBool,
    /// Reads that returned bytes.
    pub(crate) reads: AtomicU64,
    /// Number of times that the socket took less than it was given.
    pub(crate) write_waits: AtomicU64,
    /// Whether output waits for the client to read.
    pub(crate) is_writing: AtomicBool,
    /// Protocol version of the last bind request; 0 before any.
    pub(crate) protocol: AtomicU8,
    /// The identity of the connection; `None`: anonymous.
    pub(crate) identity: Mutex<Option<Arc<Identity>>>,
}

impl Status {
    pub(crate) fn new(number: u64, peer: Arc<Peer>, started: i64) -> Self {
        Self {
            number,
            peer,
            started,
            active: AtomicI64::new(started),
            received: AtomicU64::new(0),
            executing: AtomicU32::new(0),
            pending: AtomicBool::new(false),
            reads: AtomicU64::new(0),
            write_waits: AtomicU64::new(0),
            is_writing: AtomicBool::new(false),
            protocol: AtomicU8::new(0),
            identity: Mutex::new(None),
        }
    }

    /// The connection's identity where work takes turns.
    pub(crate) fn claimant(&self) -> Claimant<ConnectionSource> {
        Claimant {
            source: self.peer.source(),
            connection: self.number,
        }
    }

    /// Whether the connection has an identity.
    pub(crate) fn has_identity(&self) -> bool {
        self.identity.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Takes over the session's identity.
    pub(crate) fn set_identity(&self, identity: &Arc<Identity>) {
        let mut known = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        if identity.is_anonymous() {
            *known = None;
        } else if !known.as_ref().is_some_and(|known| Arc::ptr_eq(known, identity)) {
            *known = Some(Arc::clone(identity));
        }
    }

    /// Name of the identity, in the form of cn=Monitor.
    pub(crate) fn authorization_name(&self) -> Option<String> {
        let identity = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        identity.as_ref().map(|identity| identity.dn.pretty().to_owned())
    }
}

/// Adds one without the cost of an atomic addition. Only the connection's reactor may call this.
pub(crate) fn increment(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// The open connections of one reactor.
#[derive(Debug, Default)]
pub(crate) struct Registry(Mutex<NumberMap<Arc<Status>>>);

impl Registry {
    pub(crate) fn insert(&self, status: Arc<Status>) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(status.number, status);
    }

    pub(crate) fn remove(&self, number: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
    }

    /// The connections that are open now, in no order.
    pub(crate) fn all(&self) -> Vec<Arc<Status>> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .map(Arc::clone)
            .collect()
    }
}
