//! TLS settings that a connection takes from those of the server itself.

use super::tls::{self, TlsConfig};
use crate::connection::{ServerCrlCheck, TlsSettings};

impl TlsConfig {
    /// The settings of a connection to another server: what its own words leave open is as these `TLS*` settings of the
    /// server have it, as in slapd: certificate, key, authorities, ciphers, curves and revocation. Values that stand in
    /// cn=config itself (DER), and `TLSProtocolMin`, are not taken.
    ///
    /// If the words name neither certificate nor key, the server's are taken only together.
    #[must_use]
    pub fn of_connection(&self, own: &TlsSettings) -> TlsSettings {
        let server = self;
        let has_pair = server.certificate_file.is_some() && server.key_file.is_some();
        let takes_identity = has_pair || own.certificate_file.is_some() || own.key_file.is_some();
        let identity = takes_identity.then_some(server);
        let crl_check = match server.crl_check {
            tls::ClientCrlCheck::None => ServerCrlCheck::None,
            tls::ClientCrlCheck::Peer => ServerCrlCheck::Peer,
            tls::ClientCrlCheck::All => ServerCrlCheck::All,
        };
        let or = |own: &Option<_>, other: Option<&Option<_>>| own.clone().or_else(|| other.cloned().flatten());
        TlsSettings {
            certificate_file: or(&own.certificate_file, identity.map(|server| &server.certificate_file)),
            key_file: or(&own.key_file, identity.map(|server| &server.key_file)),
            ca_certificate_file: or(&own.ca_certificate_file, Some(&server.ca_certificate_file)),
            ca_certificate_path: own
                .ca_certificate_path
                .clone()
                .or_else(|| server.ca_certificate_path.clone()),
            cipher_suite: own.cipher_suite.clone().or_else(|| server.cipher_suite.clone()),
            curves: own.curves.clone().or_else(|| server.curves.clone()),
            crl_check: own.crl_check.or(Some(crl_check)),
            crl_file: or(&own.crl_file, Some(&server.crl_file)),
            is_strict: own.is_strict || server.is_strict,
            ..*own
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::RequireCertificate;

    fn server() -> TlsConfig {
        TlsConfig {
            ca_certificate_file: Some("/ca".into()),
            ca_certificate_path: Some("/cas".into()),
            certificate_file: Some("/cert".into()),
            key_file: Some("/key".into()),
            cipher_suite: Some("HIGH".into()),
            curves: Some("X25519".into()),
            crl_check: tls::ClientCrlCheck::Peer,
            crl_file: Some("/crl".into()),
            ..TlsConfig::default()
        }
    }

    #[test]
    fn what_is_left_open_is_as_the_server_has_it() {
        let taken = server().of_connection(&TlsSettings::default());
        let expected = TlsSettings {
            certificate_file: Some("/cert".into()),
            key_file: Some("/key".into()),
            ca_certificate_file: Some("/ca".into()),
            ca_certificate_path: Some("/cas".into()),
            cipher_suite: Some("HIGH".into()),
            curves: Some("X25519".into()),
            crl_check: Some(ServerCrlCheck::Peer),
            crl_file: Some("/crl".into()),
            ..TlsSettings::default()
        };
        assert_eq!(taken, expected);
        assert_eq!(TlsConfig::default().of_connection(&taken), expected);
    }

    #[test]
    fn the_words_of_the_line_count() {
        let own = TlsSettings {
            certificate_file: Some("/own".into()),
            key_file: Some("/own-key".into()),
            ca_certificate_file: Some("/own-ca".into()),
            ca_certificate_path: Some("/own-cas".into()),
            require_certificate: RequireCertificate::Never,
            cipher_suite: Some("AES".into()),
            curves: Some("P-256".into()),
            crl_check: Some(ServerCrlCheck::None),
            crl_file: Some("/own-crl".into()),
            ..TlsSettings::default()
        };
        assert_eq!(server().of_connection(&own), own);
    }

    #[test]
    fn half_an_identity_of_the_server_is_none() {
        let server = TlsConfig {
            certificate_file: None,
            ..server()
        };
        let taken = server.of_connection(&TlsSettings::default());
        assert_eq!((taken.certificate_file, taken.key_file), (None, None));
        let own = TlsSettings {
            certificate_file: Some("/own".into()),
            ..TlsSettings::default()
        };
        assert_eq!(server.of_connection(&own).key_file, server.key_file);
    }
}
