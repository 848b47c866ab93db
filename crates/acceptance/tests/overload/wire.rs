//! LDAP messages as bytes, for clients that do things that no library allows.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use ironbark_testkit::Server;

pub(crate) const BASE: &str = "dc=example,dc=com";
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
pub(crate) const BIND_RESPONSE: u8 = 0x61;
pub(crate) const SEARCH_ENTRY: u8 = 0x64;
pub(crate) const SEARCH_DONE: u8 = 0x65;
pub(crate) const MODIFY_RESPONSE: u8 = 0x67;
pub(crate) const EXTENDED_RESPONSE: u8 = 0x78;

pub(crate) fn connect(server: &Server) -> TcpStream {
    connect_to(server.port())
}

pub(crate) fn connect_to(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A BER element.
pub(crate) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match u32::try_from(content.len()).unwrap() {
        short @ 0..=127 => bytes.push(u8::try_from(short).unwrap()),
        long => {
            bytes.push(0x84);
            bytes.extend(long.to_be_bytes());
        }
    }
    bytes.extend(content);
    bytes
}

fn message(id: u32, operation: &[u8]) -> Vec<u8> {
    element(0x30, &[&element(0x02, &id.to_be_bytes()), operation].concat())
}

/// A search request for all attributes.
pub(crate) fn search(id: u32, base: &str, scope: u8, filter: &[u8]) -> Vec<u8> {
    let parts = [
        element(0x04, base.as_bytes()),
        vec![0x0a, 1, scope, 0x0a, 1, 0, 2, 1, 0, 2, 1, 0, 1, 1, 0],
        filter.to_vec(),
        element(0x30, b""),
    ];
    message(id, &element(0x63, &parts.concat()))
}

/// The same for the whole tree as a consumer that follows changes (RFC 4533).
pub(crate) fn follow(id: u32) -> Vec<u8> {
    staying(id, "1.3.6.1.4.1.4203.1.9.1.1", &element(0x30, &[0x0a, 1, 3]))
}

/// A search of the whole tree with a critical control.
pub(crate) fn staying(id: u32, control: &str, value: &[u8]) -> Vec<u8> {
    let plain = search(id, BASE, 2, &everything());
    // Behind the header of the message, which has four octets of length or none.
    let start = if plain[1] < 0x80 { 2 } else { 6 };
    let control = [
        element(0x04, control.as_bytes()),
        vec![1, 1, 0xff],
        element(0x04, value),
    ];
    let controls = element(0xa0, &element(0x30, &control.concat()));
    element(0x30, &[&plain[start..], &controls].concat())
}

pub(crate) fn everything() -> Vec<u8> {
    element(0x87, b"objectClass")
}

/// A modify request that replaces the description.
pub(crate) fn describe(id: u32, name: &str, description: &[u8]) -> Vec<u8> {
    let values = element(0x31, &element(0x04, description));
    let attribute = element(0x30, &[element(0x04, b"description"), values].concat());
    let change = element(0x30, &[vec![0x0a, 1, 2], attribute].concat());
    let request = [element(0x04, name.as_bytes()), element(0x30, &change)].concat();
    message(id, &element(0x66, &request))
}

/// A simple bind as the administrator, answered.
pub(crate) fn bind(stream: &mut TcpStream) {
    let name = element(0x04, format!("cn=Manager,{BASE}").as_bytes());
    let request = [vec![2, 1, 3], name, element(0x80, b"secret")].concat();
    stream.write_all(&message(1, &element(0x60, &request))).unwrap();
    let (_, tag, content) = read_message(stream).unwrap();
    assert_eq!((tag, result_code(&content)), (BIND_RESPONSE, 0));
}

/// The next message: its ID, its operation's tag, and its content from that tag on. `None` at the end of the
/// connection.
pub(crate) fn read_message(stream: &mut impl Read) -> Option<(u32, u8, Vec<u8>)> {
    let mut head = [0; 2];
    stream.read_exact(&mut head).ok()?;
    assert_eq!(head[0], 0x30, "an LDAP message is a sequence");
    let mut length = usize::from(head[1]);
    if length > 0x80 {
        let mut octets = vec![0; length - 0x80];
        stream.read_exact(&mut octets).ok()?;
        length = octets.iter().fold(0, |sum, octet| sum * 256 + usize::from(*octet));
    }
    let mut message = vec![0; length];
    stream.read_exact(&mut message).ok()?;
    let end = 2 + usize::from(message[1]);
    let id = message[2..end]
        .iter()
        .fold(0, |sum, octet| sum * 256 + u32::from(*octet));
    Some((id, message[end], message[end..].to_vec()))
}

/// The result code of an LDAPResult, the content of a response.
pub(crate) fn result_code(content: &[u8]) -> u8 {
    let start = if content[1] < 0x80 {
        2
    } else {
        2 + usize::from(content[1] - 0x80)
    };
    assert_eq!(content[start..start + 2], [0x0a, 1], "an enumerated value comes first");
    content[start + 2]
}

/// A search for one entry on a connection, with its answer.
#[track_caller]
pub(crate) fn ask(stream: &mut TcpStream) {
    stream.write_all(&search(1, BASE, 0, &everything())).unwrap();
    let tags: Vec<u8> = std::iter::from_fn(|| read_message(stream))
        .map(|(_, tag, _)| tag)
        .take(2)
        .collect();
    assert_eq!(tags, [SEARCH_ENTRY, SEARCH_DONE]);
}

/// Asserts that another client is served as usual.
#[track_caller]
pub(crate) fn assert_serves(server: &Server) {
    ask(&mut connect(server));
}
