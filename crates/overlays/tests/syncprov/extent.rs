//! Who is told places: a consumer that gets every entry, by the rules, whatever the entries hold.

use crate::syncprov::{
    ALL,
    consumer::{Besides, Consumer, Content, Message, found},
    site,
};
use ironbark_harness::Site;

const REPLICATOR: Content = Content {
    identity: "cn=replicator,dc=ex",
    ..ALL
};

/// Whether a consumer under these rules is told places.
fn is_told(rules: &str) -> bool {
    let mut site = site(rules);
    let mut other = site.connect();
    let mut consumer = Consumer::asking_places();
    consumer.begin(&mut other, REPLICATOR, false);
    let held: Vec<_> = consumer.content().into_values().collect();
    let told = held
        .iter()
        .filter(|lines| lines.iter().any(|line| line.starts_with("ironbarkPlace: ")));
    let told = told.count();
    let is_told = told > 0;
    if is_told {
        let everything = found(&mut site, ALL).len();
        assert_eq!((told, held.len()), (everything, everything), "{rules}");
    }
    is_told
}

#[test]
fn who_reads_every_entry_by_the_rules_is_told_places() {
    for rules in [
        "",
        // As docs/replication.md says, and what follows it does not matter.
        "access to * by dn.exact=cn=replicator,dc=ex read by * break\naccess to * by self write",
        "access to * by users read",
        "access to * by self write by dn.exact=cn=replicator,dc=ex read",
        "access to * by dn.subtree=dc=ex read",
        "access to dn.subtree=dc=ex by users read",
        "access to dn.regex=^.*$ by dn.regex=.* read",
        "access to dn.subtree=dc=elsewhere by * none\naccess to * by users read",
        // Some entries are met by one rule, some by the other: both grant it.
        "access to dn.subtree=ou=p,dc=ex by users read\naccess to * by users read",
        "access to dn.regex=^cn=a by users write\naccess to * by users read",
        "access to filter=(sn=s) by users read by * none\naccess to * by users read",
        // Hidden values are no hidden entries.
        "access to attrs=userPassword,description by self write by anonymous auth by * none\naccess to * by users read",
        "access to attrs=sn val.regex=^s by * none\naccess to * by users read",
        // Privileges come together.
        "access to * by users =s continue by dn.exact=cn=replicator,dc=ex +rdx",
        "access to * by users =rsdx break\naccess to attrs=description by * none\naccess to * by self write by * read",
    ] {
        assert!(is_told(rules), "{rules}");
    }
}

#[test]
fn who_may_lack_an_entry_is_not_told_places() {
    for rules in [
        "access to dn.base=cn=a,ou=p,dc=ex by * none\naccess to * by users read",
        "access to dn.subtree=ou=p,dc=ex by users read",
        "access to filter=(sn=s) by * none\naccess to * by users read",
        "access to attrs=entry by * none\naccess to * by users read",
        "access to attrs=entryCSN by * none\naccess to * by users read",
        "access to attrs=objectClass by users =r by * none\naccess to * by users read",
        "access to * by self read",
        "access to * by dn.exact=cn=other,dc=ex read",
        "access to * by dn.exact=cn=other,dc=ex read by * break",
        // Behind the last rule nothing is granted.
        "access to * by users =rsdx break",
        "access to * by dnattr=seeAlso none by users read",
        "access to * by users read continue by dnattr=seeAlso none",
        "access to * by ssf=128 read",
    ] {
        assert!(!is_told(rules), "{rules}");
    }
}

fn group(site: &mut Site) {
    site.become_("cn=root,dc=ex");
    site.must_add("cn=g,dc=ex", "objectClass: groupOfNames\nmember: cn=replicator,dc=ex");
}

/// Who is told places keeps subordinates where their superiors are. It must not, when it no longer sees all of them.
#[test]
fn a_consumer_whose_rights_shrink_begins_anew() {
    let mut site = site("access to dn.subtree=ou=p,dc=ex by group.exact=cn=g,dc=ex read\naccess to * by users read");
    group(&mut site);
    let mut other = site.connect();
    let mut consumer = Consumer::asking_places();
    consumer.begin(&mut other, REPLICATOR, true);
    assert!(consumer.persists());
    assert_eq!(consumer.content().len(), found(&mut site, ALL).len());
    site.become_("cn=root,dc=ex");
    site.modify("cn=g,dc=ex", "replace: member\nmember: cn=other,dc=ex\n");
    consumer.go_on(&mut other);
    assert_eq!(
        consumer.messages.last(),
        Some(&Message::Done(4096, "sync cookie is stale".into()))
    );
    consumer.begin(&mut other, REPLICATOR, true);
    assert!(consumer.persists());
    let is_told = |line: &String| line.starts_with("ironbarkPlace: ");
    site.become_("cn=root,dc=ex");
    site.must_add("cn=new,dc=ex", "objectClass: person\nsn: s");
    consumer.go_on(&mut other);
    assert!(consumer.content().contains_key("cn=new,dc=ex"));
    assert!(!consumer.content()["cn=new,dc=ex"].iter().any(is_told));
}

/// There may be very many. They are told in slices, each once, and only to who may read every entry: their UUIDs would
/// say that something was there.
#[test]
fn every_end_that_is_remembered_is_told_to_who_asks_and_reads_everything() {
    const MANY: usize = 150;
    const HIDING: &str = "access to dn.base=cn=a,ou=p,dc=ex by * none\naccess to * by users read";
    for (rules, besides, told) in [
        ("", Some(Besides::Places), MANY),
        ("", None, 0),
        (HIDING, Some(Besides::Places), 0),
    ] {
        let mut site = site(rules);
        site.become_("cn=root,dc=ex");
        for number in 0..MANY {
            let name = format!("cn=e{number},dc=ex");
            site.must_add(&name, "objectClass: person\nsn: s");
            assert_eq!(site.delete(&name).code, 0);
        }
        let mut consumer = Consumer::default();
        consumer.besides = besides;
        consumer.begin(&mut site.connect(), REPLICATOR, true);
        assert!(consumer.persists());
        let named = consumer
            .messages
            .iter()
            .filter(|message| matches!(message, Message::Gone(_)));
        assert_eq!(named.count(), told, "{rules} {besides:?}");
        let hidden = usize::from(!rules.is_empty());
        assert_eq!(consumer.content().len() + hidden, found(&mut site, ALL).len());
    }
}

/// It must tell what is deleted from what is out of its sight, since others may follow it.
#[test]
fn a_writing_server_that_may_lack_entries_is_told_so_with_each_end_of_one() {
    const RULES: &str = "access to dn.subtree=ou=q,dc=ex by * none\naccess to * by users read";
    let mut site = site(RULES);
    site.become_("cn=root,dc=ex");
    site.must_add("ou=q,dc=ex", "objectClass: organizationalUnit");
    for name in ["deleted", "hidden", "later", "last"] {
        site.must_add(&format!("cn={name},dc=ex"), "objectClass: person\nsn: s");
    }
    let mut consumer = Consumer::asking_places();
    consumer.begin(&mut site.connect(), REPLICATOR, true);
    consumer.leave();
    let change = |site: &mut Site, deleted: &str, hidden: &str| {
        site.become_("cn=root,dc=ex");
        assert_eq!(site.delete(deleted).code, 0);
        let rdn = hidden.split(',').next().unwrap();
        assert_eq!(site.rename(hidden, rdn, Some("ou=q,dc=ex")).code, 0);
    };
    change(&mut site, "cn=deleted,dc=ex", "cn=hidden,dc=ex");
    let told = |consumer: &Consumer| -> Vec<bool> {
        let mut told: Vec<bool> = Vec::new();
        for cookie in &consumer.cookies {
            assert!(cookie.contains(",part=1"), "{cookie}");
            told.push(cookie.contains(",delcsn="));
        }
        told
    };
    let mut other = site.connect();
    consumer.begin(&mut other, REPLICATOR, true);
    assert_eq!(
        told(&consumer),
        [false, true, false],
        "one is out of sight, one deleted; the end"
    );
    consumer.cookies.clear();
    change(&mut site, "cn=later,dc=ex", "cn=last,dc=ex");
    consumer.go_on(&mut other);
    assert_eq!(told(&consumer), [true, false, false], "and the cookie of the move");
    // To slapd, and to a consumer of one provider, that means nothing.
    let mut plain = Consumer::default();
    plain.begin(&mut site.connect(), REPLICATOR, true);
    assert!(!plain.cookies.iter().any(|cookie| cookie.contains("part=")));
}
