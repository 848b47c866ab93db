//! The request context: the requester, the time, the request. It accompanies an operation on all threads.

use std::sync::Arc;

use ironbark_config::Operations;
use ironbark_ldap_proto::{
    Operation,
    controls::{ControlKind, ControlSet, RequestControls},
};
use ironbark_model::Dn;
use ironbark_runtime::Claimant;

use super::{
    bound::BoundControls,
    identity::{ConnectionSource, Identity, Peer, Strength, TlsChannel},
    responses::Responses,
    stop::{Restriction, Sequence, StopFlag},
};

/// The requester and the time: facts that an operation carries from its connection to the place of its execution.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// `conn=` of the log.
    pub connection: u64,
    /// `op=` of the log.
    pub operation: u64,
    /// Message ID.
    pub message_id: i32,
    /// Authorization identity at the time of the request, after proxied authorization.
    pub identity: Arc<Identity>,
    /// The peer.
    pub peer: Arc<Peer>,
    /// How well the connection is protected.
    pub strength: Strength,
    /// The operation, with its controls.
    pub request: RequestKind,
    /// Facts from the TLS handshake.
    pub(crate) channel: Option<Arc<TlsChannel>>,
    /// The critical ones among its controls.
    pub(crate) critical_controls: ControlSet,
    /// Controls of the request that are ignored (`restrictop`); they are not in `request`.
    pub(crate) dropped_controls: ControlSet,
    /// Protocol version of the connection's last bind request; `None` before any.
    pub bound_version: Option<u8>,
    /// Set by Abandon, Cancel or the end of the connection.
    pub stop: StopFlag,
    pub(crate) sequence: Sequence,
    pub(crate) restriction: Restriction,
    /// Monotonic microseconds when the PDU was complete, for the log.
    pub arrived_micros: u64,
    /// When it was begun: everything before it on its connection had been answered. Time limits count from here.
    pub received_micros: u64,
    /// When it was its turn: a write waits for others before it is executed.
    pub taken_micros: u64,
    /// Text that the session tracking control adds to the lines of the log.
    pub(crate) tracked: Option<Box<str>>,
    /// Overlays that are told of the responses, once the database of the request has admitted it.
    pub(crate) responses: Option<Arc<Responses>>,
    /// What overlays answer a successful bind with, if the request has controls that only overlays know.
    pub(crate) bound: Option<Arc<BoundControls>>,
    /// The message as it came in, if an overlay that hears of its result may want it.
    pub(crate) pdu: Option<Arc<[u8]>>,
    /// Of a bind beside the session of its connection: what it is for.
    pub(crate) verification: Option<Arc<Verification>>,
}

/// A Verify Credentials operation whose bind is under way. Whatever that bind ends with, the connection keeps its
/// identity.
#[derive(Debug)]
pub(crate) struct Verification {
    /// The operation, whose answer has the bind's.
    pub(crate) origin: RequestContext,
    /// Names the SASL negotiation that the bind may leave unfinished.
    pub(crate) cookie: Cookie,
}

/// Names the SASL negotiation of a connection that its next Verify Credentials request continues.
pub(crate) type Cookie = [u8; 16];

impl RequestContext {
    /// A request of the server itself, in the name of a rootdn. No connection has sent it.
    pub(crate) fn of_server(root_dn: Dn) -> Self {
        let peer = Peer {
            name: "".into(),
            socket_name: "".into(),
            listener_url: "".into(),
            domain: None,
            address: None,
            credentials: None,
        };
        Self {
            connection: u64::MAX,
            operation: 0,
            message_id: 0,
            identity: Arc::new(Identity {
                dn: root_dn,
                ..Identity::default()
            }),
            peer: Arc::new(peer),
            strength: Strength::default(),
            request: RequestKind::of(Operation::Modify),
            channel: None,
            critical_controls: ControlSet::NONE,
            dropped_controls: ControlSet::NONE,
            bound_version: None,
            stop: StopFlag::default(),
            sequence: Sequence::default(),
            restriction: Restriction::default(),
            arrived_micros: 0,
            received_micros: 0,
            taken_micros: 0,
            tracked: None,
            responses: None,
            bound: None,
            pdu: None,
            verification: None,
        }
    }

    /// The message as it came in, if an overlay [asks for messages](crate::overlay::ResponseHooks::takes_messages).
    pub fn message(&self) -> Option<&[u8]> {
        self.pdu.as_deref()
    }

    /// Who takes turns with others for it.
    pub(crate) fn claimant(&self) -> Claimant<ConnectionSource> {
        Claimant {
            source: self.peer.source(),
            connection: self.connection,
        }
    }

    /// Whether a control came with the request.
    pub fn has_control(&self, kind: ControlKind) -> bool {
        self.request.controls.contains(kind)
    }

    /// Notes the controls of the request. `bound` is what overlays answer binds with.
    pub(crate) fn note_controls(&mut self, controls: &RequestControls<'_>, bound: &Arc<BoundControls>) {
        self.request.controls = controls.present();
        self.critical_controls = controls.critical();
        self.bound = (!controls.of_overlays.is_empty()).then(|| Arc::clone(bound));
    }

    /// From here on these controls count as not sent.
    pub(crate) fn drop_controls(&mut self, dropped: ControlSet) {
        self.dropped_controls = dropped;
        self.request.controls = self.request.controls.minus(dropped);
    }

    /// Whether the connection may only change its password.
    pub fn is_restricted(&self) -> bool {
        self.restriction.holds()
    }

    /// Whether the connection may only change the password of this account, as which it has bound.
    pub fn is_restricted_to(&self, account: &Dn) -> bool {
        self.restriction.holds_for(account)
    }
}

/// The requested operation, and its controls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RequestKind {
    /// The operation.
    pub operation: Operations,
    /// OID of an extended operation, if it is known.
    pub extended: Option<&'static str>,
    /// Controls of the request that are in effect.
    pub controls: ControlSet,
}

impl RequestKind {
    /// An operation without controls.
    pub(crate) fn of(operation: Operation) -> Self {
        let operation = match operation {
            Operation::Bind => Operations::BIND,
            Operation::Search => Operations::SEARCH,
            Operation::Modify => Operations::MODIFY,
            Operation::Add => Operations::ADD,
            Operation::Delete => Operations::DELETE,
            Operation::ModifyDn => Operations::RENAME,
            Operation::Compare => Operations::COMPARE,
            Operation::Extended => Operations::EXTENDED,
            Operation::Unbind | Operation::Abandon => Operations::default(),
        };
        Self {
            operation,
            extended: None,
            controls: ControlSet::NONE,
        }
    }
}
