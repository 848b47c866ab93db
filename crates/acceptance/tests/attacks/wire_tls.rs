//! Outdated TLS.

use std::process::{Command, Stdio};

use ironbark_testkit::{Authority, Flavor, Listen, Server};

use crate::site::template;

fn secured() -> Server {
    let files = "TLSCACertificateFile {dir}/ca.crt\nTLSCertificateFile {dir}/server.crt\nTLSCertificateKeyFile {dir}/server.key\n";
    let mut server = Server::prepare(Flavor::Ironbark, &template(files, ""))
        .unwrap()
        .listening_on(Listen::Tls);
    let mut authority = Authority::new("Test CA").unwrap();
    server.layout().write("ca.crt", authority.certificate()).unwrap();
    authority.server().unwrap().write(server.layout(), "server").unwrap();
    server.launch().unwrap();
    server
}

/// openssl's output for a connection that is closed after the handshake.
fn connect(server: &Server, arguments: &[&str]) -> String {
    let address = server
        .tls_url()
        .trim_start_matches("ldaps://")
        .trim_end_matches('/')
        .to_owned();
    let output = Command::new("openssl")
        .args(["s_client", "-connect", &address])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    [output.stdout, output.stderr]
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .concat()
}

#[test]
fn old_versions_and_weak_ciphers_are_refused() {
    let server = secured();
    let weak = "ALL:COMPLEMENTOFALL:@SECLEVEL=0";
    for good in [&["-tls1_2"][..], &["-tls1_3"]] {
        let said = connect(&server, good);
        assert!(
            said.contains("Cipher is TLS_") || said.contains("Cipher is ECDHE"),
            "{good:?}: {said}"
        );
        assert!(said.contains("Compression: NONE") || good == ["-tls1_3"], "{said}");
    }
    for old in [
        &["-tls1", "-cipher", weak][..],
        &["-tls1_1", "-cipher", weak],
        &["-tls1_2", "-cipher", "aNULL:eNULL:@SECLEVEL=0"],
        &["-tls1_2", "-cipher", "RC4:3DES:@SECLEVEL=0"],
        &["-tls1_2", "-cipher", "kRSA:@SECLEVEL=0"],
    ] {
        let said = connect(&server, old);
        assert!(
            !said.contains("Cipher is ECDHE") && !said.contains("Cipher is AES") && !said.contains("Cipher is ADH"),
            "{old:?}: {said}"
        );
    }
}
