//! Writes that wait for the writer: their order, Abandon and Cancel, and those that arrive shortly before the server
//! ends.
#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::{
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

use ironbark_directory::{
    OperationError, Started, Submitted,
    overlay::{ContentHooks, Execution, Overlay},
};
use ironbark_harness::{Site, TestClient};
use ironbark_ldap_proto::{
    AddRequest, DecodeLimits, ExtendedRequest, List, MessageId, PartialAttribute, Request, Response, ResponseMessage,
    extended::cancel, message::encode_request,
};
use ironbark_model::Entry;

/// Reports the names of entries that are added, and holds each add until the test lets it through.
struct Gate {
    arrived: Sender<String>,
    open: Mutex<Receiver<()>>,
}

impl ContentHooks for Gate {
    fn before_add(&self, _: &mut Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
        // Fails at once after the test has let everything through.
        let _ = self.arrived.send(entry.dn.pretty().to_owned());
        let _ = self.open.lock().expect("not poisoned").recv();
        Ok(())
    }
}

/// A site whose writer stops at the first write; the ends of the gate.
fn gated() -> (Site, Receiver<String>, Sender<()>) {
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

fn start(client: &mut TestClient, id: i32, request: &Request<'_>) -> (Started, Vec<u8>) {
    let (mut pdu, mut out) = (Vec::new(), Vec::new());
    encode_request(&mut pdu, MessageId::new(id).expect("in range"), request, &[]);
    let (worker, session) = client.parts();
    (worker.start(session, &pdu, &mut out), out)
}

/// An add that is refused after it has passed the gate: the class requires another attribute.
fn entry_without_its_class(name: &[u8]) -> Request<'_> {
    const CLASSES: &[&[u8]] = &[b"organization"];
    const ATTRIBUTES: &[PartialAttribute<'static>] = &[PartialAttribute {
        description: b"objectClass",
        values: List::new(CLASSES),
    }];
    Request::Add(AddRequest {
        entry: name,
        attributes: List::new(ATTRIBUTES),
    })
}

fn submit(client: &mut TestClient, id: i32) -> Submitted {
    submit_named(client, id, "dc=ex")
}

fn submit_named(client: &mut TestClient, id: i32, name: &str) -> Submitted {
    match start(client, id, &entry_without_its_class(name.as_bytes())).0 {
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

/// RFC 4511 §4.11.
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
    let (late, answer) = start(&mut site, 2, &entry_without_its_class(b"dc=ex"));
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
    let attributes = [PartialAttribute {
        description: b"description",
        values: values.as_slice().into(),
    }];
    let request = Request::Add(AddRequest {
        entry: b"cn=big,dc=ex",
        attributes: attributes.as_slice().into(),
    });
    let fill = |client: &mut TestClient| {
        let refused = (2..1_000).find_map(|id| match start(client, id, &request) {
            (Started::Answered, out) => Some((id - 2, code(&out))),
            _ => None,
        });
        refused.expect("there is an end")
    };
    assert_eq!(fill(&mut site), (341, 51), "a third of 128 MiB, then busy");
    let mut other = TestClient::from(&site.directory, 8, None);
    assert_eq!(fill(&mut other), (114, 51), "a third of what the source may still take");
    let mut stranger = TestClient::from(&site.directory, 9, Some(1_000));
    assert_eq!(fill(&mut stranger), (190, 51), "a third of all that is left");
    drop((arrivals, open));
    assert_eq!(code(&finish(&mut site, executing)), 65);
}

#[test]
fn who_sends_what_takes_long_waits_behind_others() {
    let (mut site, arrivals, open) = gated();
    let mut slow: Vec<_> = Vec::new();
    let mut send_slow = |site: &mut Site, number: i32| {
        slow.push(submit_named(site, number, &format!("cn=slow{number},dc=ex")));
    };
    let pass = |site: &Site, name: &str, took: Duration| {
        assert_eq!(arrivals.recv().expect("a write"), name);
        site.clock.advance(took);
        open.send(()).expect("held");
    };
    let (long, short) = (Duration::from_millis(100), Duration::from_micros(10));
    send_slow(&mut site, 1);
    assert_eq!(arrivals.recv().expect("a write"), "cn=slow1,dc=ex");
    // All this comes while the first one is executed.
    (2..5).for_each(|number| send_slow(&mut site, number));
    let mut client = TestClient::from(&site.directory, 8, Some(1_000));
    let mut quick = [1, 2].map(|number| submit_named(&mut client, number, &format!("cn=quick{number},dc=ex")));
    site.clock.advance(long);
    open.send(()).expect("held");
    pass(&site, "cn=quick1,dc=ex", short);
    pass(&site, "cn=quick2,dc=ex", short);
    assert_eq!(arrivals.recv().expect("a write"), "cn=slow2,dc=ex");
    let answered = quick.iter_mut().all(|submitted| submitted.receiver.try_recv().is_ok());
    assert!(answered, "they do not wait for the end of the slow one");
    site.clock.advance(long);
    open.send(()).expect("held");
    pass(&site, "cn=slow3,dc=ex", long);
    pass(&site, "cn=slow4,dc=ex", long);
    for submitted in slow {
        assert_eq!(code(&finish(&mut site, submitted)), 65);
    }
}

#[test]
fn a_group_that_takes_long_ends_before_all_are_executed() {
    let (mut site, arrivals, open) = gated();
    let first = submit_named(&mut site, 1, "cn=first,dc=ex");
    assert_eq!(arrivals.recv().expect("a write"), "cn=first,dc=ex");
    let mut others: Vec<_> = (2..5)
        .map(|number| submit_named(&mut site, number, &format!("cn={number},dc=ex")))
        .collect();
    open.send(()).expect("held");
    for number in 2..5 {
        assert_eq!(arrivals.recv().expect("a write"), format!("cn={number},dc=ex"));
        let ended = others.iter_mut().map(|submitted| submitted.receiver.try_recv().is_ok());
        // The second and the third are one group: it has not ended before the third.
        assert_eq!(ended.filter(|ended| *ended).count(), if number == 4 { 2 } else { 0 });
        site.clock.advance(Duration::from_millis(26));
        open.send(()).expect("held");
    }
    assert_eq!(code(&finish(&mut site, first)), 65);
}
