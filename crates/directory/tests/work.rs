//! The cost of searches, counted in steps: no turn of a reactor takes more than its share, longer work continues
//! elsewhere, all work has a limit, and it ends when nobody waits for it any more.

#![expect(clippy::expect_used, reason = "a panic fails the test")]

mod list_views;
mod names;
mod stopped;

use std::{
    fmt::Write as _,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

use ironbark_directory::{HandedOver, Progress, Started, Stepped};
use ironbark_harness::{Site, search_request};
use ironbark_ldap_proto::{
    DecodeLimits, EncodeControl, Filter, Request, Response, ResponseMessage, Scope, SearchRequest,
    controls::{Control, DereferenceRequest, DereferenceSpecification, MatchedValues},
    frame,
};

/// Steps of a turn.
const TURN: u64 = 20_000;
const VALUES: usize = 3_000;
const GROUPS: usize = 60;
const DENSE: usize = 30;
/// Links of the groups.
const LINKS: u64 = (GROUPS * DENSE) as u64;

/// An entry with many values, groups that are members of each other, and some more entries.
fn site(lines: &str, others: usize) -> Site {
    let mut site = Site::open_with_views("", lines);
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    let values = (0..VALUES).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "description: {} value {number}", "a".repeat(40));
        text
    });
    site.must_add("cn=long,dc=ex", &format!("objectClass: device\n{values}"));
    for number in 0..GROUPS {
        let members = (1..=DENSE).fold(String::new(), |mut text, next| {
            let _ = writeln!(text, "member: cn=g{},dc=ex", (number + next) % GROUPS);
            text
        });
        site.must_add(
            &format!("cn=g{number},dc=ex"),
            &format!("objectClass: groupOfNames\n{members}"),
        );
    }
    for number in 0..others {
        site.must_add(&format!("cn=d{number},dc=ex"), "objectClass: device");
    }
    site
}

fn any_of(count: usize) -> String {
    let items = (0..count).fold(String::new(), |mut text, number| {
        let _ = write!(text, "(description=*zz{number}*)");
        text
    });
    format!("(|{items})")
}

fn search<'a>(base: &'a str, scope: Scope, filter: &'a str) -> SearchRequest<'a> {
    search_request(base, scope, filter, &[])
}

fn encoded(request: SearchRequest<'_>, controls: &[&dyn EncodeControl]) -> Vec<u8> {
    ironbark_harness::encoded(&Request::Search(request), controls)
}

/// How a search went.
#[derive(Debug)]
struct Course {
    code: u32,
    entries: usize,
    /// The most steps of a turn on the reactor, and the sum of all turns.
    most: u64,
    all: u64,
    /// Steps on other threads.
    elsewhere: u64,
    /// Octets of the answer.
    octets: usize,
    was_handed_over: bool,
}

/// Acts like a connection: longer work is handed over.
fn run(site: &mut Site, pdu: &[u8]) -> Course {
    let mut out = Vec::new();
    let (worker, session) = site.parts();
    let started = worker.start(session, pdu, &mut out);
    let mut course = Course {
        code: u32::MAX,
        entries: 0,
        most: worker.spent_in_turn(),
        all: worker.spent_in_turn(),
        elsewhere: 0,
        octets: 0,
        was_handed_over: false,
    };
    let mut under_way = match started {
        Started::Search(run) => Some(run),
        _ => None,
    };
    while let Some(mut run) = under_way.take() {
        if run.is_long() {
            course.was_handed_over = true;
            let handed_over = worker.hand_over(session, run, &mut out).expect("there is room");
            let stepped = wait(handed_over).expect("a step");
            course.elsewhere += stepped.spent();
            under_way = worker.take_back(session, stepped, &mut out);
            continue;
        }
        let progress = worker.step(session, &mut run, &mut out);
        course.most = course.most.max(worker.spent_in_turn());
        course.all += worker.spent_in_turn();
        under_way = (progress == Progress::More).then_some(run);
    }
    course.octets = out.len();
    each_response(&out, |response| match response {
        Response::Done(_, result) => course.code = result.code.0,
        _ => course.entries += 1,
    });
    course
}

fn each_response(mut rest: &[u8], mut visit: impl FnMut(Response<'_>)) {
    while let Some(length) = frame(rest, 1 << 26).expect("frames") {
        let (pdu, more) = rest.split_at(length);
        let message = ResponseMessage::decode(pdu, &DecodeLimits::default()).expect("decodes");
        visit(message.operation);
        rest = more;
    }
}

/// The codes of the results.
fn results(out: &[u8]) -> Vec<u32> {
    let mut codes = Vec::new();
    each_response(out, |response| match response {
        Response::Done(_, result) => codes.push(result.code.0),
        Response::Bind(response) => codes.push(response.result.code.0),
        Response::Extended(response) => codes.push(response.result.code.0),
        _ => {}
    });
    codes
}

/// Wakes the thread that waits.
struct Waiting(Thread);

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait(mut search: HandedOver) -> Option<Stepped> {
    let waker = Waker::from(Arc::new(Waiting(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match std::pin::Pin::new(&mut search).poll(&mut context) {
            Poll::Ready(stepped) => return stepped.ok(),
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn no_turn_takes_more_steps_than_its_share_and_what_is_longer_goes_on_elsewhere() {
    let mut site = site("limits * size=unlimited", 0);
    let many = any_of(500);
    let phrases = format!("(cn={})", "\u{fdfa}".repeat(2_000));
    let parts = format!("(description=*{}*)", vec!["a"; 500].join("*"));
    let matched: Vec<Filter<'_>> = (0..500)
        .map(|number| Filter::parse(format!("(description=*zz{number}*)").leak().as_bytes(), 3).expect("a filter"))
        .collect();
    let matched = Control::critical(MatchedValues(matched));
    let names = [b"objectClass".as_slice()];
    let one = [DereferenceSpecification {
        attribute: b"member",
        attributes: names.as_slice().into(),
    }];
    let dereference = Control::critical(DereferenceRequest(one.as_slice().into()));
    let attacks: [(&str, Vec<u8>, bool, usize); 6] = [
        (
            "many substrings",
            encoded(search("dc=ex", Scope::WholeSubtree, &many), &[]),
            true,
            0,
        ),
        (
            "matched values",
            encoded(search("cn=long,dc=ex", Scope::BaseObject, "(cn=*)"), &[&matched]),
            true,
            1,
        ),
        (
            "phrases",
            encoded(search("dc=ex", Scope::WholeSubtree, &phrases), &[]),
            true,
            0,
        ),
        (
            "many parts",
            encoded(search("dc=ex", Scope::WholeSubtree, &parts), &[]),
            true,
            0,
        ),
        (
            "a chain",
            encoded(
                search(
                    "dc=ex",
                    Scope::WholeSubtree,
                    "(member:1.2.840.113556.1.4.1941:=cn=nobody,dc=ex)",
                ),
                &[],
            ),
            true,
            0,
        ),
        (
            "dereference",
            encoded(search("dc=ex", Scope::WholeSubtree, "(cn=g*)"), &[&dereference]),
            false,
            GROUPS,
        ),
    ];
    site.become_("cn=g0,dc=ex");
    for (name, pdu, is_long, entries) in attacks {
        let course = run(&mut site, &pdu);
        assert_eq!((course.code, course.entries), (0, entries), "{name}: {course:?}");
        assert!(course.most <= TURN, "{name}: {course:?}");
        assert_eq!(course.was_handed_over, is_long, "{name}: {course:?}");
    }
}

#[test]
fn links_of_a_chain_are_followed_once_however_many_candidates_there_are() {
    let mut site = site("", 0);
    let filter = "(member:1.2.840.113556.1.4.1941:=cn=nobody,dc=ex)";
    let pdu = encoded(search("dc=ex", Scope::WholeSubtree, filter), &[]);
    let mut out = Vec::new();
    let (worker, session) = site.parts();
    let Started::Search(mut run) = worker.start(session, &pdu, &mut out) else {
        panic!("too long for the first turn");
    };
    let mut all = 0;
    while worker.step(session, &mut run, &mut out) == Progress::More {
        all += worker.spent_in_turn();
    }
    all += worker.spent_in_turn();
    assert!(all < 50 * LINKS, "{all} steps for {LINKS} links");
}

#[test]
fn all_of_a_search_has_a_limit() {
    let mut site = site("access to * by * read", 0);
    site.become_("");
    let phrases = format!("(cn={})", "\u{fdfa}".repeat(600_000));
    let pdu = encoded(search("dc=ex", Scope::WholeSubtree, &phrases), &[]);
    let course = run(&mut site, &pdu);
    assert_eq!((course.code, course.entries), (11, 0), "{course:?}");
    assert!(course.most <= TURN && course.was_handed_over, "{course:?}");
}

#[test]
fn a_long_search_ends_when_nobody_waits_for_it() {
    let mut site = site("", 0);
    let pdu = encoded(search("cn=long,dc=ex", Scope::BaseObject, &any_of(30_000)), &[]);
    let mut out = Vec::new();
    let (worker, session) = site.parts();
    let Started::Search(mut run) = worker.start(session, &pdu, &mut out) else {
        panic!("too long for the first turn");
    };
    while !run.is_long() {
        assert_eq!(worker.step(session, &mut run, &mut out), Progress::More);
    }
    // The rootdn's search has no limit: without the flag it would take minutes.
    let handed_over = worker.hand_over(session, run, &mut out).expect("there is room");
    session.stop_all();
    let stepped = wait(handed_over).expect("it comes back at once");
    assert!(worker.take_back(session, stepped, &mut out).is_none());
    assert!(out.is_empty(), "there is no response");
}

#[test]
fn what_a_set_says_of_the_requester_is_found_out_once() {
    let rule = "access to * by set=\"[cn=g0,dc=ex]/member* & user\" read by users search by * none";
    let mut few = site(rule, 100);
    let mut more = site(rule, 400);
    let pdu = encoded(search("dc=ex", Scope::WholeSubtree, "(objectClass=device)"), &[]);
    let [few, more] = [&mut few, &mut more].map(|site| {
        site.become_("cn=g7,dc=ex");
        let first = run(site, &pdu);
        assert!(first.most <= TURN, "{first:?}");
        first
    });
    assert_eq!((few.code, few.entries), (0, 101), "{few:?}");
    assert_eq!((more.code, more.entries), (0, 401), "{more:?}");
    assert!(
        more.all.abs_diff(few.all) < 300 * 40,
        "300 entries more do not walk through {LINKS} links each: {few:?} {more:?}"
    );
}

#[test]
fn an_attribute_is_dereferenced_once() {
    let mut site = site("", 0);
    let names = [b"cn".as_slice()];
    let specification = |attribute: &'static [u8]| DereferenceSpecification {
        attribute,
        attributes: names.as_slice().into(),
    };
    let mut answer = |attributes: &[&'static [u8]], is_critical: bool| {
        let specifications: Vec<_> = attributes.iter().map(|attribute| specification(attribute)).collect();
        let request = DereferenceRequest(specifications.as_slice().into());
        let control = if is_critical {
            Control::critical(request)
        } else {
            Control::optional(request)
        };
        let request = search("cn=g0,dc=ex", Scope::BaseObject, "(cn=*)");
        let answer = site.send(&Request::Search(request), &[&control]);
        (answer.code, answer.text)
    };
    let unique = "Dereference control: derefAttr must be unique within control";
    assert_eq!(answer(&[b"member", b"member"], false), (2, unique.to_owned()));
    assert_eq!(answer(&[b"member", b"MEMBER"], true), (2, unique.to_owned()));
    assert_eq!(answer(&[b"member", b"seeAlso"], true).0, 0);
    let syntax = "Dereference control: derefAttr syntax not distinguishedName";
    assert_eq!(answer(&[b"cn"], true), (2, syntax.to_owned()));
    assert_eq!(answer(&[b"cn"], false).0, 0);
}

/// Names are read before anything can be put aside.
#[test]
fn a_name_that_takes_long_to_read_ends_the_turn() {
    let mut site = site("", 0);
    let base = |name: &str| {
        encoded(
            search(&format!("cn={name},dc=ex"), Scope::BaseObject, "(objectClass=*)"),
            &[],
        )
    };
    assert!(run(&mut site, &base(&"x".repeat(7_000))).most < TURN / 2);
    assert_eq!(run(&mut site, &base(&"\u{fdfa}".repeat(2_000))).most, TURN);
}
