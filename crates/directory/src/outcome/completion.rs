//! How a begun operation continues, and how it ends on another thread.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::{
    request::{context::Verification, identity::Identity, stop::StopFlag},
    sasl::{Negotiation, SecurityLayer},
};

/// How an operation was begun.
pub(crate) enum Begun {
    /// The response is in the output.
    Answered,
    /// Continues elsewhere.
    Submitted(Submitted),
    /// StartTLS was answered with success.
    StartTls,
}

/// An operation that ends elsewhere.
pub struct Submitted {
    /// Receives the completion. A closed channel means that the server is shutting down.
    pub receiver: oneshot::Receiver<Completion>,
    /// Nothing else on the connection may begin before this has ended (a bind, a write that takes long to read).
    pub blocks_connection: bool,
}

/// The end of an operation that ran elsewhere.
#[derive(Debug)]
pub struct Completion {
    /// Message ID of the operation.
    pub(crate) message_id: i32,
    /// Identifies the operation among those with this message ID.
    pub(crate) stop: StopFlag,
    /// Encoded response.
    pub(crate) response: Vec<u8>,
    /// The connection's new identity, after a bind.
    pub(crate) identity: Option<Arc<Identity>>,
    /// The SASL negotiation after a step, if it continues.
    pub(crate) negotiation: Option<Box<Negotiation>>,
    /// The layer that protects the connection from here on, after a bind.
    pub(crate) layer: Option<Box<dyn SecurityLayer>>,
    /// The bind was beside the session: its identity and layer are not the connection's.
    pub(crate) verification: Option<Arc<Verification>>,
}
