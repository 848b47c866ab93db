//! Abandon, Cancel and Bind while a step of a search is elsewhere.
#![allow(clippy::panic, clippy::indexing_slicing, reason = "a panic fails the test")]

use ironbark_directory::{HandedOver, Progress, Started};
use ironbark_ldap_proto::{
    Authentication, BindRequest, ExtendedRequest, MessageId, Request, Scope, extended::cancel, message::encode_request,
};

use super::{any_of, encoded, results, search, site, wait};
use ironbark_harness::Site;

/// The search has the message ID 1.
const OTHER: i32 = 2;

/// Begins a search of one entry, whose only long step goes elsewhere.
fn begin(site: &mut Site) -> HandedOver {
    let filter = format!("(|{}(cn=*))", any_of(500));
    let pdu = encoded(search("cn=long,dc=ex", Scope::BaseObject, &filter), &[]);
    let mut out = Vec::new();
    let (worker, session) = site.parts();
    let Started::Search(mut run) = worker.start(session, &pdu, &mut out) else {
        panic!("too long for the first turn");
    };
    while !run.is_long() {
        assert_eq!(worker.step(session, &mut run, &mut out), Progress::More);
    }
    assert!(out.is_empty());
    worker.hand_over(session, run, &mut out).expect("there is room")
}

/// What is sent until the search has ended.
fn end(site: &mut Site, handed_over: HandedOver) -> Vec<u8> {
    let stepped = wait(handed_over).expect("a step");
    let mut out = Vec::new();
    let (worker, session) = site.parts();
    let mut run = worker.take_back(session, stepped, &mut out);
    while let Some(mut more) = run.take() {
        let progress = worker.step(session, &mut more, &mut out);
        run = (progress == Progress::More).then_some(more);
    }
    out
}

fn ask(site: &mut Site, request: &Request<'_>) -> Vec<u8> {
    let (mut pdu, mut out) = (Vec::new(), Vec::new());
    encode_request(&mut pdu, MessageId::new(OTHER).expect("in range"), request, &[]);
    let (worker, session) = site.parts();
    worker.start(session, &pdu, &mut out);
    out
}

fn abandon(site: &mut Site) {
    let answer = ask(site, &Request::Abandon(MessageId::new(1).expect("in range")));
    assert!(answer.is_empty());
}

fn bind(site: &mut Site) {
    let request = BindRequest {
        version: 3,
        name: b"",
        authentication: Authentication::Simple(b""),
    };
    assert_eq!(results(&ask(site, &Request::Bind(request))), [0]);
}

fn cancel(site: &mut Site) -> u32 {
    let mut value = Vec::new();
    cancel::encode_request(&mut value, MessageId::new(1).expect("in range"));
    let request = ExtendedRequest {
        name: cancel::DESCRIPTOR.oid.as_bytes(),
        value: Some(&value),
    };
    results(&ask(site, &Request::Extended(request)))[0]
}

#[test]
fn nothing_is_sent_of_a_step_that_has_ended_elsewhere_before_an_abandon_or_a_bind() {
    let mut site = site("", 0);
    let undisturbed = begin(&mut site);
    assert_eq!(results(&end(&mut site, undisturbed)), [0]);
    for stop in [abandon, bind] {
        let handed_over = begin(&mut site);
        let stepped = wait(handed_over).expect("a step");
        stop(&mut site);
        let mut out = Vec::new();
        let (worker, session) = site.parts();
        assert!(
            worker.take_back(session, stepped, &mut out).is_none(),
            "the step was the last"
        );
        assert!(out.is_empty());
        site.become_("cn=root,dc=ex");
    }
}

/// RFC 3909 §2.
#[test]
fn a_search_whose_cancel_is_accepted_ends_with_canceled_and_no_other_does() {
    let mut site = site("", 0);
    let ended = begin(&mut site);
    let stepped = wait(ended).expect("a step");
    assert_eq!(cancel(&mut site), 120, "too late");
    let mut out = Vec::new();
    let (worker, session) = site.parts();
    assert!(worker.take_back(session, stepped, &mut out).is_none());
    assert_eq!(results(&out), [0]);
    for _ in 0..20 {
        let handed_over = begin(&mut site);
        let expected = match cancel(&mut site) {
            0 => 118,
            120 => 0,
            other => panic!("{other}"),
        };
        assert_eq!(results(&end(&mut site, handed_over)), [expected]);
    }
}
