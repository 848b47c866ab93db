//! What a slapd that takes writes itself must be told, as it does not remember deletes: it keeps an entry of which the
//! cookie of the delete does not cover its version, and takes back what it has deleted itself.

use ironbark_directory::{Incoming, Replicated, ReplicatedEntry};
use ironbark_store::ContextVector;

use crate::syncprov::{
    ALL,
    consumer::{Consumer, Message},
    entry,
};
use ironbark_harness::{
    peer::{LINES, csn, made, message, parsed, person, refresh, send, shared},
    {Site, TestClient},
};
use ironbark_ldap_proto::controls::EntryState;

const A: &str = "cn=a,dc=ex";
const B: &str = "cn=b,dc=ex";
/// The server ID of slapd.
const SLAPD: u16 = 2;

/// A provider with an entry of slapd (`A`), and one of a third server (`B`).
fn provider() -> Site {
    let lines = format!("{LINES}\noverlay syncprov");
    let site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    let top = made("dc=ex", 1, &csn(1, 1), &[("objectClass", "domain"), ("dc", "ex")]);
    for sent in [top, person(A, 2, &csn(SLAPD, 2)), person(B, 3, &csn(3, 3))] {
        refresh(&site, shared(&site), &sent);
    }
    tell(&site, Incoming::Nothing, &[csn(1, 1), csn(SLAPD, 2), csn(3, 3)]);
    site
}

/// An entry of the provider with one more attribute, and this CSN.
fn changed(name: &str, uuid: u8, csn: &str) -> ReplicatedEntry {
    let mut changed = person(name, uuid, csn);
    changed.attributes.push(("description".into(), vec![b"new".to_vec()]));
    changed
}

/// A message with the CSN of a change, and this cookie.
fn tell(site: &Site, incoming: Incoming, cookie: &[String]) {
    let cookie: Vec<_> = cookie.iter().map(|csn| parsed(csn)).collect();
    let change = Replicated {
        csn: cookie.first().copied(),
        cookie,
        ..message(shared(site), incoming)
    };
    send(site, change).expect("applied");
}

/// The CSNs of the last cookie that was told.
fn last_told(consumer: &Consumer) -> ContextVector {
    let cookie = consumer.cookies.last().expect("a cookie");
    let csns = cookie.split(',').find_map(|word| word.strip_prefix("csn="));
    csns.unwrap_or_default().split(';').map(parsed).collect()
}

/// A slapd that has everything, and stays; and its connection.
fn slapd(site: &Site) -> (Consumer, TestClient) {
    let (mut consumer, mut connection) = (Consumer::default(), site.connect());
    consumer.sid = SLAPD;
    consumer.begin(&mut connection, ALL, true);
    assert_eq!(consumer.content().len(), 3);
    (consumer, connection)
}

#[test]
fn a_delete_that_came_in_a_refresh_covers_the_version_of_the_entry() {
    let site = provider();
    let (mut consumer, mut connection) = slapd(&site);
    let (uuid, version) = ([3; 16], csn(3, 10));
    // The refresh has brought it before.
    refresh(&site, shared(&site), &changed(B, 3, &version));
    consumer.go_on(&mut connection);
    let deleted = Replicated {
        csn: Some(parsed(&csn(1, 20))),
        ..message(shared(&site), Incoming::Delete { uuid })
    };
    send(&site, deleted).expect("applied");
    consumer.go_on(&mut connection);
    assert!(!consumer.entries.contains_key(&uuid));
    assert!(last_told(&consumer).covers(parsed(&version)), "{:?}", consumer.cookies);
}

#[test]
fn an_entry_that_was_changed_behind_its_delete_is_named_as_deleted_by_itself() {
    let mut site = provider();
    let (mut consumer, mut connection) = slapd(&site);
    site.become_("cn=root,dc=ex");
    assert_eq!(site.delete(A).code, 0);
    consumer.go_on(&mut connection);
    consumer.messages.clear();
    let later = csn(SLAPD, 500_000);
    tell(&site, Incoming::Entry(changed(A, 2, &later)), &[later]);
    consumer.go_on(&mut connection);
    assert!(
        consumer.messages.contains(&entry(EntryState::Delete, "dc=ex")),
        "{:?}",
        consumer.messages
    );
}

#[test]
fn a_delete_in_a_refresh_covers_what_slapd_may_have_got_from_others() {
    let mut site = provider();
    let (mut consumer, mut connection) = slapd(&site);
    consumer.leave();
    tell(&site, Incoming::Entry(changed(B, 3, &csn(3, 30))), &[csn(3, 30)]);
    site.become_("cn=root,dc=ex");
    assert_eq!(site.delete(B).code, 0);
    consumer.begin(&mut connection, ALL, false);
    let named = consumer.cookies.iter().find(|cookie| cookie.contains("delcsn="));
    let named = named.expect("a delete with its CSN");
    assert!(named.contains(&csn(3, 30)), "{named}");
}

#[test]
fn a_version_that_slapd_has_is_not_sent_to_it_again_within_a_refresh() {
    let site = provider();
    let (mut consumer, mut connection) = slapd(&site);
    consumer.leave();
    // slapd has changed its entry, and has told that to another server, from which this one gets a refresh.
    refresh(&site, shared(&site), &changed(A, 2, &csn(SLAPD, 30)));
    let known = [csn(1, 1), csn(SLAPD, 30), csn(3, 3)].join(";");
    consumer.cookie = Some(format!("rid=001,csn={known}").into_bytes());
    consumer.begin(&mut connection, ALL, false);
    let is_sent = |message: &Message| matches!(message, Message::Entry(_, name) if name == A);
    assert!(!consumer.messages.iter().any(is_sent), "{:?}", consumer.messages);
}
