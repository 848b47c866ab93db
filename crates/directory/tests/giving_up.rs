//! Abandon and Cancel of writes, and writes that arrive shortly before the server ends.
#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod harness;

use std::sync::{
    Arc, Mutex,
    mpsc::{Receiver, Sender, channel},
};

use harness::Site;
use ironbark_directory::{
    OperationError, Started, Submitted,
    overlay::{ContentHooks, Execution, Overlay},
};
use ironbark_ldap_proto::{
    AddRequest, Attribute, DecodeLimits, ExtendedRequest, List, MessageId, Request, Response, ResponseMessage,
    extended::cancel, message::encode_request,
};
use ironbark_model::Entry;

/// Reports the first write that is executed, and holds it until the test lets it through.
struct Gate {
    arrived: Sender<()>,
    open: Mutex<Receiver<()>>,
}

impl ContentHooks for Gate {
    fn before_add(&self, _: &mut Execution<'_, '_>, _: &mut Entry) -> Result<(), OperationError> {
        // Fails at once after the test has let everything through.
        let _ = self.arrived.send(());
        let _ = self.open.lock().expect("not poisoned").recv();
        Ok(())
    }
}

/// A site whose writer stops at the first write; the ends of the gate.
fn gated() -> (Site, Receiver<()>, Sender<()>) {
    let (arrived, arrivals) = channel();
    let (open, opened) = channel();
    let gate: Arc<dyn ContentHooks> = Arc::new(Gate {
        arrived,
        open: Mutex::new(opened),
    });
    let site = Site::open_with("overlay tested", move |_, _| {
        Ok(Overlay {
            content: Some(Arc::clone(&gate)),
            ..Overlay::new("gate")
        })
    });
    (site, arrivals, open)
}

fn start(site: &mut Site, id: i32, request: &Request<'_>) -> (Started, Vec<u8>) {
    let (mut pdu, mut out) = (Vec::new(), Vec::new());
    encode_request(&mut pdu, MessageId::new(id).expect("in range"), request, &[]);
    let (worker, session) = site.parts();
    (worker.start(session, &pdu, &mut out), out)
}

/// An add that is refused after it has passed the gate: the class requires another attribute.
fn entry_without_its_class() -> Request<'static> {
    const CLASSES: &[&[u8]] = &[b"organization"];
    const ATTRIBUTES: &[Attribute<'static>] = &[Attribute {
        description: b"objectClass",
        values: List::new(CLASSES),
    }];
    Request::Add(AddRequest {
        entry: b"dc=ex",
        attributes: List::new(ATTRIBUTES),
    })
}

fn submit(site: &mut Site, id: i32) -> Submitted {
    match start(site, id, &entry_without_its_class()).0 {
        Started::Submitted(submitted) => submitted,
        _ => panic!("an add goes to the writer"),
    }
}

/// The result code of the only message.
fn code(out: &[u8]) -> u32 {
    let message = ResponseMessage::decode(out, &DecodeLimits::default()).expect("decodes");
    match message.operation {
        Response::Done(_, result) => result.code.0,
        Response::Extended(response) => response.result.code.0,
        _ => panic!("a result"),
    }
}

fn cancel(site: &mut Site, id: i32, target: i32) -> u32 {
    let mut value = Vec::new();
    cancel::encode_request(&mut value, MessageId::new(target).expect("in range"));
    let request = ExtendedRequest {
        name: cancel::DESCRIPTOR.oid.as_bytes(),
        value: Some(&value),
    };
    code(&start(site, id, &Request::Extended(request)).1)
}

fn finish(site: &mut Site, submitted: Submitted) -> Vec<u8> {
    let completion = submitted.receiver.blocking_recv().expect("completes");
    let mut out = Vec::new();
    let (worker, session) = site.parts();
    worker.finish(session, completion, &mut out);
    out
}

#[test]
fn what_waits_can_be_given_up_and_what_executes_cannot_be_canceled() {
    let (mut site, arrivals, open) = gated();
    let executing = submit(&mut site, 1);
    arrivals.recv().expect("the writer has the first write");
    let abandoned = submit(&mut site, 2);
    let canceled = submit(&mut site, 3);
    start(&mut site, 4, &Request::Abandon(MessageId::new(2).expect("in range")));
    assert_eq!(cancel(&mut site, 5, 3), 0);
    assert_eq!(cancel(&mut site, 6, 3), 1, "already");
    assert_eq!(cancel(&mut site, 7, 1), 120, "too late");
    assert_eq!(cancel(&mut site, 8, 99), 119, "no such operation");
    drop((arrivals, open));
    assert_eq!(code(&finish(&mut site, executing)), 65, "goes on to its end");
    assert_eq!(finish(&mut site, abandoned), b"", "is answered with nothing");
    assert_eq!(code(&finish(&mut site, canceled)), 118);
}

#[test]
fn a_write_that_executes_is_not_answered_after_an_abandon() {
    let (mut site, arrivals, open) = gated();
    let executing = submit(&mut site, 1);
    arrivals.recv().expect("the writer has the write");
    start(&mut site, 2, &Request::Abandon(MessageId::new(1).expect("in range")));
    drop((arrivals, open));
    assert_eq!(finish(&mut site, executing), b"");
}

#[test]
fn a_write_behind_the_order_to_end_is_refused_in_words() {
    let (mut site, arrivals, open) = gated();
    let executing = submit(&mut site, 1);
    arrivals.recv().expect("the writer has the first write");
    site.directory.refuse_writes();
    let (late, answer) = start(&mut site, 2, &entry_without_its_class());
    assert!(matches!(late, Started::Answered), "nothing comes behind the order");
    assert_eq!(code(&answer), 52);
    drop((arrivals, open));
    assert_eq!(code(&finish(&mut site, executing)), 65);
}

#[test]
fn waiting_writes_are_bounded_in_octets() {
    let (mut site, arrivals, open) = gated();
    let executing = submit(&mut site, 1);
    arrivals.recv().expect("the writer has the first write");
    let big = "x".repeat(1 << 17);
    let values = [big.as_bytes()];
    let attributes = [Attribute {
        description: b"description",
        values: values.as_slice().into(),
    }];
    let request = Request::Add(AddRequest {
        entry: b"cn=big,dc=ex",
        attributes: attributes.as_slice().into(),
    });
    let refused = (2..1_000).find_map(|id| match start(&mut site, id, &request) {
        (Started::Answered, out) => Some((id, code(&out))),
        _ => None,
    });
    assert_eq!(
        refused,
        Some((513, 51)),
        "511 requests of a little over 128 KiB wait, the next is refused as busy"
    );
    drop((arrivals, open));
    assert_eq!(code(&finish(&mut site, executing)), 65);
}
