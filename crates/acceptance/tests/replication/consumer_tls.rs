//! A consumer's TLS: what its line leaves open is as the `TLS*` settings of its own server say, as in slapd.

use ironbark_testkit::{CertificateAuthority, Flavor, Listen, Server, wait};

use crate::replication::{PEOPLE, assert_follows, change, content};

const FILES: &str =
    "TLSCACertificateFile {dir}/ca.crt\nTLSCertificateFile {dir}/server.crt\nTLSCertificateKeyFile {dir}/server.key\n";

/// A provider that demands certificates of its clients.
fn provider(flavor: Flavor, authority: &mut CertificateAuthority) -> Server {
    let global = format!("serverID 1\nmoduleload syncprov\n{FILES}TLSVerifyClient demand");
    let config = Server::people_config(&global, "overlay syncprov");
    let mut server = Server::prepare(flavor, &config).unwrap().listening_on(Listen::Tls);
    server.layout().write("ca.crt", authority.certificate()).unwrap();
    authority.server().unwrap().write(server.layout(), "server").unwrap();
    server.launch().unwrap();
    server.ldapadd(PEOPLE).unwrap().success().unwrap();
    server
}

/// A consumer whose server has certificates of the authority, started with these global lines. In `words` of its line,
/// `{dir}` is its directory, where a stranger's certificate is too.
fn consumer(global: &str, url: &str, words: &str, authority: &mut CertificateAuthority) -> Server {
    let line = format!(
        "syncrepl rid=001 provider={url} bindmethod=simple binddn=cn=Manager,dc=example,dc=com credentials=secret \
         searchbase=dc=example,dc=com type=refreshAndPersist retry=\"1 +\" {words}\n"
    );
    let mut server = Server::prepare(Flavor::Ironbark, &Server::people_config(global, &line)).unwrap();
    server.layout().write("ca.crt", authority.certificate()).unwrap();
    authority
        .client("Consumer")
        .unwrap()
        .write(server.layout(), "server")
        .unwrap();
    let mut other = CertificateAuthority::new("Another CA").unwrap();
    other
        .client("Consumer")
        .unwrap()
        .write(server.layout(), "stranger")
        .unwrap();
    server.launch().unwrap();
    server
}

#[test]
fn certificate_key_and_authorities_are_those_of_the_server() {
    let mut authority = CertificateAuthority::new("Test CA").unwrap();
    for flavor in [Flavor::Ironbark, Flavor::OpenLdap] {
        let provider = provider(flavor, &mut authority);
        for (url, words) in [(provider.tls_url(), ""), (provider.url(), "starttls=critical")] {
            let consumer = consumer(FILES, &url, words, &mut authority);
            assert_follows(&consumer, &provider);
        }
        change(&provider, 1);
    }
}

#[test]
fn words_of_the_line_count_more() {
    let mut authority = CertificateAuthority::new("Test CA").unwrap();
    let provider = provider(Flavor::Ironbark, &mut authority);
    let url = provider.tls_url();
    let stranger = "tls_cert={dir}/stranger.crt tls_key={dir}/stranger.key";
    // Without settings of the server, there is no certificate to show.
    for (global, words) in [("", "tls_cacert={dir}/ca.crt"), (FILES, stranger)] {
        let consumer = consumer(global, &url, words, &mut authority);
        let refused = wait::until(|| consumer.log().contains("syncrepl rid=001: ").then_some(()));
        assert!(refused.is_some(), "{}", consumer.log());
        assert!(!content(&consumer).contains("dn: "), "{words}");
    }
    let own = "tls_cacert={dir}/ca.crt tls_cert={dir}/server.crt tls_key={dir}/server.key";
    let consumer = consumer("", &url, own, &mut authority);
    assert_follows(&consumer, &provider);
}
