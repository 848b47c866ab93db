//! The SASL negotiation of Verify Credentials. It lives with the connection, beside the connection's own, and there is
//! one at most: the next Verify Credentials request, bind or StartTLS of the connection ends it, unless it has the
//! cookie.

use std::sync::Arc;

use super::session::Session;
use crate::{request::context::Cookie, sasl::Negotiation};

/// A negotiation that waits for the client's next message.
pub(crate) struct KeptNegotiation {
    cookie: Cookie,
    negotiation: Box<Negotiation>,
}

impl KeptNegotiation {
    pub(crate) fn new(cookie: Cookie, negotiation: Box<Negotiation>) -> Self {
        Self { cookie, negotiation }
    }

    /// Its state, if that is its cookie.
    pub(crate) fn continued(self, cookie: &[u8]) -> Option<Box<Negotiation>> {
        (self.cookie == cookie).then_some(self.negotiation)
    }
}

impl Session {
    /// A fresh anonymous session from the same place, for a bind that gives this session nothing.
    pub(crate) fn aside(&self, negotiation: Option<Box<Negotiation>>) -> Self {
        let mut aside = Self::new(self.connection, Arc::clone(&self.peer));
        aside.strength = self.strength;
        aside.is_tls = self.is_tls;
        aside.channel.clone_from(&self.channel);
        aside.negotiation = negotiation;
        aside
    }
}
