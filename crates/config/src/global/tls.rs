//! TLS: not built, and never to be ignored.

use crate::setting::{Level::Global, Setting};

const TLS: &str = "TLS";

pub(super) const ROWS: &[Setting] = &[
    tls(
        &["TLSCACertificate"],
        &["olcTLSCACertificate"],
        "<certificate>",
        "Is the CA certificate itself.",
        "2.5",
    ),
    tls(
        &["TLSCACertificateFile"],
        &["olcTLSCACertificateFile"],
        "<file>",
        "Names the file of CA certificates.",
        "2.0",
    ),
    tls(
        &["TLSCACertificatePath"],
        &["olcTLSCACertificatePath"],
        "<path>",
        "Names directories of CA certificates.",
        "2.0",
    ),
    tls(
        &["TLSCertificate"],
        &["olcTLSCertificate"],
        "<certificate>",
        "Is the server certificate itself.",
        "2.5",
    ),
    tls(
        &["TLSCertificateFile"],
        &["olcTLSCertificateFile"],
        "<file>",
        "Names the file of the server certificate.",
        "2.0",
    ),
    tls(
        &["TLSCertificateKey"],
        &["olcTLSCertificateKey"],
        "<key>",
        "Is the server's private key itself.",
        "2.5",
    ),
    tls(
        &["TLSCertificateKeyFile"],
        &["olcTLSCertificateKeyFile"],
        "<file>",
        "Names the file of the private key.",
        "2.0",
    ),
    tls(
        &["TLSCipherSuite"],
        &["olcTLSCipherSuite"],
        "<ciphers>",
        "Chooses ciphers.",
        "2.0",
    ),
    tls(
        &["TLSCRLCheck"],
        &["olcTLSCRLCheck"],
        "none|peer|all",
        "Says which certificates are looked up in CRLs.",
        "2.3",
    )
    .takes("none|peer|all", "none"),
    tls(
        &["TLSCRLFile"],
        &["olcTLSCRLFile"],
        "<file>",
        "Names the file of a CRL.",
        "2.4",
    ),
    tls(
        &["TLSRandFile"],
        &["olcTLSRandFile"],
        "<file>",
        "Names a source of randomness.",
        "2.0",
    ),
    tls(
        &["TLSVerifyClient"],
        &["olcTLSVerifyClient"],
        "never|allow|try|demand|hard|true",
        "Says what is checked of a client's certificate.",
        "2.0",
    )
    .takes("never|allow|try|demand|hard|true", "never"),
    tls(
        &["TLSDHParamFile"],
        &["olcTLSDHParamFile"],
        "<file>",
        "Names the file of Diffie-Hellman parameters.",
        "2.4",
    ),
    tls(
        &["TLSECName"],
        &["olcTLSECName"],
        "<curve>",
        "Chooses elliptic curves.",
        "2.4",
    ),
    tls(
        &["TLSProtocolMin"],
        &["olcTLSProtocolMin"],
        "<major>[.<minor>]",
        "Is the oldest protocol version allowed.",
        "2.4",
    )
    .takes("<major>[.<minor>]", "0.0"),
];

const fn tls(
    keywords: &'static [&'static str],
    attributes: &'static [&'static str],
    grammar: &'static str,
    documentation: &'static str,
    since: &'static str,
) -> Setting {
    Setting::new(Global, keywords, attributes)
        .takes(grammar, "")
        .does(documentation)
        .since(since)
        .whole()
        .refused(TLS)
}
