//! Writes that take long to read: they are read elsewhere than on the reactor, by who may write at all, and within a limit.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod harness;

use harness::Site;
use ironbark_directory::Started;
use ironbark_ldap_proto::{MessageId, Modification, ModifyOperation, ModifyRequest, Request, message::encode_request};

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
    // What their syntax forbids is said all the same.
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

#[test]
fn what_a_connection_sends_after_them_waits_for_them() {
    let mut site = Site::populated("");
    for (count, waits) in [(3, false), (3_000, true)] {
        let value = PHRASE.repeat(count);
        let values = [value.as_bytes()];
        let changes = [Modification {
            operation: ModifyOperation::Replace,
            attribute: b"description",
            values: values.as_slice().into(),
        }];
        let request = Request::Modify(ModifyRequest {
            object: A.as_bytes(),
            changes: changes.as_slice().into(),
        });
        let (mut pdu, mut out) = (Vec::new(), Vec::new());
        encode_request(&mut pdu, MessageId::new(7).expect("in range"), &request, &[]);
        let (worker, session) = site.parts();
        let Started::Submitted(submitted) = worker.start(session, &pdu, &mut out) else {
            panic!("a write is carried out elsewhere");
        };
        assert_eq!(submitted.blocks_connection, waits);
        let completion = submitted.receiver.blocking_recv().expect("completes");
        worker.finish(session, completion, &mut out);
    }
}
