//! GSSAPI (RFC 4752): Kerberos V5 by the system's library. A build feature, `gssapi`.
//!
//! The client is whose ticket is in the credential cache of the process (`KRB5CCNAME`), or whose key is in its client
//! key table (`KRB5_CLIENT_KTNAME`). As with Cyrus SASL, `authcid` and `credentials` do not matter. The server must
//! prove itself. No security layer is negotiated: a server that demands one is refused.

use libgssapi::{
    context::{ClientCtx, CtxFlags, SecurityContext as _},
    error::Error,
    name::Name,
    oid::{GSS_MECH_KRB5, GSS_NT_HOSTBASED_SERVICE},
};

use super::{Exchange, SaslFailure, no_data};
use crate::BindSettings;

pub(super) struct Gssapi {
    host: String,
    authorization: String,
    state: State,
}

enum State {
    /// The library has not been asked yet.
    New,
    /// The server's token is awaited.
    Establishing(ClientCtx),
    /// The server's offer of security layers is awaited.
    Established(ClientCtx),
    /// The choice is sent.
    Chosen,
}

/// The layer of RFC 4752 §3.3 that does nothing.
const NOTHING: u8 = 1;

impl Gssapi {
    /// The service is `ldap@<host>`.
    pub(super) fn new(settings: &BindSettings, host: &str) -> Self {
        Self {
            host: host.to_owned(),
            authorization: settings.authorization_id.clone(),
            state: State::New,
        }
    }

    fn context(&self) -> Result<ClientCtx, Error> {
        let service = format!("ldap@{}", self.host);
        let service = Name::new(service.as_bytes(), Some(GSS_NT_HOSTBASED_SERVICE))?;
        let flags = CtxFlags::GSS_C_MUTUAL_FLAG | CtxFlags::GSS_C_SEQUENCE_FLAG;
        Ok(ClientCtx::new(None, service, flags, Some(GSS_MECH_KRB5)))
    }

    /// The next token for the server, and the state after it.
    fn establish(mut context: ClientCtx, token: Option<&[u8]>) -> Result<(Vec<u8>, State), SaslFailure> {
        let token = context.step(token, None).map_err(failed)?;
        let token = token.map(|token| token.to_vec()).unwrap_or_default();
        if !context.is_complete() {
            return Ok((token, State::Establishing(context)));
        }
        if !context.flags().map_err(failed)?.contains(CtxFlags::GSS_C_MUTUAL_FLAG) {
            return Err(SaslFailure::new("the server does not prove itself"));
        }
        Ok((token, State::Established(context)))
    }

    /// Chooses no layer.
    fn choose(&self, mut context: ClientCtx, offer: &[u8]) -> Result<Vec<u8>, SaslFailure> {
        let offer = context.unwrap(offer).map_err(failed)?;
        let &[layers, _, _, _] = &offer[..] else {
            return Err(SaslFailure::new("the server's offer of security layers is malformed"));
        };
        if layers & NOTHING == 0 {
            return Err(SaslFailure::new("the server demands a security layer"));
        }
        let choice = [&[NOTHING, 0, 0, 0], self.authorization.as_bytes()].concat();
        Ok(context.wrap(false, &choice).map_err(failed)?.to_vec())
    }
}

impl Exchange for Gssapi {
    fn begin(&mut self) -> Result<Option<Vec<u8>>, SaslFailure> {
        let (token, state) = Self::establish(self.context().map_err(failed)?, None)?;
        self.state = state;
        Ok(Some(token))
    }

    fn step(&mut self, challenge: &[u8]) -> Result<Vec<u8>, SaslFailure> {
        match std::mem::replace(&mut self.state, State::New) {
            State::Establishing(context) => {
                let (token, state) = Self::establish(context, Some(challenge))?;
                self.state = state;
                Ok(token)
            }
            State::Established(context) => {
                let choice = self.choose(context, challenge)?;
                self.state = State::Chosen;
                Ok(choice)
            }
            State::New | State::Chosen => Err(SaslFailure::unexpected()),
        }
    }

    fn end(&mut self, last: Option<&[u8]>) -> Result<(), SaslFailure> {
        match self.state {
            State::Chosen => no_data(last),
            _ => Err(SaslFailure::new(
                "the server accepts the bind before the negotiation has ended",
            )),
        }
    }
}

fn failed(error: Error) -> SaslFailure {
    SaslFailure::new(error.to_string())
}
