//! Errors and excesses of clients: the server continues, within its memory, and serves the others.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy knows test functions, but not what they call"
)]

use crate::overload::entries;
use crate::overload::wire;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use entries::large_tree;
use ironbark_testkit::{Flavor, Server, wait};
use nix::sys::signal::Signal;
use wire::{
    BASE, EXTENDED_RESPONSE, SEARCH_DONE, SEARCH_ENTRY, assert_serves, connect, element, everything, read_message,
    search,
};

/// A server with a few entries.
fn small_server(settings: &str) -> Server {
    let server = Server::start(Flavor::Ironbark, &format!("{settings}{}", Server::PEOPLE_CONFIG)).unwrap();
    server
        .ldapadd(include_str!("data/example.ldif"))
        .unwrap()
        .success()
        .unwrap();
    server
}

/// A server with the [`large_tree`].
fn big_server() -> Server {
    let config = format!("{}limits * size=unlimited\n", Server::PEOPLE_CONFIG);
    let mut server = Server::prepare(Flavor::Ironbark, &config).unwrap();
    server.slapadd(large_tree()).unwrap();
    server.launch().unwrap();
    server
}

#[test]
fn what_is_not_ldap_is_told_so_and_disconnected() {
    let server = small_server("");
    let random: Vec<u8> = (0..4096_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()[0])
        .collect();
    for garbage in [
        &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\0\0\0\0\0\0\0\0",
        b"\x30\x84\xff\xff\xff\xff",
        b"\x30\x80\x02\x01\x01",
        b"\x30\x05\x02\x01\x01\x99\x00",
        b"\x30\x06\x02\x01\x00\x42\x01\x00",
        b"\x30\x0c\x02\x01\x01\x63\x07\x04\x05abcde",
        &random,
    ] {
        let mut stream = connect(&server);
        // The server may close while we still write.
        let _ = stream.write_all(garbage);
        let notice = read_message(&mut stream);
        assert!(
            notice.is_none()
                || notice
                    .as_ref()
                    .is_some_and(|(id, tag, _)| (*id, *tag) == (0, EXTENDED_RESPONSE)),
            "{garbage:?} got {notice:?}"
        );
        assert_eq!(read_message(&mut stream), None, "{garbage:?} is disconnected");
    }
    assert_serves(&server);
}

#[test]
fn the_longest_message_is_what_the_setting_says() {
    let server = small_server("sockbuf_max_incoming 4096\nsockbuf_max_incoming_auth 4096\n");
    let with_length = |octets: usize| {
        let empty = search(
            1,
            BASE,
            0,
            &element(0xa3, &[element(4, b"cn"), element(4, b"")].concat()),
        )
        .len();
        let value = vec![b'x'; octets - empty];
        search(
            1,
            BASE,
            0,
            &element(0xa3, &[element(4, b"cn"), element(4, &value)].concat()),
        )
    };
    for (octets, is_served) in [(1000, true), (4000, true), (5000, false), (1 << 20, false)] {
        let mut stream = connect(&server);
        let _ = stream.write_all(&with_length(octets));
        let answer = read_message(&mut stream).map(|(_, tag, _)| tag);
        assert_eq!(answer == Some(SEARCH_DONE), is_served, "{octets} octets got {answer:?}");
    }
    assert_serves(&server);
}

#[test]
fn a_filter_may_not_be_nested_without_end() {
    let server = small_server("");
    for depth in [10, 100, 1000, 20_000] {
        let mut filter = everything();
        for _ in 0..depth {
            filter = element(if depth % 20 == 0 { 0xa2 } else { 0xa0 }, &filter);
        }
        let mut stream = connect(&server);
        let _ = stream.write_all(&search(1, BASE, 2, &filter));
        let mut last = None;
        while let Some(message) = read_message(&mut stream) {
            let done = message.1 != SEARCH_ENTRY;
            last = Some(message);
            if done {
                break;
            }
        }
        assert!(
            depth > 10 || last.as_ref().is_some_and(|(_, tag, _)| *tag == SEARCH_DONE),
            "depth {depth}: {last:?}"
        );
        assert_serves(&server);
    }
}

#[test]
fn half_a_message_and_a_close_leave_nothing_behind() {
    let server = small_server("");
    let request = search(1, BASE, 2, &everything());
    for length in [1, 2, 7, request.len() / 2, request.len() - 1] {
        for _ in 0..10 {
            let mut stream = connect(&server);
            stream.write_all(&request[..length]).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            assert_eq!(read_message(&mut stream), None);
        }
    }
    assert_serves(&server);
}

/// RFC 4511 §3.1.
#[test]
fn a_thousand_searches_in_one_write_are_answered_in_order() {
    let server = small_server("");
    let requests: Vec<u8> = (1..=1000).flat_map(|id| search(id, BASE, 0, &everything())).collect();
    let mut stream = connect(&server);
    stream.write_all(&requests).unwrap();
    let messages = std::iter::from_fn(|| read_message(&mut stream)).take(2000);
    let done: Vec<u32> = messages
        .filter(|(_, tag, _)| *tag == SEARCH_DONE)
        .map(|(id, _, _)| id)
        .collect();
    assert!(done.iter().copied().eq(1..=1000), "{done:?}");
}

#[test]
fn five_hundred_connections_are_served_at_once() {
    let server = small_server("");
    let mut streams: Vec<TcpStream> = (0..500).map(|_| connect(&server)).collect();
    for round in 1..=2 {
        for stream in &mut streams {
            stream.write_all(&search(round, BASE, 0, &everything())).unwrap();
        }
        for stream in &mut streams {
            assert_eq!(
                read_message(stream).map(|(id, tag, _)| (id, tag)),
                Some((round, SEARCH_ENTRY))
            );
            assert_eq!(
                read_message(stream).map(|(id, tag, _)| (id, tag)),
                Some((round, SEARCH_DONE))
            );
        }
    }
    drop(streams);
    assert_serves(&server);
}

/// RFC 4511 §4.11, RFC 3909 §2.
#[test]
fn searches_are_abandoned_and_canceled() {
    let server = big_server();
    let script = "
import ldap, os
c = ldap.initialize(os.environ['LDAP_URL'])
c.simple_bind_s(os.environ['ROOT_DN'], os.environ['ROOT_PASSWORD'])
for n in range(20):
    m = c.search_ext('dc=example,dc=com', ldap.SCOPE_SUBTREE)
    c.abandon(m)
    print('abandoned', c.search_s('dc=example,dc=com', ldap.SCOPE_BASE, attrlist=['dc']))
for n in range(20):
    m = c.search_ext('dc=example,dc=com', ldap.SCOPE_SUBTREE)
    try:
        c.cancel_s(m)
    except (ldap.CANCELLED, ldap.TOO_LATE, ldap.NO_SUCH_OPERATION) as e:
        print('cancel:', type(e).__name__)
    else:
        print('cancel: ok')
    print(c.search_s('dc=example,dc=com', ldap.SCOPE_BASE, attrlist=['dc']))
try:
    c.cancel_s(12345)
except ldap.NO_SUCH_OPERATION:
    print('nothing to cancel')
";
    let answer = server.python(script).unwrap().success().unwrap().stdout;
    assert_eq!(answer.matches("{'dc': [b'example']}").count(), 40, "{answer}");
    assert!(
        answer.contains("cancel: CANCELLED") || answer.contains("cancel: ok"),
        "{answer}"
    );
    assert!(answer.ends_with("nothing to cancel\n"), "{answer}");
}

#[test]
fn an_idle_connection_is_closed_after_the_timeout() {
    let server = small_server("idletimeout 1\n");
    let mut stream = connect(&server);
    stream.write_all(&search(1, BASE, 0, &everything())).unwrap();
    while read_message(&mut stream).is_some_and(|(_, tag, _)| tag != SEARCH_DONE) {}
    // Until the server ends it; the read timeout is far longer. slapd may send a notice first.
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty() || rest[0] == 0x30);
}

#[test]
fn sigterm_ends_the_server_cleanly_under_load() {
    let mut server = big_server();
    let mut busy: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = connect(&server);
            stream.write_all(&search(1, BASE, 2, &everything())).unwrap();
            stream
        })
        .collect();
    assert_eq!(read_message(&mut busy[0]).map(|(id, _, _)| id), Some(1));
    let mut idle = connect(&server);
    idle.write_all(&search(1, BASE, 0, &everything())).unwrap();
    while read_message(&mut idle).is_some_and(|(_, tag, _)| tag != SEARCH_DONE) {}
    server.signal(Signal::SIGTERM).unwrap();
    let mut last = None;
    while let Some(message) = read_message(&mut idle) {
        last = Some(message);
    }
    let (id, tag, content) = last.expect("a notice of disconnection");
    assert_eq!((id, tag), (0, EXTENDED_RESPONSE));
    let oid = b"1.3.6.1.4.1.1466.20036";
    assert!(content.windows(oid.len()).any(|window| window == oid), "{content:?}");
    let status = server.wait_for_end().unwrap();
    assert_eq!(status.code(), Some(0), "{}", server.log());
    assert!(wait::until(|| (!server.layout().join("slapd.pid").exists()).then_some(())).is_some());
}
