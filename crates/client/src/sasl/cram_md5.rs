//! CRAM-MD5 (RFC 2195), from the client's side. For old servers: they do not prove anything.

use ironbark_sasl::cram_md5::CramMd5Response;

use super::{Exchange, SaslFailure, no_data};
use crate::{BindSettings, Secret};

pub(super) struct CramMd5 {
    user: String,
    password: Secret,
    is_answered: bool,
}

impl CramMd5 {
    /// # Errors
    /// The mechanism cannot carry an authorization identity.
    pub(super) fn new(settings: &BindSettings) -> Result<Self, SaslFailure> {
        if !settings.authorization_id.is_empty() {
            return Err(SaslFailure::new("it carries no authzid"));
        }
        Ok(Self {
            user: settings.authentication_id.clone(),
            password: settings.credentials.clone(),
            is_answered: false,
        })
    }
}

impl Exchange for CramMd5 {
    fn begin(&mut self) -> Result<Option<Vec<u8>>, SaslFailure> {
        Ok(None)
    }

    fn step(&mut self, challenge: &[u8]) -> Result<Vec<u8>, SaslFailure> {
        if std::mem::replace(&mut self.is_answered, true) {
            return Err(SaslFailure::unexpected());
        }
        let response = CramMd5Response::new(self.user.clone(), &self.password.0, challenge);
        Ok(response.text().into_bytes())
    }

    fn end(&mut self, last: Option<&[u8]>) -> Result<(), SaslFailure> {
        if !self.is_answered {
            return Err(SaslFailure::new("the server accepts the bind without a challenge"));
        }
        no_data(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 2195 §2.
    #[test]
    fn the_rfcs_example() {
        let settings = BindSettings {
            authentication_id: "tim".to_owned(),
            credentials: Secret(b"tanstaaftanstaaf".to_vec()),
            ..BindSettings::default()
        };
        let mut exchange = CramMd5::new(&settings).unwrap();
        assert_eq!(exchange.begin(), Ok(None));
        assert!(exchange.end(None).is_err());
        let answer = exchange.step(b"<1896.697170952@postoffice.reston.mci.net>").unwrap();
        assert_eq!(answer, b"tim b913a602c7eda7a495b4e6e7334d3890");
        assert!(exchange.step(b"<1@a>").is_err());
        assert_eq!(exchange.end(None), Ok(()));
    }
}
