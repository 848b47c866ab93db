//! Headers made by hand.

use std::{
    io::{Read as _, Write as _, copy},
    net::{TcpListener, TcpStream},
};

use ironbark_testkit::ProgramOutput;

use crate::sources::{BASE, BIND, connect, counter, is_served, started};

/// A header with this command, family and content behind the length.
fn header(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let length = u16::try_from(rest.len()).unwrap().to_be_bytes();
    [&b"\r\n\r\n\0\r\nQUIT\n"[..], &[command, family], &length, rest].concat()
}

/// The header of a client of 192.0.2.7, port 4660, with an unknown option.
fn of_client() -> Vec<u8> {
    header(
        0x21,
        0x11,
        &[192, 0, 2, 7, 10, 0, 0, 1, 0x12, 0x34, 1, 0x85, 0xe0, 0, 1, 0x99],
    )
}

/// A proxy for one connection: sends the header and then forwards the data. Returns its port.
fn proxy(to: u16, header: Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let run = move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut server = TcpStream::connect(("127.0.0.1", to)).unwrap();
        server.write_all(&header).unwrap();
        let (mut back, mut out) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        ironbark_runtime::spawn_named("proxy back", move || drop(copy(&mut back, &mut out))).unwrap();
        let _ = copy(&mut client, &mut server);
    };
    ironbark_runtime::spawn_named("proxy", run).unwrap();
    port
}

fn search(server: &ironbark_testkit::Server, port: u16, base: &str) -> ProgramOutput {
    let url = format!("ldap://127.0.0.1:{port}/");
    let arguments = [
        "-x",
        "-LLL",
        "-H",
        &url,
        "-b",
        base,
        "-s",
        "sub",
        "(objectClass=*)",
        "+",
        "*",
    ];
    server.client_with("ldapsearch", &[], &arguments, "").unwrap()
}

#[test]
fn the_address_of_the_header_is_the_peers() {
    let rule = "access to * by peername.ip=192.0.2.7 read by * none";
    let (server, port) = started("pldap", "", rule);
    let shown = search(&server, proxy(port, of_client()), BASE)
        .success()
        .unwrap()
        .stdout;
    assert!(shown.contains("dn: cn=ann,dc=example,dc=com"), "{shown}");
    // Without an address in the header, the proxy's own address counts. The rule gives it nothing.
    for own in [
        header(0x20, 0, &[]),
        header(0x21, 0, &[1, 2, 3]),
        header(0x21, 0x31, &[0; 216]),
    ] {
        search(&server, proxy(port, own), BASE).expect_code(32).unwrap();
    }
    server.search(&["-b", BASE]).unwrap().expect_code(32).unwrap();
    let log = server.log();
    assert!(
        log.contains(&format!("ACCEPT from IP=192.0.2.7:4660 (IP=127.0.0.1:{port})")),
        "{log}"
    );
    assert!(log.contains("proxyp(") && log.contains("): via IP=127.0.0.1:"), "{log}");
    let monitored = search(&server, proxy(port, of_client()), "cn=Connections,cn=Monitor")
        .success()
        .unwrap()
        .stdout;
    assert!(
        monitored.contains("monitorConnectionPeerAddress: IP=192.0.2.7:4660"),
        "{monitored}"
    );
    let mut six = [0; 36];
    (six[0], six[15], six[33]) = (0x20, 9, 7);
    search(&server, proxy(port, header(0x21, 0x21, &six)), BASE)
        .expect_code(32)
        .unwrap();
    server.wait_for_log("ACCEPT from IP=[2000::9]:7 (").unwrap();
}

#[test]
fn the_header_may_come_in_pieces_and_with_what_follows() {
    let (server, port) = started("pldap", "", "");
    let octets = [&of_client()[..], &BIND].concat();
    assert!(is_served(&mut connect(port), &octets));
    let mut slow = connect(port);
    slow.set_nodelay(true).unwrap();
    for octet in &octets[..octets.len() - 1] {
        slow.write_all(&[*octet]).unwrap();
    }
    assert!(is_served(&mut slow, &octets[octets.len() - 1..]));
    drop(server);
}

#[test]
fn what_is_no_header_ends_the_connection_with_a_line_in_the_log() {
    let (server, port) = started("pldap", "", "");
    let cases = [
        ([&BIND[..], &BIND].concat(), "invalid header signature"),
        (
            b"PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\n".to_vec(),
            "invalid header signature",
        ),
        (header(0x31, 0x11, &[0; 12]), "invalid header version 30"),
        (header(0x23, 0x11, &[0; 12]), "invalid command 3"),
        (header(0x21, 0x22, &[0; 36]), "unsupported protocol 22"),
        (
            header(0x21, 0x21, &[0; 35]),
            "address length 35 too small, expecting 36",
        ),
        (header(0x21, 0x11, &[0; 533]), "options size 521 too big"),
    ];
    for (octets, reason) in &cases {
        assert!(!is_served(&mut connect(port), octets), "{reason}");
        server.wait_for_log(&format!("): {reason}")).unwrap();
    }
    let mut short = connect(port);
    short.write_all(&of_client()[..20]).unwrap();
    short.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(short.read(&mut [0]).unwrap_or(0), 0);
    server.wait_for_log("header read insufficient data").unwrap();
    assert_eq!(server.log().matches("): proxyp failed").count(), cases.len() + 1);
    assert_eq!(counter(&server, "Refused Proxies"), cases.len() as u64 + 1);
    // Other clients are not affected, and an ordinary listener accepts no header.
    assert!(is_served(&mut connect(port), &[&of_client()[..], &BIND].concat()));
    server.search(&["-b", BASE]).unwrap().success().unwrap();
}

#[test]
fn a_header_that_does_not_come_is_not_waited_for() {
    let (server, port) = started("pldap", "", "");
    let mut silent = connect(port);
    silent.write_all(&of_client()[..15]).unwrap();
    assert_eq!(silent.read(&mut [0]).unwrap(), 0);
    server.wait_for_log("no header within 10 seconds").unwrap();
}

#[test]
fn only_trusted_proxies_are_listened_to() {
    let octets = [&of_client()[..], &BIND].concat();
    let (server, port) = started("pldap", "proxy-trusted 192.0.2.1 10.0.0.0/8\n", "");
    assert!(!is_served(&mut connect(port), &octets));
    server.wait_for_log(" is not trusted").unwrap();
    server.search(&["-b", BASE]).unwrap().success().unwrap();
    let (_server, port) = started("pldap", "proxy-trusted 192.0.2.1\nproxy-trusted 127.0.0.0/8\n", "");
    assert!(is_served(&mut connect(port), &octets));
}
