//! Sources of connections: the PROXY protocol, trusted proxies, limits by source address, names in DNS.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows test functions, but not what they call"
)]

mod haproxy;
mod limited;
mod names;
mod proxied;

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use ironbark_testkit::{Flavor, Listen, Server, free_port};

pub(crate) const BASE: &str = "dc=example,dc=com";
pub(crate) const DATA: &str = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n\
    dn: cn=ann,dc=example,dc=com\nobjectClass: person\ncn: ann\nsn: ann\nuserPassword: secret\n";
/// An anonymous bind, whose answer shows that a connection is served.
pub(crate) const BIND: [u8; 14] = [0x30, 12, 2, 1, 1, 0x60, 7, 2, 1, 3, 4, 0, 0x80, 0];

/// A server with a listener of `scheme` on a further port, these global lines, and these in its database.
pub(crate) fn started(scheme: &str, global: &str, database: &str) -> (Server, u16) {
    let configuration = format!(
        "{global}{}{database}\ndatabase monitor\naccess to * by * read\n",
        Server::PEOPLE_CONFIG
    );
    let server = Server::prepare(Flavor::Ironbark, &configuration).unwrap();
    let port = free_port().unwrap();
    let urls = format!("{} {} {scheme}://127.0.0.1:{port}/", server.url(), server.ldapi_url());
    let mut server = server.listening_on(Listen::Both).arguments(&["-h", &urls]);
    server.slapadd(DATA).unwrap();
    server.launch().unwrap();
    (server, port)
}

/// A connection that waits for its server, but not forever.
pub(crate) fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    stream
}

/// Whether the octets are answered; false when the connection is closed.
pub(crate) fn is_served(stream: &mut TcpStream, octets: &[u8]) -> bool {
    stream.write_all(octets).is_ok() && stream.read_exact(&mut [0]).is_ok()
}

/// A counter of cn=Sources,cn=Ironbark,cn=Monitor.
pub(crate) fn counter(server: &Server, name: &str) -> u64 {
    let base = format!("cn={name},cn=Sources,cn=Ironbark,cn=Monitor");
    let arguments = [
        "-x",
        "-H",
        &server.ldapi_url(),
        "-s",
        "base",
        "-b",
        &base,
        "monitorCounter",
    ];
    let shown = server.client_with("ldapsearch", &[], &arguments, "").unwrap();
    let shown = shown.success().unwrap().stdout;
    let value = shown.lines().find_map(|line| line.strip_prefix("monitorCounter: "));
    value.unwrap().parse().unwrap()
}
