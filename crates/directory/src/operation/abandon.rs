//! Abandon (RFC 4511 §4.11): asks an operation to end; there is no response.

use ironbark_ldap_proto::MessageId;

use crate::{identity::session::Session, request::context::RequestContext};

/// Stops the operation if it is still under way. A write that is executing already is not undone, but gets no response.
pub(crate) fn abandon(session: &mut Session, origin: &RequestContext, target: MessageId) {
    crate::outcome::log::abandon(origin, target);
    if let Some(flag) = session.in_flight.get(&target.value()) {
        flag.abandon();
    }
}
