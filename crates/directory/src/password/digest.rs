//! Plain and salted message digests: base64 of digest, then salt.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use smallvec::SmallVec;
use subtle::ConstantTimeEq as _;

use super::encoding::decode_base64;

/// The digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// 16 octets.
    Md5,
    /// 20 octets.
    Sha1,
    /// 32 octets.
    Sha256,
    /// 48 octets.
    Sha384,
    /// 64 octets.
    Sha512,
}

/// Whether a salt follows the digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Salting {
    /// No salt.
    Plain,
    /// Any number of salt octets.
    Salted,
}

/// Salt octets of new hashes, as slapd's.
const NEW_SALT_LENGTH: usize = 8;

impl Algorithm {
    const fn length(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    fn digest(self, password: &[u8], salt: &[u8]) -> SmallVec<[u8; 64]> {
        fn run<D: sha2::Digest>(password: &[u8], salt: &[u8]) -> SmallVec<[u8; 64]> {
            SmallVec::from_slice(&D::new().chain_update(password).chain_update(salt).finalize())
        }
        match self {
            Self::Md5 => run::<md5::Md5>(password, salt),
            Self::Sha1 => run::<sha1::Sha1>(password, salt),
            Self::Sha256 => run::<sha2::Sha256>(password, salt),
            Self::Sha384 => run::<sha2::Sha384>(password, salt),
            Self::Sha512 => run::<sha2::Sha512>(password, salt),
        }
    }
}

pub(super) fn verify(algorithm: Algorithm, salting: Salting, hash: &[u8], presented: &[u8]) -> bool {
    let Some(decoded) = decode_base64(hash) else {
        return false;
    };
    let Some((digest, salt)) = decoded.split_at_checked(algorithm.length()) else {
        return false;
    };
    if salting == Salting::Plain && !salt.is_empty() {
        return false;
    }
    algorithm.digest(presented, salt).as_slice().ct_eq(digest).into()
}

pub(super) fn hash(
    algorithm: Algorithm,
    salting: Salting,
    presented: &[u8],
    random: &mut dyn FnMut(&mut [u8]),
    out: &mut Vec<u8>,
) {
    let mut salt = [0; NEW_SALT_LENGTH];
    let salt: &[u8] = match salting {
        Salting::Plain => &[],
        Salting::Salted => {
            random(&mut salt);
            &salt
        }
    };
    let mut octets = algorithm.digest(presented, salt);
    octets.extend_from_slice(salt);
    out.extend_from_slice(STANDARD.encode(&octets).as_bytes());
}
