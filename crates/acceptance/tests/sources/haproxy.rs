//! A real proxy: haproxy with `send-proxy-v2`, to listeners without and with TLS.

use std::process::{Child, Command, Stdio};

use ironbark_testkit::{CertificateAuthority, Flavor, Listen, Server, free_port, wait};

use crate::sources::{BASE, DATA};

/// A running haproxy, ended when it is dropped.
struct Haproxy(Child);

impl Drop for Haproxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Forwards one port to another, with a header before each connection.
fn haproxy(server: &Server, name: &str, to: u16) -> (Haproxy, u16) {
    let port = free_port().unwrap();
    let text = format!(
        "defaults\n  mode tcp\n  timeout connect 10s\n  timeout client 60s\n  timeout server 60s\n\
         listen {name}\n  bind 127.0.0.1:{port}\n  server one 127.0.0.1:{to} send-proxy-v2\n"
    );
    let file = server.layout().write(&format!("{name}.cfg"), text).unwrap();
    let child = Command::new("/usr/sbin/haproxy")
        .args(["-db", "-q", "-f"])
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("haproxy: {error}: apt-get install haproxy"));
    let proxy = Haproxy(child);
    let listens = wait::until(|| std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    assert!(listens.is_some(), "haproxy does not listen");
    (proxy, port)
}

#[test]
fn clients_of_haproxy_are_served_under_their_own_address_with_and_without_tls() {
    let files = "TLSCACertificateFile {dir}/ca.crt\nTLSCertificateFile {dir}/server.crt\nTLSCertificateKeyFile {dir}/server.key\n\
        proxy-trusted 127.0.0.1\n";
    let server = Server::prepare(Flavor::Ironbark, &format!("{files}{}", Server::PEOPLE_CONFIG)).unwrap();
    let mut authority = CertificateAuthority::new("Test CA").unwrap();
    server.layout().write("ca.crt", authority.certificate()).unwrap();
    authority.server().unwrap().write(server.layout(), "server").unwrap();
    let (plain, tls) = (free_port().unwrap(), free_port().unwrap());
    let urls = format!(
        "{} {} pldap://127.0.0.1:{plain}/ pldaps://127.0.0.1:{tls}/",
        server.url(),
        server.ldapi_url()
    );
    let mut server = server.listening_on(Listen::Both).arguments(&["-h", &urls]);
    server.slapadd(DATA).unwrap();
    server.launch().unwrap();
    let authority = server.layout().join("ca.crt").display().to_string();
    let environment = [("LDAPTLS_CACERT", authority.as_str()), ("LDAPTLS_REQCERT", "demand")];
    for (name, scheme, listener) in [("plain", "ldap", plain), ("tls", "ldaps", tls)] {
        let (_proxy, port) = haproxy(&server, name, listener);
        let url = format!("{scheme}://127.0.0.1:{port}/");
        let arguments = [
            "-x",
            "-LLL",
            "-H",
            &url,
            "-D",
            "cn=ann,dc=example,dc=com",
            "-w",
            "secret",
            "-b",
            BASE,
        ];
        let found = server.client_with("ldapsearch", &environment, &arguments, "").unwrap();
        let found = found.success().unwrap().stdout;
        assert!(found.contains("dn: cn=ann,dc=example,dc=com"), "{found}");
        let accepted = |line: &&str| line.contains("ACCEPT") && line.contains(&format!("(IP=127.0.0.1:{listener})"));
        let log = server.log();
        let line = log.lines().find(accepted).unwrap_or_else(|| panic!("{log}"));
        // The port is the client's, not that of haproxy's connection, which `via` shows.
        let peer = line
            .split("ACCEPT from ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next())
            .unwrap();
        assert!(
            peer.starts_with("IP=127.0.0.1:") && !log.contains(&format!("via {peer}\n")),
            "{line}"
        );
    }
    assert!(server.log().contains("TLS established"), "{}", server.log());
}
