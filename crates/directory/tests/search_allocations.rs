//! A search in steady state allocates nothing on the heap, except for the operands of `&` and `|`.

#![expect(clippy::expect_used, reason = "a panic fails the test")]

use ironbark_directory::Started;
use ironbark_harness::Site;
use ironbark_ldap_proto::{
    DerefAliases, Filter, MessageId, Request, Scope, SearchRequest, frame, message::encode_request,
};

fn pdu(base: &str, scope: Scope, filter: &str, attributes: &[&[u8]]) -> Vec<u8> {
    let request = Request::Search(SearchRequest {
        base: base.as_bytes(),
        scope,
        deref_aliases: DerefAliases::Never,
        size_limit: 10,
        time_limit: 30,
        types_only: false,
        filter: Filter::parse(filter.as_bytes(), 10).expect("a filter"),
        attributes: attributes.into(),
    });
    let mut pdu = Vec::new();
    encode_request(&mut pdu, MessageId::new(7).expect("in range"), &request, &[]);
    pdu
}

/// Allocations of ten searches, after three that may fill caches.
fn allocations(site: &mut Site, base: &str, scope: Scope, filter: &str, attributes: &[&[u8]]) -> u64 {
    let pdu = pdu(base, scope, filter, attributes);
    let mut out = Vec::with_capacity(1 << 16);
    let (worker, session) = site.parts();
    let mut once = || {
        out.clear();
        assert!(matches!(worker.start(session, &pdu, &mut out), Started::Answered));
    };
    (0..3).for_each(|_| once());
    let measured = allocation_counter::measure(|| (0..10).for_each(|_| once()));
    assert!(out.windows(5).any(|bytes| bytes == b"dc=ex"), "an entry was found");
    measured.count_total
}

/// A decoded filter has only the lists of operands of `&` and `|` on the heap.
fn lists_in(filter: &str) -> u64 {
    filter.matches(['&', '|']).count() as u64
}

fn site(lines: &str) -> Site {
    let mut site = Site::populated(&format!("index objectClass,cn,sn eq\nindex uid eq,sub\n{lines}"));
    for number in 0..40 {
        let class = "objectClass: inetOrgPerson\nobjectClass: counter";
        let rest = "cn: Name\nsn: Some Body\nsn: Other\nmail: a@example.com\ncount: 17";
        site.must_add(&format!("uid=user{number},ou=p,dc=ex"), &format!("{class}\n{rest}"));
    }
    site
}

const SEARCHES: [(&str, Scope, &str, &[&[u8]]); 5] = [
    ("dc=ex", Scope::WholeSubtree, "(uid=user7)", &[]),
    (
        "ou=P,  DC=ex",
        Scope::SingleLevel,
        "(UID=User11)",
        &[b"cn", b"mail", b"entryUUID"],
    ),
    (
        "uid=user9,ou=p,dc=ex",
        Scope::BaseObject,
        "(objectClass=*)",
        &[b"*", b"+"],
    ),
    (
        "dc=ex",
        Scope::WholeSubtree,
        "(&(objectClass=inetOrgPerson)(uid=user20))",
        &[],
    ),
    (
        "dc=ex",
        Scope::WholeSubtree,
        "(|(uid=user1)(uid=user2)(cn=a))",
        &[b"1.1"],
    ),
];

#[test]
fn a_search_that_no_rule_restricts_allocates_nothing() {
    let mut site = site("");
    let mut found = Vec::new();
    for identity in ["", "cn=root,dc=ex"] {
        site.become_(identity);
        for (base, scope, filter, attributes) in SEARCHES {
            let count = allocations(&mut site, base, scope, filter, attributes);
            if count > 10 * lists_in(filter) {
                found.push(format!("{count} in ten searches {base:?} {filter} as {identity:?}"));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn searches_that_are_looked_up_together_allocate_nothing() {
    let mut site = site("");
    let mut received = Vec::new();
    for number in 0..40 {
        let filter = format!("(uid=user{number})");
        received.extend(pdu("dc=ex", Scope::WholeSubtree, &filter, &[]));
    }
    let mut out = Vec::with_capacity(1 << 20);
    let (worker, session) = site.parts();
    let mut once = || {
        out.clear();
        let mut batch = worker.batch(None);
        let (mut rest, mut looked_at, mut looks) = (received.as_slice(), 0, 0);
        while let Ok(Some(length)) = frame(rest, usize::MAX) {
            if looked_at == 0 {
                looked_at = batch.look_ahead(rest, usize::MAX);
                looks += 1;
            }
            looked_at -= 1;
            let (message, behind) = rest.split_at(length);
            assert!(matches!(batch.start(session, message, &mut out), Started::Answered));
            rest = behind;
        }
        assert_eq!(looks, 3, "16, 16 and 8 messages");
    };
    (0..3).for_each(|_| once());
    let measured = allocation_counter::measure(|| (0..10).for_each(|_| once()));
    assert_eq!(measured.count_total, 0);
    assert!(out.windows(6).any(|bytes| bytes == b"user39"), "an entry was found");
}

#[test]
fn a_search_under_access_rules_allocates_nothing() {
    let mut site = site(
        "access to attrs=userPassword by self write by anonymous auth by * none\n\
         access to dn.regex=\"^uid=[^,]+,ou=p,dc=ex$\" attrs=mail by users read\n\
         access to dn.subtree=\"ou=p,dc=ex\" attrs=sn by users read\n\
         access to * by * read",
    );
    site.become_("uid=user3,ou=p,dc=ex");
    let mut found = Vec::new();
    for (base, scope, filter, attributes) in SEARCHES {
        let count = allocations(&mut site, base, scope, filter, attributes);
        if count > 10 * lists_in(filter) {
            found.push(format!("{count} in ten searches {base:?} {filter}"));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Takes all lines, and keeps none.
struct Lines;

impl tracing::Subscriber for Lines {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::Id {
        tracing::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::Id, _: &tracing::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        assert_eq!(event.metadata().target(), "stats");
    }

    fn enter(&self, _: &tracing::Id) {}

    fn exit(&self, _: &tracing::Id) {}
}

#[test]
fn a_search_that_is_logged_allocates_nothing() {
    let mut site = site("");
    let mut found = Vec::new();
    tracing::subscriber::with_default(Lines, || {
        for (base, scope, filter, attributes) in SEARCHES {
            let count = allocations(&mut site, base, scope, filter, attributes);
            if count > 10 * lists_in(filter) {
                found.push(format!("{count} in ten searches {base:?} {filter}"));
            }
        }
    });
    assert!(found.is_empty(), "{found:#?}");
}
