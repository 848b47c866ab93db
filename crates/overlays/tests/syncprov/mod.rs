//! slapo-syncprov(5): what a consumer gets (RFC 4533).
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod consumer;
mod extent;
mod recent;
mod sequence;
mod slapd;

use consumer::{Besides, Consumer, Content, Message, found};
use ironbark_harness::Site;
use ironbark_ldap_proto::{
    Operation, Scope,
    controls::{Control, EntryState, PagedResults, SyncRequest},
};

const ALL: Content = Content {
    identity: "cn=root,dc=ex",
    base: "dc=ex",
    scope: Scope::WholeSubtree,
    filter: "(objectClass=*)",
};

/// With settings of the database, and of the overlay.
fn site_with(lines: &str, settings: &str) -> Site {
    let lines = format!("{lines}\noverlay syncprov\n{settings}");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    site
}

fn site(lines: &str) -> Site {
    site_with(lines, "")
}

fn refreshed(site: &mut Site, consumer: &mut Consumer, content: Content) -> Vec<Message> {
    consumer.begin(site, content, false);
    assert_eq!(consumer.result(), Some((0, "")));
    assert_eq!(consumer.content(), found(site, content));
    consumer.messages.clone()
}

fn entry(state: EntryState, name: &str) -> Message {
    Message::Entry(state, name.to_owned())
}

fn done() -> Message {
    Message::Done(0, String::new())
}

#[test]
fn a_refresh_brings_what_has_changed_and_nothing_else() {
    let mut site = site("");
    let mut consumer = Consumer::default();
    let all = refreshed(&mut site, &mut consumer, ALL);
    assert_eq!(all.len(), 6, "five entries and the result: {all:?}");
    assert_eq!(refreshed(&mut site, &mut consumer, ALL), [done()]);
    site.become_("cn=root,dc=ex");
    site.modify("cn=a,ou=p,dc=ex", "replace: sn\nsn: new\n");
    site.delete("cn=b,ou=p,dc=ex");
    site.must_add("cn=short,dc=ex", "objectClass: person\nsn: s");
    site.delete("cn=short,dc=ex");
    let changed = refreshed(&mut site, &mut consumer, ALL);
    let modified = entry(EntryState::Add, "cn=a,ou=p,dc=ex");
    assert_eq!(changed, [modified, Message::Gone(1), Message::Gone(1), done()]);
    assert_eq!(refreshed(&mut site, &mut consumer, ALL), [done()]);
}

#[test]
fn a_sort_that_is_not_critical_keeps_no_entry_back() {
    let mut site = site("");
    let mut consumer = Consumer::default();
    consumer.besides = Some(Besides::SortedIfPossible);
    let all = refreshed(&mut site, &mut consumer, ALL);
    assert_eq!(all.len(), 6, "five entries and the result: {all:?}");
}

#[test]
fn who_asks_for_subentries_is_told_of_their_end() {
    let mut site = site("");
    let mut other = site.connect();
    let mut consumer = Consumer::default();
    consumer.besides = Some(Besides::Subentries);
    let content = Content {
        filter: "(sn=s)",
        ..ALL
    };
    consumer.begin(&mut other, content, true);
    site.become_("cn=root,dc=ex");
    let name = "cn=s,dc=ex";
    let subentry = "objectClass: subentry\nobjectClass: extensibleObject\nsubtreeSpecification: {}\nsn: s";
    site.must_add(name, subentry);
    consumer.go_on(&mut other);
    consumer.messages.clear();
    site.delete(name);
    consumer.go_on(&mut other);
    assert_eq!(consumer.messages, [entry(EntryState::Delete, name)]);
    site.must_add(name, subentry);
    site.modify(name, "replace: sn\nsn: other\n");
    consumer.go_on(&mut other);
    assert!(consumer.entries.is_empty());
}

/// slapd would ignore changes that come after a delete of a greater CSN, and cannot rename an entry to a name that it
/// still has.
#[test]
fn deletes_come_last_unless_a_name_is_used_again() {
    let mut site = site("");
    let mut consumer = Consumer::default();
    refreshed(&mut site, &mut consumer, ALL);
    site.become_("cn=root,dc=ex");
    site.modify("cn=a,ou=p,dc=ex", "replace: sn\nsn: new\n");
    site.delete("cn=b,ou=p,dc=ex");
    site.must_add("cn=b,ou=p,dc=ex", "objectClass: person\nsn: another");
    let [a, b] = ["cn=a,ou=p,dc=ex", "cn=b,ou=p,dc=ex"].map(|name| entry(EntryState::Add, name));
    let changed = refreshed(&mut site, &mut consumer, ALL);
    assert_eq!(changed, [Message::Gone(1), a, b, done()]);
    site.delete("cn=b,ou=p,dc=ex");
    site.rename("cn=a,ou=p,dc=ex", "cn=b", None);
    let renamed = entry(EntryState::Add, "cn=b,ou=p,dc=ex");
    let changed = refreshed(&mut site, &mut consumer, ALL);
    assert_eq!(changed, [Message::Gone(1), renamed, done()]);
}

/// A name is used again, so deletes come first and without their CSNs.
#[test]
fn subordinates_are_named_as_gone_before_their_superiors() {
    for round in 0..8 {
        let mut site = site("");
        let mut consumer = Consumer::default();
        site.become_("cn=root,dc=ex");
        // UUIDs come in another order in each round.
        for number in 0..round {
            site.must_add(&format!("cn=x{number},dc=ex"), "objectClass: person\nsn: s");
        }
        let names = ["ou=q,dc=ex", "ou=r,ou=q,dc=ex", "ou=s,ou=r,ou=q,dc=ex"];
        for name in names {
            site.must_add(name, "objectClass: organizationalUnit");
        }
        refreshed(&mut site, &mut consumer, ALL);
        site.become_("cn=root,dc=ex");
        // It is older than the deletes, and comes behind them.
        site.modify("cn=a,ou=p,dc=ex", "replace: sn\nsn: new\n");
        for name in names.into_iter().rev() {
            site.delete(name);
        }
        site.must_add("ou=q,dc=ex", "objectClass: organizationalUnit");
        let changed = refreshed(&mut site, &mut consumer, ALL);
        assert!(!consumer.left_below, "{changed:?}");
    }
}

#[test]
fn without_the_log_present_entries_are_named() {
    let mut site = site("");
    let mut consumer = Consumer::default();
    refreshed(&mut site, &mut consumer, ALL);
    site.become_("cn=root,dc=ex");
    site.modify("cn=a,ou=p,dc=ex", "replace: sn\nsn: new\n");
    site.delete("cn=b,ou=p,dc=ex");
    site.forget_log();
    let changed = refreshed(&mut site, &mut consumer, ALL);
    let modified = entry(EntryState::Add, "cn=a,ou=p,dc=ex");
    assert_eq!(changed, [modified, Message::Present(3), done()]);
    let cookie = consumer.cookie.clone();
    assert_eq!(refreshed(&mut site, &mut consumer, ALL), [done()]);
    assert_eq!(consumer.cookie, cookie);
}

#[test]
fn changes_come_one_by_one_with_their_cookies() {
    let mut site = site("");
    let mut other = site.connect();
    let mut consumer = Consumer::default();
    consumer.begin(&mut other, ALL, true);
    assert_eq!(consumer.messages.last(), Some(&Message::RefreshDelete));
    consumer.messages.clear();
    site.become_("cn=root,dc=ex");
    site.must_add("cn=d,ou=p,dc=ex", "objectClass: person\nsn: s");
    site.modify("cn=d,ou=p,dc=ex", "replace: sn\nsn: new\n");
    site.rename("cn=d,ou=p,dc=ex", "cn=e", Some("dc=ex"));
    consumer.go_on(&mut other);
    site.delete("cn=e,dc=ex");
    consumer.go_on(&mut other);
    let e = "cn=e,dc=ex";
    assert_eq!(
        consumer.messages,
        [
            entry(EntryState::Add, e),
            entry(EntryState::Modify, e),
            entry(EntryState::Modify, e),
            entry(EntryState::Delete, e),
        ]
    );
    consumer.leave();
    assert_eq!(
        refreshed(&mut site, &mut consumer, ALL),
        [done()],
        "the cookies were whole"
    );
}

/// slapd makes glue for a superior that is missing, and then cannot move an entry to that name.
#[test]
fn an_entry_comes_after_its_superior_though_that_one_moved_later() {
    for persists in [true, false] {
        let mut site = site("");
        let mut others = [site.connect(), site.connect()];
        let mut consumers = [Consumer::default(), Consumer::default()];
        site.become_("cn=root,dc=ex");
        site.must_add("ou=late,dc=ex", "objectClass: organizationalUnit");
        for (consumer, other) in consumers.iter_mut().zip(&mut others) {
            consumer.begin(other, ALL, persists);
            consumer.messages.clear();
        }
        site.modify("cn=a,ou=p,dc=ex", "replace: sn\nsn: new\n");
        site.rename("ou=late,dc=ex", "ou=moved", None);
        site.rename("cn=a,ou=p,dc=ex", "cn=a", Some("ou=moved,dc=ex"));
        for (consumer, other) in consumers.iter_mut().zip(&mut others) {
            if persists {
                consumer.go_on(other);
            } else {
                consumer.begin(other, ALL, false);
            }
            assert_eq!(consumer.content(), found(&mut site, ALL));
            let first = consumer.messages.iter().find_map(|message| match message {
                Message::Entry(_, name) => Some(name.as_str()),
                _ => None,
            });
            assert_eq!(first, Some("ou=moved,dc=ex"), "{:?}", consumer.messages);
        }
    }
}

/// The consumer has the upper unit below the lower one still: it would take the move of that one for a cycle.
#[test]
fn an_entry_comes_after_all_its_superiors_to_who_is_told_places() {
    let mut site = site("");
    let mut consumer = Consumer::asking_places();
    site.become_("cn=root,dc=ex");
    for name in [
        "ou=lower,dc=ex",
        "ou=upper,ou=lower,dc=ex",
        "ou=between,ou=upper,ou=lower,dc=ex",
    ] {
        site.must_add(name, "objectClass: organizationalUnit");
    }
    consumer.begin(&mut site, ALL, false);
    consumer.messages.clear();
    site.become_("cn=root,dc=ex");
    site.rename("ou=upper,ou=lower,dc=ex", "ou=upper", Some("dc=ex"));
    site.rename("ou=lower,dc=ex", "ou=lower", Some("ou=between,ou=upper,dc=ex"));
    consumer.begin(&mut site, ALL, false);
    let names: Vec<&str> = consumer
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Entry(_, name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["ou=upper,dc=ex", "ou=lower,ou=between,ou=upper,dc=ex"]);
}

#[test]
fn what_does_not_belong_to_the_content_costs_a_cookie_at_most() {
    let mut site = site("");
    let mut other = site.connect();
    let mut consumer = Consumer::default();
    let content = Content {
        filter: "(sn=wanted)",
        ..ALL
    };
    consumer.begin(&mut other, content, true);
    consumer.messages.clear();
    site.become_("cn=root,dc=ex");
    for sn in ["x", "y", "z"] {
        site.modify("cn=a,ou=p,dc=ex", &format!("replace: sn\nsn: {sn}\n"));
        consumer.go_on(&mut other);
        assert_eq!(consumer.messages, [Message::Cookie]);
        consumer.messages.clear();
    }
    site.modify("cn=a,ou=p,dc=ex", "replace: sn\nsn: wanted\n");
    consumer.go_on(&mut other);
    site.modify("cn=a,ou=p,dc=ex", "add: description\ndescription: d\n");
    consumer.go_on(&mut other);
    site.modify("cn=a,ou=p,dc=ex", "replace: sn\nsn: other\n");
    consumer.go_on(&mut other);
    let a = "cn=a,ou=p,dc=ex";
    assert_eq!(
        consumer.messages,
        [
            entry(EntryState::Modify, a),
            entry(EntryState::Modify, a),
            entry(EntryState::Delete, a),
        ]
    );
}

#[test]
fn a_server_is_not_sent_what_it_has_made_or_brought() {
    let mut site = site("");
    let mut other = site.connect();
    let mut consumer = Consumer::default();
    consumer.sid = 0xfff;
    consumer.begin(&mut other, ALL, true);
    consumer.messages.clear();
    site.become_("cn=root,dc=ex");
    site.modify("cn=a,ou=p,dc=ex", "replace: sn\nsn: new\n");
    consumer.go_on(&mut other);
    assert_eq!(consumer.messages.len(), 1, "this server's own change");
}

#[test]
fn cookies_that_make_no_sense_are_refused_or_count_as_none() {
    let mut site = site("");
    let mut consumer = Consumer::default();
    let own_future = "rid=001,csn=20990101000000.000000Z#000000#000#000000";
    consumer.cookie = Some(own_future.as_bytes().to_vec());
    consumer.begin(&mut site, ALL, false);
    assert_eq!(consumer.result(), Some((53, "consumer state is newer than provider!")));
    for cookie in ["nonsense", "csn=1", "rid=001,csn=1"] {
        consumer.cookie = Some(cookie.as_bytes().to_vec());
        consumer.begin(&mut site, ALL, false);
        assert_eq!(
            (consumer.result(), consumer.messages.len()),
            (Some((0, "")), 6),
            "{cookie}"
        );
    }
    // A server that the provider does not know says nothing of it.
    consumer.cookie = Some(b"rid=001,csn=20200101000000.000000Z#000000#00f#000000".to_vec());
    consumer.entries.clear();
    refreshed(&mut site, &mut consumer, ALL);
}

#[test]
fn a_stale_cookie_is_told_where_the_hint_says_so() {
    let mut site = site_with("", "syncprov-reloadhint on");
    let mut consumer = Consumer::default();
    refreshed(&mut site, &mut consumer, ALL);
    site.become_("cn=root,dc=ex");
    site.modify("cn=a,ou=p,dc=ex", "replace: sn\nsn: new\n");
    site.forget_log();
    consumer.begin(&mut site, ALL, false);
    assert_eq!(consumer.result(), Some((4096, "sync cookie is stale")));
    consumer.reload_hint = true;
    refreshed(&mut site, &mut consumer, ALL);
}

#[test]
fn an_empty_database_is_followed_from_its_first_entry_on() {
    let lines = "overlay syncprov";
    let mut site = Site::open_of(&ironbark_overlays::registry(), lines, ironbark_overlays::make);
    let mut other = site.connect();
    let mut consumer = Consumer::default();
    consumer.begin(&mut other, ALL, true);
    assert_eq!(consumer.messages, [Message::RefreshDelete]);
    assert!(consumer.persists() && consumer.cookie.is_none());
    site.populate();
    consumer.go_on(&mut other);
    assert_eq!(consumer.content(), found(&mut site, ALL));
    consumer.cookie = Some(b"rid=001,csn=20200101000000.000000Z#000000#000#000000".to_vec());
    let empty = Site::open_of(&ironbark_overlays::registry(), lines, ironbark_overlays::make);
    consumer.begin(&mut empty.connect(), ALL, true);
    let refused = consumer.result().map(|(code, _)| code);
    assert_eq!(refused, Some(32), "a base that is missing is told to who has something");
}

#[test]
fn a_database_whose_vector_is_still_being_made_is_not_taken_for_an_empty_one() {
    let mut site = site("");
    let context = std::sync::Arc::clone(site.directory.configuration().contexts.first().unwrap());
    let mut transaction = context.database().unwrap().write().unwrap();
    transaction
        .put_context(&ironbark_store::ContextVector::default())
        .unwrap();
    transaction.commit().unwrap();
    for cookie in [
        None,
        Some(b"rid=001,csn=20200101000000.000000Z#000000#000#000000".to_vec()),
    ] {
        let mut consumer = Consumer::default();
        consumer.cookie = cookie;
        consumer.begin(&mut site, ALL, true);
        assert_eq!(consumer.result(), Some((51, "contextCSN is being made: try again")));
    }
}

#[test]
fn another_base_object_ends_a_consumer() {
    let mut site = site("");
    let mut other = site.connect();
    let people = Content {
        base: "ou=p,dc=ex",
        ..ALL
    };
    let mut consumer = Consumer::default();
    consumer.begin(&mut other, people, true);
    site.become_("cn=root,dc=ex");
    site.rename("ou=p,dc=ex", "ou=q", None);
    consumer.go_on(&mut other);
    assert_eq!(consumer.result(), Some((4096, "search base has changed")));
    assert!(!consumer.persists());
}

#[test]
fn what_cannot_be_synchronized_is_refused() {
    let mut site = site("");
    site.become_("cn=root,dc=ex");
    let sync = Control::critical(SyncRequest {
        persists: false,
        cookie: None,
        reload_hint: false,
    });
    let page = Control::critical(PagedResults { size: 5, cookie: b"" });
    let (sub, all) = (Scope::WholeSubtree, "(objectClass=*)");
    let paged = site.search_with("dc=ex", sub, all, &[], &[&sync, &page]);
    assert_eq!(paged.brief(), (2, "Sync control specified with pagedResults control"));
    let elsewhere = site.search_with("", Scope::BaseObject, all, &[], &[&sync]);
    assert_eq!(elsewhere.brief(), (12, "critical control unavailable in context"));
    let mut without = Site::populated("");
    let unknown = without.search_with("dc=ex", sub, all, &[], &[&sync]);
    assert_eq!(unknown.brief(), (12, "critical extension is not recognized"));
}

#[test]
fn entries_from_before_the_overlay_are_synchronized() {
    let (registry, make) = (ironbark_overlays::registry(), ironbark_overlays::make);
    let mut site = Site::open_of(&registry, "", make);
    site.populate();
    let next = site.configuration("", "overlay syncprov");
    site.directory.prepare(next).expect("a good configuration").commit();
    let mut consumer = Consumer::default();
    let all = refreshed(&mut site, &mut consumer, ALL);
    assert_eq!(all.len(), 6, "{all:?}");
    assert!(consumer.cookie.is_some(), "there is a state to come back with");
    assert_eq!(refreshed(&mut site, &mut consumer, ALL), [done()]);
}

#[test]
fn a_change_of_the_configuration_reaches_who_follows() {
    let mut site = site("");
    let mut other = site.connect();
    let reader = Content {
        identity: "cn=reader,dc=ex",
        ..ALL
    };
    let mut consumer = Consumer::default();
    consumer.begin(&mut other, reader, true);
    assert!(consumer.persists());
    let rules = "access to attrs=description by users none\naccess to * by users read\noverlay syncprov";
    let next = site.configuration("", rules);
    site.directory.prepare(next).expect("a good configuration").commit();
    site.become_("cn=root,dc=ex");
    site.modify("cn=a,ou=p,dc=ex", "replace: description\ndescription: secret\n");
    consumer.go_on(&mut other);
    let held: Vec<String> = consumer.content().into_values().flatten().collect();
    assert!(consumer.persists() && !held.iter().any(|line| line.contains("secret")));
    assert_eq!(consumer.content(), found(&mut site, reader));
    site.clock.advance(std::time::Duration::from_hours(1));
    let without = site.configuration("", "");
    site.directory.prepare(without).expect("a good configuration").commit();
    consumer.go_on(&mut other);
    assert_eq!(
        consumer.result(),
        Some((52, "the database no longer provides its changes"))
    );
    let latency = site.directory.statistics().latency(Operation::Search);
    assert!(latency.max_micros < 1_000_000, "waiting is no work: {latency:?}");
}

#[test]
fn a_position_that_the_log_no_longer_has_ends_a_consumer() {
    let mut site = site("changelog-size 100000");
    let mut other = site.connect();
    let mut consumer = Consumer::default();
    consumer.begin(&mut other, ALL, true);
    site.become_("cn=root,dc=ex");
    site.modify("cn=a,ou=p,dc=ex", "replace: description\ndescription: first\n");
    consumer.go_on(&mut other);
    site.modify("cn=a,ou=p,dc=ex", "replace: description\ndescription: missed\n");
    site.forget_log();
    site.modify("cn=a,ou=p,dc=ex", "replace: description\ndescription: last\n");
    consumer.go_on(&mut other);
    assert_eq!(consumer.result(), Some((4096, "sync cookie is stale")));
    refreshed(&mut site, &mut consumer, ALL);
}
