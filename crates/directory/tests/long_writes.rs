//! Writes that take long to read: another thread than the reactor's reads them, only for clients that may write, and
//! within a limit.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use ironbark_directory::Started;
use ironbark_harness::Site;
use ironbark_ldap_proto::{MessageId, ModifyChange, ModifyOperation, ModifyRequest, Request, message::encode_request};

/// A character that is normalized to eighteen.
const PHRASE: &str = "\u{fdfa}";
const A: &str = "cn=a,ou=p,dc=ex";

fn replace(count: usize) -> String {
    format!("replace: description\ndescription: {}", PHRASE.repeat(count))
}

#[test]
fn they_are_carried_out_as_others_are() {
    let mut site = Site::populated("");
    assert_eq!(site.modify(A, &replace(3_000)).brief(), (0, ""));
    let stored = site.stored(A).expect("an entry");
    assert!(stored.contains(&PHRASE.repeat(3_000)));
    let text = format!("objectClass: person\nsn: s\ndescription: {}", PHRASE.repeat(3_000));
    assert_eq!(site.add("cn=z,ou=p,dc=ex", &text).code, 0);
    assert_eq!(site.add("cn=z,ou=p,dc=ex", &text).code, 68);
    // Syntax errors are reported all the same.
    let unknown = replace(3_000).replace("replace: description", "replace: nope");
    assert_eq!(site.modify(A, &unknown).code, 17);
    assert_eq!(site.modify("dc=elsewhere", &replace(3_000)).code, 53);
}

#[test]
fn who_may_write_nothing_is_refused_before_they_are_read() {
    let mut site = Site::populated("access to * by * write");
    site.become_("");
    let answer = site.modify(A, &replace(3_000).replace("replace: description", "replace: nope"));
    assert_eq!(answer.brief(), (8, "modifications require authentication"));
}

#[test]
fn there_is_a_limit_to_what_the_writer_would_have_to_normalize() {
    let mut site = Site::populated("");
    assert_eq!(
        site.modify(A, &replace(100_001)).brief(),
        (11, "operation takes too much work")
    );
}

/// Values with much work for their octets: numbers, short names, combining marks.
fn many_values(octets: usize) -> Vec<(&'static str, Vec<String>)> {
    let numbers = (100_000..100_000 + octets / 8).map(|number| number.to_string());
    let names = (0x10_000..0x10_000 + octets / 9).map(|number| format!("o={number:x}"));
    let marks = format!("a{}", "\u{301}\u{323}".repeat(octets / 4));
    vec![
        ("count", numbers.collect()),
        ("seeAlso", names.collect()),
        ("description", vec![marks]),
    ]
}

fn modify(name: &str, values: &[String]) -> Vec<u8> {
    let values: Vec<&[u8]> = values.iter().map(String::as_bytes).collect();
    let changes = [ModifyChange {
        operation: ModifyOperation::Replace,
        attribute: name.as_bytes(),
        values: values.as_slice().into(),
    }];
    let request = Request::Modify(ModifyRequest {
        object: A.as_bytes(),
        changes: changes.as_slice().into(),
    });
    let mut pdu = Vec::new();
    encode_request(&mut pdu, MessageId::new(7).expect("in range"), &request, &[]);
    pdu
}

#[test]
fn many_values_are_read_elsewhere_and_those_that_are_not_use_up_the_turn() {
    let mut site = Site::populated("");
    for (octets, is_read_elsewhere) in [(150_000, false), (170_000, true)] {
        for (name, values) in many_values(octets) {
            let (pdu, mut out) = (modify(name, &values), Vec::new());
            let (worker, session) = site.parts();
            let mut batch = worker.batch(None);
            let started = batch.start(session, &pdu, &mut out);
            assert_eq!(batch.is_used_up(), !is_read_elsewhere, "{octets} octets of {name}");
            let Started::Submitted(submitted) = started else {
                // Schema errors are reported at once if the request is read at once.
                assert!(!is_read_elsewhere && !out.is_empty(), "{octets} octets of {name}");
                continue;
            };
            assert_eq!(
                submitted.blocks_connection, is_read_elsewhere,
                "{octets} octets of {name}"
            );
            let completion = submitted.receiver.blocking_recv().expect("completes");
            worker.finish(session, completion, &mut out);
        }
    }
}

#[test]
fn what_a_connection_sends_after_them_waits_for_them() {
    let mut site = Site::populated("");
    for (count, waits) in [(3, false), (3_000, true)] {
        let (pdu, mut out) = (modify("description", &[PHRASE.repeat(count)]), Vec::new());
        let (worker, session) = site.parts();
        let Started::Submitted(submitted) = worker.start(session, &pdu, &mut out) else {
            panic!("a write is carried out elsewhere");
        };
        assert_eq!(submitted.blocks_connection, waits);
        let completion = submitted.receiver.blocking_recv().expect("completes");
        worker.finish(session, completion, &mut out);
    }
}
