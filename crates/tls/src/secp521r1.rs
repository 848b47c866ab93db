//! Key exchange over secp521r1 (RFC 8422). Our TLS library lacks it, OpenSSL has it.

use aws_lc_rs::{
    agreement::{ECDH_P521, EphemeralPrivateKey, PublicKey, UnparsedPublicKey, agree_ephemeral},
    rand::SystemRandom,
};
use rustls::{
    Error, NamedGroup, PeerMisbehaved,
    crypto::{ActiveKeyExchange, GetRandomFailed, SharedSecret, SupportedKxGroup},
};

/// The curve secp521r1.
pub(crate) static SECP521R1: &dyn SupportedKxGroup = &Secp521r1;

#[derive(Debug)]
struct Secp521r1;

/// An exchange that waits for the other side's key.
struct Begun {
    private: EphemeralPrivateKey,
    public: PublicKey,
}

/// The first octet of an uncompressed point. TLS allows no other form (RFC 8446 §4.2.8.2).
const UNCOMPRESSED: u8 = 4;

impl SupportedKxGroup for Secp521r1 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let private = EphemeralPrivateKey::generate(&ECDH_P521, &SystemRandom::new()).map_err(|_| GetRandomFailed)?;
        let public = private.compute_public_key().map_err(|_| GetRandomFailed)?;
        Ok(Box::new(Begun { private, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::secp521r1
    }
}

impl ActiveKeyExchange for Begun {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let refused = || Error::from(PeerMisbehaved::InvalidKeyShare);
        if peer.first() != Some(&UNCOMPRESSED) {
            return Err(refused());
        }
        // `agree_ephemeral` checks that the point lies on the curve.
        agree_ephemeral(
            self.private,
            UnparsedPublicKey::new(&ECDH_P521, peer),
            refused(),
            |secret| Ok(SharedSecret::from(secret)),
        )
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_ref()
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::secp521r1
    }
}
