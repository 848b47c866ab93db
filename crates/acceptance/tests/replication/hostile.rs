//! Providers that lie: they answer what was not asked for, or without end.

use std::{
    io::Write as _,
    net::{TcpListener, TcpStream},
    sync::atomic::{AtomicU32, Ordering},
};

use ironbark_runtime::spawn_named;
use ironbark_testkit::{Flavor, Server};

use crate::replication::wire::{element, read_message};

const BASE: &str = "dc=example,dc=com";
const BIND: u8 = 0x60;
const SEARCH: u8 = 0x63;

fn message(id: u32, tag: u8, content: &[u8]) -> Vec<u8> {
    let operation = element(tag, content);
    element(0x30, &[element(2, &id.to_be_bytes()), operation].concat())
}

fn result(id: u32, tag: u8) -> Vec<u8> {
    message(id, tag, &[10, 1, 0, 4, 0, 4, 0])
}

fn entry(id: u32, dn: &str, attributes: &[(&str, &str)]) -> Vec<u8> {
    let attributes = attributes.iter().map(|(name, value)| {
        let values = element(0x31, &element(4, value.as_bytes()));
        element(0x30, &[element(4, name.as_bytes()), values].concat())
    });
    let attributes: Vec<u8> = attributes.flatten().collect();
    message(
        id,
        0x64,
        &[element(4, dn.as_bytes()), element(0x30, &attributes)].concat(),
    )
}

/// A provider on loopback that accepts every bind, and answers searches so: with the entries that `answer` gives for
/// the request, and then the result. Its URL.
fn provider(answer: impl Fn(u32, &[u8]) -> Box<dyn Iterator<Item = Vec<u8>>> + Send + Sync + Copy + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ldap://{}", listener.local_addr().unwrap());
    let serve = move |mut consumer: TcpStream| {
        while let Some((id, tag, request)) = read_message(&mut consumer) {
            let parts: Box<dyn Iterator<Item = Vec<u8>>> = match tag {
                BIND => Box::new(std::iter::once(result(id, 0x61))),
                SEARCH => Box::new(answer(id, &request).chain([result(id, 0x65)])),
                _ => continue,
            };
            for part in parts {
                if consumer.write_all(&part).is_err() {
                    return;
                }
            }
        }
    };
    let listen = move || {
        for consumer in listener.incoming().flatten() {
            spawn_named("provider", move || serve(consumer)).unwrap();
        }
    };
    spawn_named("listener", listen).unwrap();
    url
}

fn mentions(request: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(request).contains(text)
}

/// A consumer of such a provider, whose log must have this line.
fn assert_says(url: &str, words: &str, line: &str) {
    let syncrepl = format!(
        "syncrepl rid=001 provider={url} bindmethod=simple binddn=cn=x credentials=y searchbase={BASE} retry=\"60 +\" \
         {words}\n"
    );
    let server = Server::prepare(Flavor::Ironbark, &Server::people_config("", &syncrepl)).unwrap();
    let mut server = server.debug_level("sync");
    server.launch().unwrap();
    server.wait_for_log(line).unwrap();
    server.search(&["-b", "", "-s", "base"]).unwrap().success().unwrap();
}

const LOG: &str = "syncdata=changelog type=refreshAndPersist";
const LOG_BASE: &str = "cn=changelog";
const SCHEMA: (&str, &str) = ("attributeTypes", "( 2.5.4.3 NAME 'cn' )");

/// The root DSE, the schema and the content of a server with a log of changes.
fn usual(id: u32, request: &[u8], last: &str) -> Vec<Vec<u8>> {
    if mentions(request, "attributeTypes") {
        return vec![entry(id, "cn=schema", &[SCHEMA])];
    }
    if mentions(request, "subschemaSubentry") || mentions(request, "lastChangeNumber") {
        let numbers = [("firstChangeNumber", "1"), ("lastChangeNumber", last)];
        return vec![entry(id, "", &numbers)];
    }
    let id_of_base = ("nsUniqueId", "00000000-00000000-00000000-00000001");
    vec![entry(
        id,
        BASE,
        &[("objectClass", "domain"), ("dc", "example"), id_of_base],
    )]
}

fn change(id: u32, number: &str) -> Vec<u8> {
    let attributes = [
        ("changeNumber", number),
        ("changeType", "modify"),
        ("targetDN", BASE),
        ("targetUniqueId", "00000000-00000000-00000000-00000001"),
        ("changes", "replace: description\ndescription: x\n-\n"),
    ];
    entry(id, "changeNumber=1,cn=changelog", &attributes)
}

#[test]
fn changes_that_were_not_asked_for_are_refused() {
    for (numbers, line) in [
        (
            ["5", "1000000000000000000"],
            "shows change 1000000000000000000 of its log, asked for those from 1 to 5",
        ),
        (["5", "5"], "shows change 5 of its log twice"),
    ] {
        let url = provider(move |id, request| {
            if mentions(request, LOG_BASE) {
                return Box::new(numbers.into_iter().map(move |number| change(id, number)));
            }
            Box::new(usual(id, request, "5").into_iter())
        });
        assert_says(&url, LOG, line);
    }
}

#[test]
fn a_log_that_promises_changes_without_end_and_shows_none_is_given_up() {
    // The comparison begins behind the last change; then the log claims to have gone on.
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let url = provider(|id, request| {
        if mentions(request, LOG_BASE) {
            return Box::new(std::iter::empty());
        }
        let goes_on = mentions(request, "lastChangeNumber") && ASKED.fetch_add(1, Ordering::Relaxed) > 1;
        let last = if goes_on { "18446744073709551615" } else { "0" };
        Box::new(usual(id, request, last).into_iter())
    });
    assert_says(&url, LOG, "does not show those from 1 to 200000");
}

#[test]
fn answers_without_end_are_given_up() {
    let endless = |id: u32, name: &'static str| {
        let value = "x".repeat(60_000);
        std::iter::repeat_with(move || entry(id, "", &[(name, &value)]))
    };
    // The root DSE, the schema, the log; the entry of the base.
    for (asked, name, words) in [
        ("", "firstChangeNumber", LOG),
        ("attributeTypes", "attributeTypes", LOG),
        (LOG_BASE, "changeNumber", LOG),
        ("", "objectGUID", "type=dirSync interval=00:00:00:01"),
    ] {
        let url = provider(move |id, request| {
            if mentions(request, asked) {
                return Box::new(endless(id, name));
            }
            Box::new(usual(id, request, "1").into_iter())
        });
        assert_says(&url, words, "the answer to a search has more than 67108864 octets");
    }
}
