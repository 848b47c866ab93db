//! What a server that waits for a copy writes into etcd, for a minute at a time.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};

/// Octets of the secret.
pub(super) const SECRET: usize = 32;

/// Where a server waits for a copy.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Request {
    /// Its name, for people.
    pub(super) name: String,
    /// Host or address, and port.
    pub(super) host: String,
    pub(super) port: u16,
    /// Its certificate (DER), in base64.
    certificate: String,
    /// What the other side has to present, in base64.
    secret: String,
}

impl Request {
    pub(super) fn new(name: &str, host: &str, port: u16, certificate: &[u8], secret: &[u8; SECRET]) -> Self {
        Self {
            name: name.to_owned(),
            host: host.to_owned(),
            port,
            certificate: BASE64_STANDARD.encode(certificate),
            secret: BASE64_STANDARD.encode(secret),
        }
    }

    /// Reads the value of a key. `None`: malformed.
    pub(super) fn read(value: &[u8]) -> Option<Self> {
        let request: Self = serde_json::from_slice(value).ok()?;
        let is_whole = request.port != 0 && !request.host.is_empty() && request.secret().is_some();
        is_whole.then_some(request)
    }

    pub(super) fn text(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn certificate(&self) -> Vec<u8> {
        BASE64_STANDARD.decode(&self.certificate).unwrap_or_default()
    }

    pub(super) fn secret(&self) -> Option<[u8; SECRET]> {
        BASE64_STANDARD.decode(&self.secret).ok()?.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_comes_back_from_its_text_and_a_malformed_one_does_not() {
        let request = Request::new("a[1]", "::1", 4000, b"der", &[7; SECRET]);
        assert_eq!(Request::read(&request.text()), Some(request.clone()));
        assert_eq!(request.certificate(), b"der");
        for wrong in ["", "{}", r#"{"host":"x","port":1,"secret":"AA=="}"#, "[1]"] {
            assert_eq!(Request::read(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
