//! Keys that sign: new RSA keys, and the key of the authority, which may be another one.

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der},
    rand::SystemRandom,
    rsa::{KeyPair as RsaKeyPair, KeySize},
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
        RSA_PKCS1_SHA256,
    },
};

use super::der::{self, Der};

/// A private key.
pub(super) enum Key {
    Rsa(Box<RsaKeyPair>),
    /// With the OID of its signatures.
    Ecdsa(Box<EcdsaKeyPair>, &'static str),
    Ed25519(Box<Ed25519KeyPair>),
}

/// A key or a signature cannot be made.
#[derive(Debug)]
pub(super) struct Failed;

/// The size of key that is made for a configured number of bits; `None`: it is too small or too large.
pub(super) fn bits_of(bits: u32) -> Option<KeySize> {
    match bits {
        512..=2048 => Some(KeySize::Rsa2048),
        2049..=3072 => Some(KeySize::Rsa3072),
        3073..=4096 => Some(KeySize::Rsa4096),
        4097..=8192 => Some(KeySize::Rsa8192),
        _ => None,
    }
}

impl Key {
    /// A new RSA key. This takes long.
    pub(super) fn generate(bits: u32) -> Result<Self, Failed> {
        let size = bits_of(bits).ok_or(Failed)?;
        let pair = RsaKeyPair::generate(size).map_err(|_| Failed)?;
        Ok(Self::Rsa(Box::new(pair)))
    }

    /// A key in PKCS #8: RSA, ECDSA on P-256 or P-384, Ed25519. `None`: it is none of these.
    pub(super) fn from_pkcs8(pkcs8: &[u8]) -> Option<Self> {
        if let Ok(pair) = RsaKeyPair::from_pkcs8(pkcs8) {
            return Some(Self::Rsa(Box::new(pair)));
        }
        for (algorithm, oid) in [
            (&ECDSA_P256_SHA256_ASN1_SIGNING, "1.2.840.10045.4.3.2"),
            (&ECDSA_P384_SHA384_ASN1_SIGNING, "1.2.840.10045.4.3.3"),
        ] {
            if let Ok(pair) = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8) {
                return Some(Self::Ecdsa(Box::new(pair), oid));
            }
        }
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8).ok()?;
        Some(Self::Ed25519(Box::new(pair)))
    }

    /// PKCS #8 of a key that was made here.
    pub(super) fn pkcs8(&self) -> Result<Vec<u8>, Failed> {
        match self {
            Self::Rsa(pair) => {
                let der: Pkcs8V1Der<'static> = pair.as_der().map_err(|_| Failed)?;
                Ok(der.as_ref().to_vec())
            }
            Self::Ecdsa(..) | Self::Ed25519(_) => Err(Failed),
        }
    }

    /// The public key as certificates hold it (SubjectPublicKeyInfo).
    pub(super) fn public(&self) -> Result<Vec<u8>, Failed> {
        let der: PublicKeyX509Der<'_> = match self {
            Self::Rsa(pair) => pair.public_key().as_der(),
            Self::Ecdsa(pair, _) => pair.public_key().as_der(),
            Self::Ed25519(pair) => pair.public_key().as_der(),
        }
        .map_err(|_| Failed)?;
        Ok(der.as_ref().to_vec())
    }

    /// Appends the AlgorithmIdentifier of its signatures.
    pub(super) fn put_algorithm(&self, der: &mut Der<'_>) {
        der::sequence(der, |der| match self {
            Self::Rsa(_) => {
                der::oid(der, "1.2.840.113549.1.1.11");
                der.element(ironbark_ber::tags::NULL, &[]);
            }
            Self::Ecdsa(_, oid) => der::oid(der, oid),
            Self::Ed25519(_) => der::oid(der, "1.3.101.112"),
        });
    }

    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Failed> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                let signed = pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature);
                signed.map(|()| signature).map_err(|_| Failed)
            }
            Self::Ecdsa(pair, _) => {
                let signature = pair.sign(&random, message).map_err(|_| Failed)?;
                Ok(signature.as_ref().to_vec())
            }
            Self::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
        }
    }
}
