//! Requests that cost the server much and the client little: others are served meanwhile, and the requests end with
//! their connection.

use std::{fmt::Write as _, io::Write as _, net::TcpStream, time::Duration};

use ironbark_testkit::{Flavor, Server, wait};

use crate::attacks::process::memory;
use crate::attacks::site::{NOBODY, run};
use crate::attacks::wire::{self, BASE, connect, element, read_message, result_code};

const GROUPS: usize = 200;
const DENSE: usize = 100;
const VALUES: usize = 4_000;
pub(crate) const MEMBERS: usize = 2_000;
/// Octets more than before that the server may keep after an attack.
pub(crate) const KEPT: usize = 64 << 20;

/// An entry with many values, a big group, and groups that are members of each other.
fn data() -> String {
    let mut text = format!("dn: {BASE}\nobjectClass: domain\ndc: example\n\n");
    let _ = writeln!(text, "dn: cn=long,{BASE}\nobjectClass: device");
    for number in 0..VALUES {
        let _ = writeln!(text, "description: {} value {number}", "a".repeat(60));
    }
    let _ = writeln!(text, "\ndn: cn=big,{BASE}\nobjectClass: groupOfNames");
    for number in 0..MEMBERS {
        let _ = writeln!(text, "member: cn=p{number},{BASE}");
    }
    for number in 0..MEMBERS {
        let _ = write!(
            text,
            "\ndn: cn=p{number},{BASE}\nobjectClass: person\nsn: {number}\nuserPassword: secret\n"
        );
    }
    for group in 0..GROUPS {
        let _ = write!(text, "\ndn: cn=g{group},{BASE}\nobjectClass: groupOfNames\n");
        for next in 1..=DENSE {
            let _ = writeln!(text, "member: cn=g{},{BASE}", (group + next) % GROUPS);
        }
    }
    text
}

pub(crate) fn site(rules: &str) -> Server {
    let config = format!(
        "sockbuf_max_incoming 4194304\nsockbuf_max_incoming_auth 16777215\n{}{rules}\ndatabase monitor\n",
        Server::PEOPLE_CONFIG
    );
    let mut server = Server::prepare(Flavor::Ironbark, &config).unwrap();
    server.slapadd(&data()).unwrap();
    server.launch().unwrap();
    server
}

fn contains(attribute: &str, part: &str) -> Vec<u8> {
    let part = element(0x30, &element(0x81, part.as_bytes()));
    element(0xa4, &[element(4, attribute.as_bytes()), part].concat())
}

pub(crate) fn any_of(attribute: &str, count: usize) -> Vec<u8> {
    let items: Vec<u8> = (0..count)
        .flat_map(|number| contains(attribute, &format!("zz{number}")))
        .collect();
    element(0xa1, &items)
}

/// A search request with controls.
pub(crate) fn controlled(base: &str, scope: u8, filter: &[u8], controls: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let plain = wire::search(7, base, scope, filter);
    let controls: Vec<u8> = controls
        .iter()
        .flat_map(|(oid, value)| element(0x30, &[element(4, oid.as_bytes()), element(4, value)].concat()))
        .collect();
    // Behind the header of the message, whose content begins with the message ID.
    let content = plain
        .windows(3)
        .position(|octets| octets == [2, 4, 0] || octets == [2, 1, 7])
        .unwrap();
    element(0x30, &[&plain[content..], &element(0xa0, &controls)].concat())
}

/// Result code of a request, and the number of entries before it.
pub(crate) fn answer(stream: &mut TcpStream, request: &[u8]) -> (u8, usize) {
    stream.write_all(request).unwrap();
    let mut entries = 0;
    loop {
        let (_, tag, content) = read_message(stream).unwrap();
        if tag == wire::SEARCH_DONE {
            return (result_code(&content), entries);
        }
        entries += 1;
    }
}

/// Searches that are under way besides the one that asks.
pub(crate) fn under_way(server: &Server) -> u64 {
    let name = "cn=Search,cn=Operations,cn=Monitor";
    let told = run(
        server,
        &NOBODY,
        "ldapsearch",
        &["-LLL", "-b", name, "-s", "base", "(objectClass=*)", "+"],
        "",
    )
    .stdout;
    let count = |name: &str| {
        let line = told.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().parse::<u64>().ok()).unwrap()
    };
    count("monitorOpInitiated:") - count("monitorOpCompleted:") - 1
}

#[test]
fn searches_that_take_minutes_hold_up_nobody_and_end_with_their_connection() {
    let server = site("");
    let attack = wire::search(7, &format!("cn=long,{BASE}"), 0, &any_of("description", 30_000));
    let streams: Vec<TcpStream> = (0..6)
        .map(|_| {
            let mut stream = connect(&server);
            // The rootdn has no limit.
            wire::bind(&mut stream);
            stream.write_all(&attack).unwrap();
            stream
        })
        .collect();
    assert!(wait::until(|| (under_way(&server) == 6).then_some(())).is_some());
    for _ in 0..20 {
        wire::assert_serves(&server);
    }
    assert_eq!(under_way(&server), 6, "they go on");
    drop(streams);
    let ended = wait::until_deadline(Duration::from_secs(20), || (under_way(&server) == 0).then_some(()));
    assert!(ended.is_some(), "nobody waits for them any more");
}

#[test]
fn a_stranger_may_make_the_server_work_so_much_and_no_more() {
    let server = site("");
    let mut stream = connect(&server);
    // Each character stands for a phrase: 20 octets of request become 360 to compare.
    let phrases = |count: usize| {
        element(
            0xa3,
            &[element(4, b"cn"), element(4, "\u{fdfa}".repeat(count).as_bytes())].concat(),
        )
    };
    for (count, code) in [(10_000, 0), (600_000, 11)] {
        let request = wire::search(7, BASE, 2, &phrases(count));
        assert_eq!(answer(&mut stream, &request), (code, 0), "{count}");
    }
    wire::assert_serves(&server);
}

/// A connection of somebody without further rights.
pub(crate) fn somebody(server: &Server) -> TcpStream {
    person(server, 0)
}

/// A connection of the person with this number.
pub(crate) fn person(server: &Server, number: usize) -> TcpStream {
    let mut stream = connect(server);
    let name = element(4, format!("cn=p{number},{BASE}").as_bytes());
    let who = element(0x60, &[vec![2, 1, 3], name, element(0x80, b"secret")].concat());
    stream
        .write_all(&element(0x30, &[vec![2, 1, 1], who].concat()))
        .unwrap();
    assert_eq!(result_code(&read_message(&mut stream).unwrap().2), 0);
    stream
}

/// The matched-values control with 3,000 terms.
fn matched() -> (&'static str, Vec<u8>) {
    let value = |number: u32| element(4, format!("no {number}").as_bytes());
    let terms: Vec<u8> = (0..3_000)
        .flat_map(|number| element(0xa3, &[element(4, b"description"), value(number)].concat()))
        .collect();
    ("1.2.826.0.1.3344810.2.3", element(0x30, &terms))
}

/// The dereference control with `count` specifications of one attribute.
fn dereference(count: usize) -> (&'static str, Vec<u8>) {
    let wanted = [element(4, b"cn"), element(4, b"sn"), element(4, b"objectClass")];
    let specification = [element(4, b"member"), element(0x30, &wanted.concat())];
    let specification = element(0x30, &specification.concat());
    ("1.3.6.1.4.1.4203.666.5.16", element(0x30, &specification.repeat(count)))
}

#[test]
fn long_requests_are_answered_in_time_that_grows_with_them() {
    let server = site("");
    let before = memory(&server);
    let (long, big) = (format!("cn=long,{BASE}"), format!("cn=big,{BASE}"));
    let everything = wire::everything();
    let phrases = "\u{fdfa}".repeat(60_000);
    let equal = element(0xa3, &[element(4, b"cn"), element(4, phrases.as_bytes())].concat());
    let chain = [
        element(0x81, b"1.2.840.113556.1.4.1941"),
        element(0x82, b"member"),
        element(0x83, format!("cn=nobody,{BASE}").as_bytes()),
    ];
    let chain = element(0xa9, &chain.concat());
    let inside = contains("cn", &phrases);
    let mut stream = somebody(&server);
    for (name, request, expected) in [
        (
            "matched values",
            controlled(&long, 0, &everything, &[matched()]),
            (0, 1),
        ),
        (
            "60 specifications",
            controlled(&big, 0, &everything, &[dereference(60)]),
            (2, 0),
        ),
        (
            "one specification",
            controlled(&big, 0, &everything, &[dereference(1)]),
            (0, 1),
        ),
        ("phrases", wire::search(7, BASE, 2, &equal), (0, 0)),
        ("phrases inside", wire::search(7, BASE, 2, &inside), (0, 0)),
        ("a chain through dense groups", wire::search(7, BASE, 2, &chain), (0, 0)),
    ] {
        assert_eq!(answer(&mut stream, &request), expected, "{name}");
        wire::assert_serves(&server);
    }
    let kept = memory(&server).saturating_sub(before);
    assert!(kept < KEPT, "{kept} octets are kept");
}

#[test]
fn rules_with_sets_over_dense_groups_hold_up_nobody() {
    let server = site(&format!(
        "limits * size=unlimited\n\
         access to * by set=\"[cn=g0,{BASE}]/member* & user\" write by set=\"this/member & user\" write by * read"
    ));
    let mut stream = somebody(&server);
    let request = wire::search(7, BASE, 2, &element(0x87, b"sn"));
    assert_eq!(answer(&mut stream, &request), (0, MEMBERS), "each entry is asked about");
    wire::assert_serves(&server);
}
