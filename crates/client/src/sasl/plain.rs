//! PLAIN (RFC 4616): authorization identity, name and password, with NUL between them.

use super::{Exchange, SaslFailure, no_data};
use crate::BindSettings;

pub(super) struct Plain(Vec<u8>);

impl Plain {
    /// # Errors
    /// A part holds a NUL.
    pub(super) fn new(settings: &BindSettings) -> Result<Self, SaslFailure> {
        let parts = [
            settings.authorization_id.as_bytes(),
            settings.authentication_id.as_bytes(),
            &settings.credentials.0,
        ];
        if parts.iter().any(|part| part.contains(&0)) {
            return Err(SaslFailure::new("authzid, authcid or credentials hold a NUL"));
        }
        Ok(Self(parts.join(&0)))
    }
}

impl Exchange for Plain {
    fn begin(&mut self) -> Result<Option<Vec<u8>>, SaslFailure> {
        Ok(Some(self.0.clone()))
    }

    fn step(&mut self, _challenge: &[u8]) -> Result<Vec<u8>, SaslFailure> {
        Err(SaslFailure::unexpected())
    }

    fn end(&mut self, last: Option<&[u8]>) -> Result<(), SaslFailure> {
        no_data(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    /// The second example of RFC 4616 §4.
    #[test]
    fn the_rfcs_example() {
        let mut settings = BindSettings {
            authentication_id: "Kurt".to_owned(),
            authorization_id: "Ursel".to_owned(),
            credentials: Secret(b"xipj3plmq".to_vec()),
            ..BindSettings::default()
        };
        let mut plain = Plain::new(&settings).unwrap();
        assert_eq!(plain.begin(), Ok(Some(b"Ursel\0Kurt\0xipj3plmq".to_vec())));
        assert!(plain.step(b"").is_err());
        settings.credentials = Secret(b"a\0b".to_vec());
        assert!(Plain::new(&settings).is_err());
    }
}
