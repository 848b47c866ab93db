//! Cipher strings: which of the available ciphers a text in the syntax of OpenSSL or GnuTLS selects, and in what order.

use rustls::{
    CipherSuite, ProtocolVersion, SupportedCipherSuite,
    crypto::aws_lc_rs::{ALL_CIPHER_SUITES, cipher_suite as suites},
};

use crate::SelectionError;

mod gnutls;
mod openssl;

/// A cipher suite, and the words that select it.
#[derive(Clone, Copy)]
struct Row {
    suite: SupportedCipherSuite,
    /// OpenSSL's name; the log shows it.
    name: &'static str,
    /// The authentication of the server: `RSA` or `ECDSA`; empty in TLS 1.3, which negotiates it separately.
    authentication: &'static str,
    /// GnuTLS's name of the cipher.
    cipher: &'static str,
    /// Key length in bits: the security strength factor.
    bits: u32,
}

impl Row {
    fn is_tls13(&self) -> bool {
        self.suite.version().version == ProtocolVersion::TLSv1_3
    }
}

const fn row(
    suite: SupportedCipherSuite,
    name: &'static str,
    authentication: &'static str,
    cipher: &'static str,
    bits: u32,
) -> Row {
    Row {
        suite,
        name,
        authentication,
        cipher,
        bits,
    }
}

const AES256: &str = "AES-256-GCM";
const AES128: &str = "AES-128-GCM";
const CHACHA: &str = "CHACHA20-POLY1305";

/// All available suites, the strongest first.
static ROWS: [Row; 9] = [
    row(
        suites::TLS13_AES_256_GCM_SHA384,
        "TLS_AES_256_GCM_SHA384",
        "",
        AES256,
        256,
    ),
    row(
        suites::TLS13_CHACHA20_POLY1305_SHA256,
        "TLS_CHACHA20_POLY1305_SHA256",
        "",
        CHACHA,
        256,
    ),
    row(
        suites::TLS13_AES_128_GCM_SHA256,
        "TLS_AES_128_GCM_SHA256",
        "",
        AES128,
        128,
    ),
    row(
        suites::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        "ECDHE-ECDSA-AES256-GCM-SHA384",
        "ECDSA",
        AES256,
        256,
    ),
    row(
        suites::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        "ECDHE-RSA-AES256-GCM-SHA384",
        "RSA",
        AES256,
        256,
    ),
    row(
        suites::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        "ECDHE-ECDSA-CHACHA20-POLY1305",
        "ECDSA",
        CHACHA,
        256,
    ),
    row(
        suites::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        "ECDHE-RSA-CHACHA20-POLY1305",
        "RSA",
        CHACHA,
        256,
    ),
    row(
        suites::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        "ECDHE-ECDSA-AES128-GCM-SHA256",
        "ECDSA",
        AES128,
        128,
    ),
    row(
        suites::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        "ECDHE-RSA-AES128-GCM-SHA256",
        "RSA",
        AES128,
        128,
    ),
];

/// The suites that `text` selects, in its order; all without a text.
///
/// # Errors
/// A word that neither library knows; a text that selects no suite.
pub fn select_ciphers(text: Option<&str>) -> Result<Vec<SupportedCipherSuite>, SelectionError> {
    let chosen = match text {
        None => return Ok(ALL_CIPHER_SUITES.to_vec()),
        Some(text) if gnutls::is_meant(text) => gnutls::select(text),
        Some(text) => openssl::select(text),
    }?;
    if chosen.is_empty() {
        return Err(SelectionError::NoCipher {
            text: text.unwrap_or_default().to_owned(),
            available: ROWS.map(|row| row.name).join(", "),
        });
    }
    Ok(chosen.into_iter().map(|row| row.suite).collect())
}

/// OpenSSL's name of a suite, and its strength in bits.
pub(crate) fn describe(suite: CipherSuite) -> (&'static str, u32) {
    let known = ROWS.iter().find(|row| row.suite.suite() == suite);
    known.map_or(("unknown", 1), |row| (row.name, row.bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&'static str> {
        let chosen = select_ciphers(Some(text)).unwrap();
        chosen.iter().map(|suite| describe(suite.suite()).0).collect()
    }

    #[test]
    fn words_of_openssl_choose_in_their_order() {
        assert_eq!(names("HIGH:!aNULL:!MD5").len(), 9);
        assert_eq!(names("DEFAULT:@SECLEVEL=2").len(), 9);
        let tls12 = |text| {
            let all = names(text);
            all.into_iter()
                .filter(|name| !name.starts_with("TLS_"))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            tls12("ECDHE-RSA-AES128-GCM-SHA256:ECDHE+AES256:AES256-SHA"),
            [
                "ECDHE-RSA-AES128-GCM-SHA256",
                "ECDHE-ECDSA-AES256-GCM-SHA384",
                "ECDHE-RSA-AES256-GCM-SHA384"
            ]
        );
        assert_eq!(tls12("HIGH:!ECDSA:!CHACHA20:-AES128"), ["ECDHE-RSA-AES256-GCM-SHA384"]);
        assert_eq!(
            tls12("HIGH:!kRSA:+AESGCM").first(),
            Some(&"ECDHE-ECDSA-CHACHA20-POLY1305")
        );
        // TLS 1.3 has its own names.
        assert_eq!(
            names("TLS_AES_128_GCM_SHA256:ECDHE-RSA-AES128-GCM-SHA256"),
            ["TLS_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"]
        );
        assert_eq!(
            names("TLS_AES_128_GCM_SHA256").len(),
            7,
            "the others keep their default"
        );
    }

    #[test]
    fn words_of_gnutls_choose_ciphers_versions_and_key_exchanges() {
        assert_eq!(names("NORMAL").len(), 9);
        assert_eq!(
            names("SECURE256:-VERS-TLS-ALL:+VERS-TLS1.3"),
            ["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]
        );
        assert_eq!(names("SECURE256:!AES-128-CBC").len(), 6);
        assert_eq!(
            names("NONE:+VERS-TLS1.2:+ECDHE-RSA:+AES-128-GCM:+AEAD:+SIGN-ALL:+CURVE-ALL:+COMP-NULL:%SERVER_PRECEDENCE"),
            ["ECDHE-RSA-AES128-GCM-SHA256"]
        );
        assert_eq!(names("NORMAL:-VERS-TLS1.3:-CHACHA20-POLY1305:-ECDHE-ECDSA").len(), 2);
        // The default of the image osixia/openldap.
        let image = "SECURE256:+SECURE128:-VERS-TLS-ALL:+VERS-TLS1.2:-RSA:-DHE-DSS:-CAMELLIA-128-CBC:-CAMELLIA-256-CBC";
        assert_eq!(names(image).len(), 6);
        assert_eq!(names(image).last(), Some(&"ECDHE-RSA-AES128-GCM-SHA256"));
    }

    #[test]
    fn what_leaves_nothing_and_what_nobody_knows_is_refused_by_name() {
        for text in [
            "AES256-SHA",
            "NULL",
            "HIGH:!TLSv1.2:-ALL",
            "NONE",
            "SECURE256:-KX-ALL:-VERS-TLS1.3",
            "",
        ] {
            assert!(select_ciphers(Some(text)).is_err(), "{text}");
        }
        let why = select_ciphers(Some("NORMAL:+NONSENSE")).unwrap_err();
        assert!(why.to_string().contains("NONSENSE"), "{why}");
        let why = select_ciphers(Some("HIGH:nonsense")).unwrap_err();
        assert!(why.to_string().contains("nonsense"), "{why}");
    }
}
