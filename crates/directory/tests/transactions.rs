//! Transactions of clients (RFC 5805).
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use ironbark_harness::{DecodedAnswer, Site, TestClient};
use ironbark_ldap_proto::{
    Authentication, BindRequest, DecodeLimits, EncodeControl, ExtendedRequest, Request, Response, ResponseMessage,
    controls::{Control, PostRead, TransactionSpecification},
    extended::transaction::{self, EndRequest},
    frame,
};

const MEMBER: &str = "objectClass: person\nsn: s";
const SPECIFICATION: Control<TransactionSpecification<'_>> = Control::critical(TransactionSpecification(b""));

fn extended(site: &mut TestClient, name: &str, value: Option<&[u8]>) -> DecodedAnswer {
    let request = ExtendedRequest {
        name: name.as_bytes(),
        value,
    };
    site.send(&Request::Extended(request), &[])
}

fn start(site: &mut TestClient) {
    let answer = extended(site, transaction::START, None);
    assert_eq!((answer.code, answer.value), (0, Some(Vec::new())), "{}", answer.text);
}

fn end(site: &mut TestClient, commit: bool) -> DecodedAnswer {
    let (mut value, identifier) = (Vec::new(), &b""[..]);
    EndRequest { commit, identifier }.encode(&mut value);
    extended(site, transaction::END, Some(&value))
}

/// The number of requests after the start at which the transaction was refused.
fn refused(before: i32, answer: &DecodedAnswer) -> Option<i32> {
    let value = answer.value.as_deref().expect("a value");
    let id = transaction::decode_refused(value).expect("decodes");
    id.map(|id| id.value() - before)
}

fn add(site: &mut TestClient, name: &str) -> DecodedAnswer {
    site.add_with(&format!("cn={name},ou=p,dc=ex"), MEMBER, &[&SPECIFICATION])
}

fn has(site: &mut TestClient, name: &str) -> bool {
    site.read(&format!("cn={name},ou=p,dc=ex"), &["cn"]).is_some()
}

#[test]
fn updates_are_made_at_its_end_all_together() {
    let mut site = Site::populated("");
    start(&mut site);
    assert_eq!(add(&mut site, "x").code, 0);
    let specification: &[&dyn EncodeControl] = &[&SPECIFICATION];
    assert_eq!(
        site.modify_with("cn=x,ou=p,dc=ex", "replace: sn\ns: t", specification)
            .code,
        0
    );
    assert_eq!(
        site.rename_with("cn=a,ou=p,dc=ex", "cn=y", true, None, specification)
            .code,
        0
    );
    assert_eq!(site.delete_with("cn=b,ou=p,dc=ex", specification).code, 0);
    assert!(
        !has(&mut site, "x") && has(&mut site, "a") && has(&mut site, "b"),
        "nothing is made before"
    );
    let answer = end(&mut site, true);
    assert_eq!((answer.code, answer.value), (0, None), "{}", answer.text);
    assert!(has(&mut site, "x") && has(&mut site, "y") && !has(&mut site, "a") && !has(&mut site, "b"));
    assert!(site.read("cn=x,ou=p,dc=ex", &["sn"]).unwrap().contains("sn: t"));
    assert_eq!(end(&mut site, true).brief(), (16_673, "invalid transaction identifier"));
}

/// RFC 5805 §4.
#[test]
fn of_a_transaction_with_one_refused_update_nothing_is_made() {
    let mut site = Site::populated("");
    start(&mut site);
    let before = site.last_message_id();
    assert_eq!(add(&mut site, "x").code, 0);
    assert_eq!(add(&mut site, "a").code, 0, "it is not looked at yet");
    assert_eq!(add(&mut site, "z").code, 0);
    let answer = end(&mut site, true);
    assert_eq!(
        (answer.code, refused(before, &answer)),
        (68, Some(2)),
        "{}",
        answer.text
    );
    assert!(!has(&mut site, "x") && !has(&mut site, "z"));
    // The first one refused.
    start(&mut site);
    let before = site.last_message_id();
    assert_eq!(add(&mut site, "a").code, 0);
    assert_eq!(add(&mut site, "x").code, 0);
    let answer = end(&mut site, true);
    assert_eq!((answer.code, refused(before, &answer)), (68, Some(1)));
    assert!(!has(&mut site, "x"));
    assert_eq!(site.add("cn=x,ou=p,dc=ex", MEMBER).code, 0, "the writer goes on");
}

#[test]
fn it_is_forgotten_if_it_is_not_committed_or_a_bind_comes() {
    let mut site = Site::populated("");
    start(&mut site);
    assert_eq!(add(&mut site, "x").code, 0);
    assert_eq!(end(&mut site, false).code, 0);
    assert!(!has(&mut site, "x"));
    start(&mut site);
    assert_eq!(add(&mut site, "x").code, 0);
    let bind = BindRequest {
        version: 3,
        name: b"cn=root,dc=ex",
        authentication: Authentication::Simple(b"secret"),
    };
    let octets = site.send_for_octets(&Request::Bind(bind), &[]);
    let length = frame(&octets, 1 << 20).expect("frames").expect("whole");
    let notice = ResponseMessage::decode(&octets[..length], &DecodeLimits::default()).expect("decodes");
    let Response::Extended(response) = notice.operation else {
        panic!("no notice");
    };
    assert_eq!(
        (notice.id.value(), response.name),
        (0, Some(transaction::ABORTED_NOTICE.as_bytes()))
    );
    site.become_("cn=root,dc=ex");
    assert_eq!(end(&mut site, true).code, 16_673);
    assert!(!has(&mut site, "x"));
}

#[test]
fn a_bind_that_cannot_be_read_aborts_it_too() {
    let mut site = Site::populated("");
    start(&mut site);
    // The choice of authentication is unknown.
    let bind = b"\x30\x0c\x02\x01\x09\x60\x07\x02\x01\x03\x04\x00\x85\x00";
    let (worker, session) = site.parts();
    let mut out = Vec::new();
    worker.start(session, bind, &mut out);
    let answered = |oid: &str| out.windows(oid.len()).any(|octets| octets == oid.as_bytes());
    assert!(answered(transaction::ABORTED_NOTICE), "the notice: {out:02x?}");
    site.become_("cn=root,dc=ex");
    assert_eq!(end(&mut site, true).code, 16_673, "there is none any more");
}

#[test]
fn there_is_one_at_most_and_an_update_needs_it() {
    let mut site = Site::populated("");
    assert_eq!(add(&mut site, "x").brief(), (16_673, "invalid transaction identifier"));
    start(&mut site);
    assert_eq!(
        extended(&mut site, transaction::START, None).brief(),
        (51, "Too many transactions")
    );
    let other = Control::critical(TransactionSpecification(b"7"));
    assert_eq!(site.add_with("cn=x,ou=p,dc=ex", MEMBER, &[&other]).code, 16_673);
    let optional = Control::optional(TransactionSpecification(b""));
    let refused = site.add_with("cn=x,ou=p,dc=ex", MEMBER, &[&optional]);
    assert_eq!(refused.brief(), (2, "txnSpec control must be marked critical"));
    assert_eq!(end(&mut site, true).brief(), (1, "no updates to commit"));
    assert_eq!(end(&mut site, true).code, 16_673);
    assert_eq!(extended(&mut site, transaction::END, None).code, 2);
    assert_eq!(extended(&mut site, transaction::START, Some(b"")).code, 2);
}

#[test]
fn it_has_a_limit() {
    let mut site = Site::populated("");
    start(&mut site);
    for number in 0..1_024 {
        assert_eq!(add(&mut site, &number.to_string()).code, 0, "{number}");
    }
    assert_eq!(add(&mut site, "x").code, 11);
    assert_eq!(end(&mut site, true).code, 0);
    assert!(has(&mut site, "1023") && !has(&mut site, "x"));
    start(&mut site);
    let long = format!("{MEMBER}\ndescription: {}", "d".repeat(100_000));
    let mut taken = 0;
    while site
        .add_with(&format!("cn=l{taken},ou=p,dc=ex"), &long, &[&SPECIFICATION])
        .code
        == 0
    {
        taken += 1;
    }
    assert!((30..42).contains(&taken), "{taken}");
    assert_eq!(end(&mut site, false).code, 0);
}

#[test]
fn the_rights_of_the_client_are_checked_at_its_end() {
    let mut site = Site::populated("access to dn.base=\"cn=a,ou=p,dc=ex\" by * write\naccess to * by * read");
    site.become_("cn=c,ou=p,dc=ex");
    start(&mut site);
    let before = site.last_message_id();
    let specification: &[&dyn EncodeControl] = &[&SPECIFICATION];
    assert_eq!(
        site.modify_with("cn=a,ou=p,dc=ex", "replace: sn\ns: mine", specification)
            .code,
        0
    );
    assert_eq!(
        site.modify_with("cn=b,ou=p,dc=ex", "replace: sn\ns: mine", specification)
            .code,
        0
    );
    let answer = end(&mut site, true);
    assert_eq!((answer.code, refused(before, &answer)), (50, Some(2)));
    assert!(!site.read("cn=a,ou=p,dc=ex", &["sn"]).unwrap().contains("mine"));
    site.become_("");
    start(&mut site);
    assert_eq!(
        site.modify_with("cn=a,ou=p,dc=ex", "replace: sn\ns: mine", specification)
            .code,
        8
    );
    assert_eq!(end(&mut site, true).code, 1);
}

#[test]
fn the_response_has_the_controls_of_the_updates() {
    let mut site = Site::populated("");
    start(&mut site);
    let names: &[&[u8]] = &[b"sn"];
    let after = Control::critical(PostRead(names.into()));
    let controls: &[&dyn EncodeControl] = &[&SPECIFICATION, &after];
    assert_eq!(
        site.modify_with("cn=a,ou=p,dc=ex", "replace: sn\ns: new", controls)
            .code,
        0
    );
    let answer = end(&mut site, true);
    let value = answer.value.expect("a value");
    assert_eq!((answer.code, transaction::decode_refused(&value)), (0, Ok(None)));
    assert!(value.windows(3).any(|octets| octets == b"new"));
}
