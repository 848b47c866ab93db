//! A server that was restored from a copy, and whose own later changes others have.

use ironbark_directory::{Incoming, OutcomeKind, ReplicaMapping, Replicated};

use ironbark_harness::{
    Site,
    peer::{LINES, context, csn, csn_of, delete, entry, message, parsed, person, refresh, send, shared, vector},
};

/// A site that was restored from a copy, with more lines of its database.
fn restored(lines: &str) -> Site {
    let mut site = Site::open_server(2, &format!("{LINES}\n{lines}"));
    site.must_add("dc=ex", "objectClass: domain");
    let context = context(&site);
    let mut transaction = context.database().expect("a store").write().expect("a transaction");
    transaction.mark_restored().expect("marked");
    transaction.commit().expect("committed");
    drop(context);
    site
}

const PEERS: &str = "multiprovider on\nsyncrepl rid=1 provider=ldap://127.0.0.1:1 searchbase=dc=ex";

#[test]
fn it_takes_no_changes_of_clients_before_a_refresh_has_ended() {
    let mut site = restored(PEERS);
    let refused = site.add("cn=new,dc=ex", "objectClass: person\nsn: s");
    let text = "restored from a copy: clients may write after a refresh from each provider";
    assert_eq!(refused.brief(), (51, text));
    // What it made itself after the copy.
    let own = person("cn=a,dc=ex", 5, &csn(2, 900_000));
    assert_eq!(refresh(&site, shared(&site), &own), OutcomeKind::Added);
    assert_eq!(site.delete("cn=a,dc=ex").code, 51);
    let end = Replicated {
        cookie: vec![parsed(&csn(2, 900_000))],
        ..message(shared(&site), Incoming::EndOfRefresh)
    };
    send(&site, end).expect("taken");
    site.must_add("cn=new,dc=ex", "objectClass: person\nsn: s");
    let stamp = site.read("cn=new,dc=ex", &["entryCSN"]).expect("there");
    assert!(stamp > format!("entryCSN: {}", csn(2, 900_000)), "{stamp}");
}

#[test]
fn a_refresh_that_brings_nothing_new_is_enough() {
    let mut site = restored(PEERS);
    send(&site, message(shared(&site), Incoming::Nothing)).expect("taken");
    assert_eq!(site.delete("dc=ex").code, 51);
    send(&site, message(shared(&site), Incoming::EndOfRefresh)).expect("taken");
    site.must_add("cn=new,dc=ex", "objectClass: person\nsn: s");
}

#[test]
fn each_provider_may_have_what_it_lost() {
    let mut site = restored(&format!(
        "{PEERS}\nsyncrepl rid=2 provider=ldap://127.0.0.1:2 searchbase=dc=ex"
    ));
    for _ in 0..2 {
        send(&site, message(shared(&site), Incoming::EndOfRefresh)).expect("taken");
        assert_eq!(site.delete("dc=ex").code, 51);
    }
    let other = ReplicaMapping {
        line: 2,
        ..shared(&site)
    };
    send(&site, message(other, Incoming::EndOfRefresh)).expect("taken");
    site.must_add("cn=new,dc=ex", "objectClass: person\nsn: s");
}

#[test]
fn who_has_no_peers_takes_changes_at_once() {
    restored("").must_add("cn=new,dc=ex", "objectClass: person\nsn: s");
    restored("multiprovider on").must_add("cn=new,dc=ex", "objectClass: person\nsn: s");
}

/// Its clock is behind that of the time before, so others take what it makes now for known.
#[test]
fn what_it_has_made_before_it_has_heard_from_all_is_made_again() {
    let site = restored(PEERS);
    refresh(&site, shared(&site), &person("cn=b,cn=a,dc=ex", 6, &csn(1, 3)));
    refresh(&site, shared(&site), &person("cn=a,dc=ex", 5, &csn(1, 4)));
    delete(&site, shared(&site), [5; 16], Some(parsed(&csn(1, 5))));
    let revision = csn_of(&entry(&site, "cn=b,cn=a,dc=ex"));
    assert_eq!(Some(revision), parsed(&csn(1, 3)).revised(2), "its superior is gone");
    // It may have made another revision of this number before.
    let before = csn(2, 900_000);
    let end = Replicated {
        cookie: vec![parsed(&before)],
        ..message(shared(&site), Incoming::EndOfRefresh)
    };
    send(&site, end).expect("taken");
    let stamped = csn_of(&entry(&site, "cn=b,cn=a,dc=ex"));
    assert!(stamped.server_id() == 2 && stamped > parsed(&before), "{stamped:?}");
    assert_eq!(vector(&site).of_server(2), Some(stamped));
}
