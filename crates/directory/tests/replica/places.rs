//! Deletes, tombstones, and glue.

use ironbark_directory::{Incoming, OutcomeKind, Replicated};
use ironbark_ldap_proto::Scope;

use ironbark_harness::{
    Site,
    peer::{
        LINES, csn, csn_of, delete, entry, made, mapping, message, names, parsed, person, refresh, rows, send, shared,
        tombstone, vector,
    },
};

fn consumer() -> Site {
    let consumer = Site::open_server(2, LINES);
    let top = made("dc=ex", 1, &csn(1, 1), &[("objectClass", "domain"), ("dc", "ex")]);
    refresh(&consumer, mapping(&consumer), &top);
    consumer
}

fn unit(name: &str, uuid: u8, csn: &str) -> ironbark_directory::ReplicatedEntry {
    let ou = name.split([',', '=']).nth(1).expect("a name");
    made(name, uuid, csn, &[("objectClass", "organizationalUnit"), ("ou", ou)])
}

#[test]
fn a_missing_superior_is_glue_until_it_comes() {
    let consumer = consumer();
    let deep = person("cn=a,ou=y,ou=x,dc=ex", 5, &csn(1, 9));
    assert_eq!(refresh(&consumer, mapping(&consumer), &deep), OutcomeKind::Added);
    assert_eq!(
        names(&consumer),
        ["cn=a,ou=y,ou=x,dc=ex", "dc=ex", "ou=x,dc=ex*", "ou=y,ou=x,dc=ex*"]
    );
    let superior = unit("ou=x,dc=ex", 6, &csn(1, 3));
    assert_eq!(refresh(&consumer, mapping(&consumer), &superior), OutcomeKind::Added);
    assert_eq!(
        names(&consumer),
        ["cn=a,ou=y,ou=x,dc=ex", "dc=ex", "ou=x,dc=ex", "ou=y,ou=x,dc=ex*"]
    );
    delete(&consumer, mapping(&consumer), [5; 16], Some(parsed(&csn(1, 10))));
    assert_eq!(names(&consumer), ["dc=ex", "ou=x,dc=ex"]);
}

#[test]
fn nothing_is_made_above_the_suffix_and_the_suffix_itself_may_be_glue() {
    let consumer = Site::open_server(2, LINES);
    refresh(&consumer, mapping(&consumer), &person("cn=a,ou=x,dc=ex", 5, &csn(1, 9)));
    assert_eq!(names(&consumer), ["cn=a,ou=x,dc=ex", "dc=ex*", "ou=x,dc=ex*"]);
}

#[test]
fn a_deleted_superior_is_glue_and_leaves_a_tombstone() {
    let consumer = consumer();
    refresh(&consumer, mapping(&consumer), &unit("ou=x,dc=ex", 6, &csn(1, 3)));
    refresh(&consumer, mapping(&consumer), &person("cn=a,ou=x,dc=ex", 5, &csn(1, 9)));
    let deleted = parsed(&csn(1, 20));
    assert_eq!(
        delete(&consumer, mapping(&consumer), [6; 16], Some(deleted)),
        OutcomeKind::Deleted
    );
    assert_eq!(names(&consumer), ["cn=a,ou=x,dc=ex", "dc=ex", "ou=x,dc=ex*"]);
    assert_eq!(tombstone(&consumer, [6; 16]), Some(deleted));
    // It moves out.
    refresh(&consumer, mapping(&consumer), &person("cn=a,dc=ex", 5, &csn(1, 21)));
    assert_eq!(names(&consumer), ["cn=a,dc=ex", "dc=ex"]);
}

#[test]
fn clients_see_no_glue_but_what_is_below_it() {
    let mut consumer = consumer();
    refresh(&consumer, mapping(&consumer), &person("cn=a,ou=x,dc=ex", 5, &csn(1, 9)));
    let mut found = |base: &str, scope| {
        let answer = consumer.search_with(base, scope, "(objectClass=*)", &["1.1"], &[]);
        (answer.code, answer.entries.concat())
    };
    let person = "dn: cn=a,ou=x,dc=ex\n".to_owned();
    assert_eq!(found("dc=ex", Scope::WholeSubtree), (0, format!("dn: dc=ex\n{person}")));
    assert_eq!(found("ou=x,dc=ex", Scope::WholeSubtree), (0, person));
    assert_eq!(found("ou=x,dc=ex", Scope::BaseObject), (0, String::new()));
    let managed = consumer.search("ou=x,dc=ex", Scope::BaseObject, "(objectClass=glue)", &["1.1"]);
    assert_eq!(managed, ["dn: ou=x,dc=ex\n"]);
    for answer in [
        consumer.modify("ou=x,dc=ex", "add: description\nd: x"),
        consumer.delete("ou=x,dc=ex"),
        consumer.rename("ou=x,dc=ex", "ou=z", None),
    ] {
        assert_eq!((answer.code, &*answer.matched_dn), (32, "dc=ex"));
    }
    consumer.must_add("cn=b,ou=x,dc=ex", "objectClass: person\nsn: s");
    consumer.must_add("ou=x,dc=ex", "objectClass: organizationalUnit");
    assert_eq!(consumer.add("ou=x,dc=ex", "objectClass: organizationalUnit").code, 68);
    assert_eq!(
        names(&consumer),
        ["cn=a,ou=x,dc=ex", "cn=b,ou=x,dc=ex", "dc=ex", "ou=x,dc=ex"]
    );
}

#[test]
fn a_client_that_deletes_the_last_subordinate_of_glue_deletes_glue() {
    let mut consumer = consumer();
    refresh(&consumer, mapping(&consumer), &person("cn=a,ou=x,dc=ex", 5, &csn(1, 9)));
    assert_eq!(consumer.delete("cn=a,ou=x,dc=ex").code, 0);
    assert_eq!(names(&consumer), ["dc=ex"]);
}

#[test]
fn a_delete_that_comes_before_the_entry_is_remembered() {
    let consumer = consumer();
    let deleted = parsed(&csn(1, 20));
    assert_eq!(
        delete(&consumer, shared(&consumer), [5; 16], Some(deleted)),
        OutcomeKind::Same
    );
    assert_eq!(tombstone(&consumer, [5; 16]), Some(deleted));
    let late = person("cn=a,dc=ex", 5, &csn(1, 9));
    assert_eq!(refresh(&consumer, shared(&consumer), &late), OutcomeKind::Tombstoned);
    let again = tombstone(&consumer, [5; 16]).expect("a tombstone");
    assert!(
        again > deleted && again.server_id() == 2,
        "the sender has the entry, and hears of it"
    );
    let count = rows(&consumer).len();
    assert_eq!(
        delete(&consumer, shared(&consumer), [5; 16], Some(deleted)),
        OutcomeKind::Same
    );
    assert_eq!(delete(&consumer, shared(&consumer), [5; 16], None), OutcomeKind::Same);
    assert_eq!(rows(&consumer).len(), count);
    assert_eq!(names(&consumer), ["dc=ex"]);
}

#[test]
fn a_delete_is_final_and_is_told_again_to_who_contradicts() {
    let consumer = consumer();
    refresh(&consumer, shared(&consumer), &person("cn=a,dc=ex", 5, &csn(1, 30)));
    let deleted = parsed(&csn(3, 20));
    assert_eq!(
        delete(&consumer, shared(&consumer), [5; 16], Some(deleted)),
        OutcomeKind::Deleted,
        "though older"
    );
    let contradicting = person("cn=a,dc=ex", 5, &csn(1, 40));
    assert_eq!(
        refresh(&consumer, shared(&consumer), &contradicting),
        OutcomeKind::Tombstoned
    );
    let again = tombstone(&consumer, [5; 16]).expect("a tombstone");
    assert!(again > parsed(&csn(1, 40)) && again.server_id() == 2);
    let last = rows(&consumer).pop().expect("a row");
    assert_eq!((last.via, last.csn, last.buried), (0, again, vec![[5; 16]]));
    assert!(vector(&consumer).covers(again));
}

#[test]
fn the_only_provider_may_bring_an_entry_back() {
    let consumer = consumer();
    let person = person("cn=a,dc=ex", 5, &csn(1, 9));
    refresh(&consumer, mapping(&consumer), &person);
    delete(&consumer, mapping(&consumer), [5; 16], Some(parsed(&csn(1, 20))));
    assert_eq!(
        refresh(&consumer, mapping(&consumer), &person),
        OutcomeKind::Added,
        "restored from LDIF"
    );
    assert_eq!(tombstone(&consumer, [5; 16]), None);
}

#[test]
fn a_delete_without_a_csn_gets_one_of_its_provider() {
    let consumer = consumer();
    for (shares, uuid) in [(false, 5), (true, 6)] {
        let sent = person(&format!("cn=p{uuid},dc=ex"), uuid, &csn(1, 9));
        refresh(&consumer, mapping(&consumer), &sent);
        let asked = if shares { shared(&consumer) } else { mapping(&consumer) };
        delete(&consumer, asked, [uuid; 16], None);
        let stamp = tombstone(&consumer, [uuid; 16]).expect("a tombstone");
        assert_eq!(stamp.server_id(), 1);
        assert_eq!(vector(&consumer).of_server(2), None);
    }
}

/// Who follows this server may have the entry from elsewhere.
#[test]
fn a_delete_of_what_was_never_here_is_remembered_and_passed_on_without_a_csn_as_well() {
    let consumer = consumer();
    assert_eq!(delete(&consumer, shared(&consumer), [5; 16], None), OutcomeKind::Same);
    assert_eq!(tombstone(&consumer, [5; 16]), None, "there is no CSN yet");
    let cookie = Replicated {
        cookie: vec![parsed(&csn(1, 7))],
        ..message(shared(&consumer), Incoming::Nothing)
    };
    send(&consumer, cookie).expect("taken");
    assert_eq!(delete(&consumer, mapping(&consumer), [5; 16], None), OutcomeKind::Same);
    assert_eq!(
        tombstone(&consumer, [5; 16]),
        None,
        "one provider tells its own consumers"
    );
    delete(&consumer, shared(&consumer), [5; 16], None);
    assert_eq!(tombstone(&consumer, [5; 16]), Some(parsed(&csn(1, 7))));
    let last = rows(&consumer).pop().expect("a row");
    assert_eq!((last.buried, last.cookie), (vec![[5; 16]], Vec::new()));
    let count = rows(&consumer).len();
    delete(&consumer, shared(&consumer), [5; 16], None);
    assert_eq!(rows(&consumer).len(), count, "once");
}

/// A provider that tells no places names what is gone before it sends what has moved out of it.
#[test]
fn what_loses_its_superior_is_revised_and_any_change_of_it_counts_more() {
    let consumer = consumer();
    refresh(&consumer, shared(&consumer), &unit("ou=old,dc=ex", 6, &csn(1, 3)));
    for (name, uuid) in [("cn=moved,ou=old,dc=ex", 7), ("cn=stays,ou=old,dc=ex", 8)] {
        refresh(&consumer, shared(&consumer), &person(name, uuid, &csn(1, 9)));
    }
    delete(&consumer, shared(&consumer), [6; 16], None);
    let moved = person("cn=moved,dc=ex", 7, &csn(1, 20));
    assert_eq!(refresh(&consumer, shared(&consumer), &moved), OutcomeKind::Renamed);
    assert_eq!(csn_of(&entry(&consumer, "cn=moved,dc=ex")), parsed(&csn(1, 20)));
    let revision = parsed(&csn(1, 9)).revised(2).expect("the first");
    assert_eq!(csn_of(&entry(&consumer, "cn=stays,ou=old,dc=ex")), revision);
    let row = rows(&consumer)
        .into_iter()
        .find(|row| row.via == 0)
        .expect("a change of its own");
    assert_eq!(row.csn.server_id(), 2, "who follows is told");
}
