//! TLS as nobody should speak it any more.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use ironbark_testkit::{Authority, Flavor, Listen, Server};

use crate::site::template;

fn secured() -> Server {
    let files = "TLSCACertificateFile {dir}/ca.crt\nTLSCertificateFile {dir}/server.crt\nTLSCertificateKeyFile {dir}/server.key\n";
    let mut server = Server::prepare(Flavor::Ironbark, &template(files, "")).unwrap().listening_on(Listen::Tls);
    let mut authority = Authority::new("Test CA").unwrap();
    server.layout().write("ca.crt", authority.certificate()).unwrap();
    authority.server().unwrap().write(server.layout(), "server").unwrap();
    server.launch().unwrap();
    server
}

/// What openssl says of a connection, to which `input` is given when the handshake is over.
fn connect(server: &Server, arguments: &[&str], input: &str) -> String {
    let address = server.tls_url().trim_start_matches("ldaps://").trim_end_matches('/').to_owned();
    let mut child = Command::new("openssl")
        .args(["s_client", "-connect", &address])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut said = Vec::new();
    // The session is shown when the handshake is over, or has failed.
    let mut octet = [0];
    while !String::from_utf8_lossy(&said).contains("Verify return code") && stdout.read(&mut octet).unwrap_or(0) == 1 {
        said.push(octet[0]);
    }
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let _ = stdout.read_to_end(&mut said);
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    child.wait().unwrap();
    String::from_utf8_lossy(&said).into_owned() + &errors
}

#[test]
fn old_versions_and_renegotiation_are_refused() {
    let server = secured();
    let weak = "ALL:COMPLEMENTOFALL:@SECLEVEL=0";
    for good in [&["-tls1_2"][..], &["-tls1_3"]] {
        let said = connect(&server, good, "Q\n");
        assert!(said.contains("Cipher is TLS_") || said.contains("Cipher is ECDHE"), "{good:?}: {said}");
        assert!(said.contains("Compression: NONE") || good == ["-tls1_3"], "{said}");
    }
    for old in [
        &["-tls1", "-cipher", weak][..],
        &["-tls1_1", "-cipher", weak],
        &["-tls1_2", "-cipher", "aNULL:eNULL:@SECLEVEL=0"],
        &["-tls1_2", "-cipher", "RC4:3DES:@SECLEVEL=0"],
        &["-tls1_2", "-cipher", "kRSA:@SECLEVEL=0"],
    ] {
        let said = connect(&server, old, "Q\n");
        assert!(!said.contains("Cipher is ECDHE") && !said.contains("Cipher is AES") && !said.contains("Cipher is ADH"), "{old:?}: {said}");
    }
    let said = connect(&server, &["-tls1_2"], "R\n");
    assert!(said.contains("RENEGOTIATING") && (said.contains("no renegotiation") || said.contains("error")), "{said}");
}
