//! Outdated TLS, and TLS at the wrong time.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    process::{Command, Stdio},
};

use ironbark_testkit::{CertificateAuthority, Flavor, Listen, Server};

use crate::attacks::{
    site::template,
    verifications::extended,
    wire::{self, EXTENDED_RESPONSE, element, read_message, result_code},
};

const START_TLS: &[u8] = b"1.3.6.1.4.1.1466.20037";
const WHO_AM_I: &[u8] = b"1.3.6.1.4.1.4203.1.11.3";

fn secured(lines: &str) -> Server {
    let files = "TLSCACertificateFile {dir}/ca.crt\nTLSCertificateFile {dir}/server.crt\nTLSCertificateKeyFile {dir}/server.key\n";
    let mut server = Server::prepare(Flavor::Ironbark, &template(files, lines))
        .unwrap()
        .listening_on(Listen::Tls);
    let mut authority = CertificateAuthority::new("Test CA").unwrap();
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
    let server = secured("");
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

/// The result code of the answer to an extended request.
fn ask(stream: &mut TcpStream, request: &[u8]) -> u8 {
    stream.write_all(request).unwrap();
    let (_, tag, content) = read_message(stream).unwrap();
    assert_eq!(tag, EXTENDED_RESPONSE);
    result_code(&content)
}

/// RFC 4511 §4.14.1.
#[test]
fn tls_begins_between_operations_only() {
    let server = secured("overlay syncprov\n");
    // A search that stays: its answers would come in the clear, or among those of TLS.
    let mut stream = wire::connect(&server);
    wire::bind(&mut stream);
    stream.write_all(&wire::follow(2)).unwrap();
    let intermediate = 0x79;
    while read_message(&mut stream).unwrap().1 != intermediate {}
    assert_eq!(ask(&mut stream, &extended(3, START_TLS, None)), 1);
    assert_eq!(
        ask(&mut stream, &extended(4, WHO_AM_I, None)),
        0,
        "it goes on as before"
    );
    // A negotiation.
    let mut stream = wire::connect(&server);
    let mechanism = element(0xa3, &element(0x04, b"SCRAM-SHA-256"));
    let bind = element(0x60, &[vec![2, 1, 3, 4, 0], mechanism].concat());
    let request = element(0x30, &[vec![2, 1, 1], bind].concat());
    stream.write_all(&request).unwrap();
    let in_progress = 14;
    assert_eq!(result_code(&read_message(&mut stream).unwrap().2), in_progress);
    assert_eq!(ask(&mut stream, &extended(2, START_TLS, None)), 1);
    let mut stream = wire::connect(&server);
    assert_eq!(ask(&mut stream, &extended(2, START_TLS, None)), 0);
    // Where a client hello was announced, nothing in the clear is answered.
    stream.write_all(&extended(3, WHO_AM_I, None)).unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    let alert = 0x15;
    assert!(rest.first().is_none_or(|octet| *octet == alert), "{rest:?}");
}
