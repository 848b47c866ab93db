//! Connecting by settings, to Debian's slapd and to our server, and to peers that lie.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code: clippy.toml exempts test functions, not their helpers"
)]

mod flow;
#[cfg(feature = "gssapi")]
mod gssapi;
mod liars;
mod raw;
mod sasl;
mod tls;
mod urls;

use ironbark_client::{Client, ClientError, ConnectSettings, Search, proto::Scope};
use ironbark_testkit::{CertificateAuthority, Flavor, Listen, Server, TestCertificate};

/// Names become people.
const MAPPING: &str = "authz-policy any\nsasl-host localhost\nsasl-cbinding tls-endpoint\n\
    authz-regexp \"^uid=([^,]+)(,cn=[^,]+)?,cn=auth$\" \"uid=$1,ou=people,dc=example,dc=com\"\n";
const FILES: &str =
    "TLSCACertificateFile {dir}/ca.crt\nTLSCertificateFile {dir}/server.crt\nTLSCertificateKeyFile {dir}/server.key\n";
const DATA: &str = "dn: dc=example,dc=com\nobjectClass: organization\nobjectClass: dcObject\no: x\ndc: example\n\n\
    dn: ou=people,dc=example,dc=com\nobjectClass: organizationalUnit\nou: people\n\n\
    dn: uid=ann,ou=people,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: ann\ncn: Ann\nsn: A\n\
    userPassword: pencil\nauthzTo: dn.exact:uid=bob,ou=people,dc=example,dc=com\n\n\
    dn: uid=bob,ou=people,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: bob\ncn: Bob\nsn: B\n\
    userPassword: pen\n\n";
const ANN: &str = "dn:uid=ann,ou=people,dc=example,dc=com";
const ANN_DN: &str = "uid=ann,ou=people,dc=example,dc=com";

/// A running server with people and with TLS, whose certificate `identity` makes. The authority is in `ca.crt`.
fn secured(
    flavor: Flavor,
    global: &str,
    identity: impl FnOnce(&mut CertificateAuthority) -> Result<TestCertificate, ironbark_testkit::TestkitError>,
) -> (Server, CertificateAuthority) {
    let template = format!("{FILES}{MAPPING}{global}{}", Server::PEOPLE_CONFIG);
    let mut server = Server::prepare(flavor, &template).unwrap().listening_on(Listen::Tls);
    let mut authority = CertificateAuthority::new("Test CA").unwrap();
    let layout = server.layout();
    layout.write("ca.crt", authority.certificate()).unwrap();
    identity(&mut authority).unwrap().write(layout, "server").unwrap();
    server.slapadd(DATA).unwrap();
    server.launch().unwrap();
    (server, authority)
}

/// The same with an ordinary certificate.
fn usual(flavor: Flavor) -> Server {
    secured(flavor, "", CertificateAuthority::server).0
}

/// A running server with people and without TLS.
fn unsecured(flavor: Flavor) -> Server {
    let mut server = Server::prepare(flavor, Server::PEOPLE_CONFIG).unwrap();
    server.slapadd(DATA).unwrap();
    server.launch().unwrap();
    server
}

/// Settings in slapd's words. `{dir}` is the server's directory, `{ldap}`, `{ldaps}` and `{ldapi}` are its URLs.
fn settings(server: &Server, words: &[(&str, &str)]) -> ConnectSettings {
    let mut settings = ConnectSettings::default();
    for (keyword, value) in words {
        let value = value
            .replace("{dir}", &server.layout().path().display().to_string())
            .replace("{ldaps}", &server.tls_url())
            .replace("{ldapi}", &server.ldapi_url())
            .replace("{ldap}", &server.url());
        assert!(settings.set(keyword, &value).unwrap(), "{keyword}");
    }
    settings
}

async fn connect(server: &Server, words: &[(&str, &str)]) -> Result<Client, ClientError> {
    Client::connect(&settings(server, words)).await
}

/// The identity that the server sees.
async fn identity(server: &Server, words: &[(&str, &str)]) -> Result<String, ClientError> {
    connect(server, words).await?.who_am_i().await
}

/// `LDAP over TLS` and StartTLS, with the server's authority.
const TLS: [&[(&str, &str)]; 2] = [
    &[("uri", "{ldaps}"), ("tls_cacert", "{dir}/ca.crt")],
    &[
        ("uri", "{ldap}"),
        ("starttls", "critical"),
        ("tls_cacert", "{dir}/ca.crt"),
    ],
];

/// These words, and further ones behind them.
fn with<'a>(words: &[(&'a str, &'a str)], further: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [words, further].concat()
}

/// A search for everything below the suffix.
fn everything() -> Search<'static> {
    let filter = ironbark_client::proto::Filter::Present(b"objectClass".into());
    Search::new("dc=example,dc=com", Scope::WholeSubtree, filter)
}
