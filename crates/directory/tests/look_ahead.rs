//! Searches that come in one read are looked up together, and answer what each would answer alone.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic fails the test"
)]

use ironbark_directory::{Progress, Started};
use ironbark_harness::Site;
use ironbark_ldap_proto::{
    BindRequest, CompareRequest, DerefAliases, Filter, MessageId, Request, Scope, SearchRequest,
    message::encode_request,
};

const LIMIT: usize = 1 << 20;

fn search(id: i32, base: &str, filter: &str) -> Vec<u8> {
    let request = Request::Search(SearchRequest {
        base: base.as_bytes(),
        scope: Scope::WholeSubtree,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit: 0,
        types_only: false,
        filter: Filter::parse(filter.as_bytes(), 10).expect("a filter"),
        attributes: [].as_slice().into(),
    });
    encoded(id, &request)
}

fn encoded(id: i32, request: &Request<'_>) -> Vec<u8> {
    let mut pdu = Vec::new();
    encode_request(&mut pdu, MessageId::new(id).expect("in range"), request, &[]);
    pdu
}

fn site(lines: &str) -> Site {
    let mut site = Site::populated(&format!("index objectClass,sn,uid,cn,mail eq\n{lines}"));
    for number in 0..200 {
        let text = format!(
            "objectClass: inetOrgPerson\ncn: Name {number}\nsn: S{}\nmail: m{}@example.com",
            number % 20,
            number / 2
        );
        site.must_add(&format!("uid=user{number},ou=p,dc=ex"), &text);
    }
    site
}

/// The answers to messages of one read: looked up together, or one by one.
fn answers(site: &mut Site, messages: &[Vec<u8>], together: bool) -> Vec<u8> {
    let received = messages.concat();
    let mut out = Vec::new();
    let (worker, session) = site.parts();
    let mut begun = Vec::new();
    let mut batch = worker.batch(None);
    let (mut at, mut looked_at) = (0, 0);
    for message in messages {
        if looked_at == 0 && together {
            looked_at = batch.look_ahead(&received[at..], LIMIT);
            assert!(looked_at >= 1);
        }
        looked_at = looked_at.saturating_sub(1);
        begun.push(batch.start(session, message, &mut out));
        at += message.len();
    }
    for started in begun {
        match started {
            Started::Search(mut run) => while worker.step(session, &mut run, &mut out) == Progress::More {},
            Started::Answered => {}
            _ => panic!("a search, a compare, or an anonymous bind"),
        }
    }
    out
}

/// Searches of all kinds, and other requests in between.
fn mixed() -> Vec<Vec<u8>> {
    let compare = |id, name: &str| {
        encoded(
            id,
            &Request::Compare(CompareRequest {
                entry: name.as_bytes(),
                attribute: b"sn",
                value: b"S1",
            }),
        )
    };
    let mut messages = Vec::new();
    for number in 0..120 {
        let id = number + 1;
        let filter = match number % 10 {
            0..4 => format!("(uid=USER{})", number * 3),
            4 => format!("(&(objectClass=inetOrgPerson)(uid=user{number})(sn=s*))"),
            5 => format!("(sn=S{})", number % 20),
            6 => format!("(&(sn=S{})(cn=name {number}))", number % 20),
            7 => format!("(|(uid=user{number})(uid=user{}))", number + 1),
            8 => format!("(mail=m{number}@EXAMPLE.com)"),
            _ => "(unknown=x)".to_owned(),
        };
        messages.push(match number {
            33 => compare(id, "uid=user1,ou=p,dc=ex"),
            71 => compare(id, "uid=nobody,ou=p,dc=ex"),
            _ if number % 7 == 0 => search(id, "ou=P, dc=ex", &filter),
            _ if number % 11 == 0 => search(id, "dc=elsewhere", &filter),
            _ => search(id, "dc=ex", &filter),
        });
    }
    messages
}

#[test]
fn searches_of_one_read_answer_what_each_answers_alone() {
    let rules = "access to dn.regex=\"^uid=user[0-9]*5,\" by users read by * none\n\
                 access to attrs=mail by users read by * none\n\
                 access to * by * read";
    for lines in ["", rules] {
        let mut site = site(lines);
        for identity in ["", "uid=user3,ou=p,dc=ex", "cn=root,dc=ex"] {
            site.become_(identity);
            let messages = mixed();
            let alone = answers(&mut site, &messages, false);
            for _ in 0..3 {
                let together = answers(&mut site, &messages, true);
                assert!(together == alone, "other octets for {identity:?} under {lines:?}");
            }
            assert!(alone.len() > 2000, "something was found");
        }
    }
}

#[test]
fn a_bind_ends_the_stretch() {
    let mut site = site("access to attrs=mail by users read by * none\naccess to * by * read");
    let by_mail = |id| search(id, "dc=ex", "(mail=m7@example.com)");
    let by_name = |id| search(id, "dc=ex", "(uid=user14)");
    let anonymous = BindRequest {
        version: 3,
        name: b"",
        authentication: ironbark_ldap_proto::Authentication::Simple(b""),
    };
    let messages = [
        by_name(1),
        by_mail(2),
        encoded(3, &Request::Bind(anonymous)),
        by_mail(4),
        by_name(5),
    ];
    let received = messages.concat();
    site.become_("uid=user3,ou=p,dc=ex");
    let (worker, _) = site.parts();
    assert_eq!(worker.batch(None).look_ahead(&received, LIMIT), 3);
    let answer = answers(&mut site, &messages, true);
    let count = |what: &[u8]| answer.windows(what.len()).filter(|bytes| *bytes == what).count();
    // Two entries have the address; once they are found by it, before the bind.
    assert_eq!(count(b"uid=user14,ou=p,dc=ex"), 3);
    assert_eq!(count(b"uid=user15,ou=p,dc=ex"), 1);
    assert_eq!(count(b"m7@example.com"), 3);
}

#[test]
fn a_message_alone_and_a_cut_message_are_not_looked_up() {
    let mut site = site("");
    let (one, two) = (search(1, "dc=ex", "(uid=user1)"), search(2, "dc=ex", "(uid=user2)"));
    let both = [one.clone(), two].concat();
    let (worker, _) = site.parts();
    let mut batch = worker.batch(None);
    assert_eq!(batch.look_ahead(&one, LIMIT), 1);
    for end in 0..both.len() {
        assert_eq!(batch.look_ahead(&both[..end], LIMIT), 1, "{end}");
    }
    assert_eq!(batch.look_ahead(&both, LIMIT), 2);
    assert_eq!(batch.look_ahead(&both, 4), 1, "over the limit");
    assert_eq!(batch.look_ahead(&[0xff; 64], LIMIT), 1);
}

#[test]
fn a_write_between_two_reads_is_seen() {
    let mut site = site("");
    let messages = [search(1, "dc=ex", "(uid=user1)"), search(2, "dc=ex", "(uid=user2)")];
    let before = answers(&mut site, &messages, true);
    let changed = site.modify("uid=user1,ou=p,dc=ex", "replace: sn\nsn: Changed");
    let deleted = site.delete("uid=user2,ou=p,dc=ex");
    assert_eq!((changed.brief().0, deleted.brief().0), (0, 0));
    let after = answers(&mut site, &messages, true);
    assert!(after.windows(7).any(|octets| octets == b"Changed"));
    assert!(before.windows(5).any(|octets| octets == b"user2"));
    assert!(!after.windows(5).any(|octets| octets == b"user2"));
    assert_eq!(after, answers(&mut site, &messages, false));
}
