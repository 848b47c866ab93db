//! Refusals of SASL mechanisms.

use ironbark_sasl::{digest_md5::DigestError, scram::ScramError};

refusals! {
    /// Why a negotiation fails, with the texts of Cyrus SASL's codes that slapd's clients know.
    pub(crate) enum SaslRefusal {
        /// The mechanism is not offered on this connection.
        NoMechanism => AUTH_METHOD_NOT_SUPPORTED, "SASL(-4): no mechanism available: ";
        /// The mechanism does not exist; its name as the client has written it.
        UnknownMechanism { name: String } => AUTH_METHOD_NOT_SUPPORTED,
            format!("SASL(-4): no mechanism available: Couldn't find mech {name}");
        /// The mechanism gives less protection than `sasl-secprops minssf` demands.
        TooWeak { mechanism: &'static str } => INAPPROPRIATE_AUTHENTICATION,
            format!("SASL(-15): mechanism too weak for this user: mech {mechanism} is too weak");
        /// The mechanism would reveal a password to anybody who listens.
        InTheClear => INAPPROPRIATE_AUTHENTICATION,
            "SASL(-16): encryption needed to use mechanism: security flags do not match required";
        /// A message that the mechanism does not allow.
        Malformed { reason: &'static str } => OTHER, format!("SASL(-5): bad protocol / cancel: {reason}");
        /// The proof is wrong. The answer does not reveal whether there is such a user, or the stored secrets.
        Unauthenticated => INVALID_CREDENTIALS, "SASL(-13): authentication failure";
        /// The client may not assume the requested authorization identity.
        Unauthorized => INSUFFICIENT_ACCESS_RIGHTS, "SASL(-14): authorization failure: not authorized";
        /// The certificate's subject cannot be read as a DN.
        InvalidSubject => INVALID_CREDENTIALS, "the certificate's subject is no name";
        /// The schema cannot name the client of a local socket.
        UnnamedPeer => OTHER, "the schema lacks uidNumber or gidNumber";
        /// There is no randomness.
        Failed => OTHER, "SASL(-1): generic failure";
    }
}

impl SaslRefusal {
    /// There is no mechanism of this name. The answer repeats it, if it can be the name of one (RFC 4422 §3.1).
    pub(crate) fn unknown(name: &[u8]) -> Self {
        match std::str::from_utf8(name) {
            Ok(name) if name.len() <= 20 && name.bytes().all(|octet| octet.is_ascii_graphic()) => {
                Self::UnknownMechanism { name: name.to_owned() }
            }
            _ => Self::NoMechanism,
        }
    }

    /// A message that the mechanism does not allow.
    pub(crate) fn malformed(reason: &'static str) -> Self {
        Self::Malformed { reason }
    }
}

impl From<ScramError> for SaslRefusal {
    fn from(error: ScramError) -> Self {
        Self::malformed(error.reason())
    }
}

impl From<DigestError> for SaslRefusal {
    fn from(error: DigestError) -> Self {
        Self::malformed(error.reason())
    }
}
