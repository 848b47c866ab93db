//! The keys behind a password (RFC 5802 §3), and the proofs that they make.

use subtle::ConstantTimeEq as _;

use super::Hash;

/// The keys of somebody who knows the password.
pub struct ClientKeys {
    hash: Hash,
    client_key: Vec<u8>,
    server_key: Vec<u8>,
}

/// The keys of a server: they verify a client and prove the server to it, but cannot prove a client. Each has the
/// length of the hash function's digest.
#[derive(Clone)]
pub struct StoredKeys {
    hash: Hash,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

impl ClientKeys {
    /// Makes the keys of a password. 4,096 rounds take milliseconds.
    pub fn derive(hash: Hash, password: &[u8], salt: &[u8], rounds: u32) -> Self {
        let salted = hash.salted_password(password, salt, rounds);
        Self {
            hash,
            client_key: hash.mac(&salted, b"Client Key"),
            server_key: hash.mac(&salted, b"Server Key"),
        }
    }

    /// `ClientProof`.
    pub fn proof(&self, auth_message: &str) -> Vec<u8> {
        let stored_key = self.hash.digest(&self.client_key);
        xor(&self.client_key, &self.hash.mac(&stored_key, auth_message.as_bytes()))
    }

    /// `ServerSignature`, which the server must send.
    pub fn signature(&self, auth_message: &str) -> Vec<u8> {
        self.hash.mac(&self.server_key, auth_message.as_bytes())
    }

    /// The keys for a server.
    pub fn stored(self) -> StoredKeys {
        StoredKeys {
            hash: self.hash,
            stored_key: self.hash.digest(&self.client_key),
            server_key: self.server_key,
        }
    }
}

impl StoredKeys {
    /// `StoredKey` and `ServerKey`. `None`: one of them has another length than the digest.
    pub fn new(hash: Hash, stored_key: Vec<u8>, server_key: Vec<u8>) -> Option<Self> {
        let fits = stored_key.len() == hash.length() && server_key.len() == hash.length();
        fits.then_some(Self {
            hash,
            stored_key,
            server_key,
        })
    }

    /// `StoredKey`.
    pub fn stored_key(&self) -> &[u8] {
        &self.stored_key
    }

    /// `ServerKey`.
    pub fn server_key(&self) -> &[u8] {
        &self.server_key
    }

    /// Whether both are of one password, salt and number of rounds. Takes the same time for every content.
    pub fn is_same(&self, other: &Self) -> bool {
        self.stored_key.ct_eq(&other.stored_key).into()
    }

    /// Whether the client that made this `ClientProof` knows the password. Takes the same time for every proof of the
    /// right length.
    pub fn is_proven_by(&self, proof: &[u8], auth_message: &str) -> bool {
        let signature = self.hash.mac(&self.stored_key, auth_message.as_bytes());
        if signature.len() != proof.len() {
            return false;
        }
        self.hash.digest(&xor(&signature, proof)).ct_eq(&self.stored_key).into()
    }

    /// `ServerSignature`.
    pub fn signature(&self, auth_message: &str) -> Vec<u8> {
        self.hash.mac(&self.server_key, auth_message.as_bytes())
    }
}

/// The exclusive or of two values of the same length.
fn xor(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(one, other)| one ^ other).collect()
}
