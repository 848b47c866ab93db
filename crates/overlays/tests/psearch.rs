//! Overlay psearch: changes are told to searches that stay (draft-ietf-ldapext-psearch-03).
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use ironbark_harness::{Site, TestClient, staying::Staying};
use ironbark_ldap_proto::{
    DecodeLimits, DerefAliases, EncodeControl, Filter, MessageId, Request, Response, ResponseMessage, Scope,
    SearchRequest,
    controls::{Control, ManageDsaIt, PagedResults, SortKey, SortKeys, Subentries, SyncRequest, find},
    frame,
    message::encode_request,
};
use ironbark_overlays::psearch::{CHANGE_OID, ChangeType, ChangeTypes, EntryChange, PersistentSearch};

fn site(lines: &str) -> Site {
    let lines = format!("{lines}\noverlay psearch");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    site
}

const ALL: PersistentSearch = PersistentSearch {
    changes: ChangeTypes::ALL,
    changes_only: true,
    notifies: true,
};

/// A client that watches, and what it was sent: a line for each message.
struct Watcher {
    client: TestClient,
    staying: Staying,
}

struct Watched {
    who: &'static str,
    base: &'static str,
    scope: Scope,
    filter: &'static str,
    asked: PersistentSearch,
}

const EVERYTHING: Watched = Watched {
    who: "cn=root,dc=ex",
    base: "dc=ex",
    scope: Scope::WholeSubtree,
    filter: "(objectClass=*)",
    asked: ALL,
};

impl Watcher {
    fn of(site: &Site, search: &Watched) -> (Self, Vec<String>) {
        Self::with(site, search, &[], DerefAliases::Never)
    }

    fn with(
        site: &Site,
        search: &Watched,
        others: &[&dyn EncodeControl],
        deref_aliases: DerefAliases,
    ) -> (Self, Vec<String>) {
        let mut client = site.connect();
        client.become_(search.who);
        let names = [&b"sn"[..]];
        let request = SearchRequest {
            base: search.base.as_bytes(),
            scope: search.scope,
            deref_aliases,
            size_limit: 0,
            time_limit: 0,
            types_only: false,
            filter: Filter::parse(search.filter.as_bytes(), 10).unwrap(),
            attributes: names[..].into(),
        };
        let control = Control::critical(search.asked);
        let mut controls: Vec<&dyn EncodeControl> = vec![&control];
        controls.extend(others);
        let mut pdu = Vec::new();
        encode_request(
            &mut pdu,
            MessageId::new(9).unwrap(),
            &Request::Search(request),
            &controls,
        );
        let (staying, out) = Staying::begin(&mut client, &pdu);
        (Self { client, staying }, lines(&out))
    }

    fn news(&mut self) -> Vec<String> {
        lines(&self.staying.go_on(&mut self.client))
    }
}

/// Each message as text: `kind name [was former name] values`, or the result code.
fn lines(mut out: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(length) = frame(out, 1 << 24).unwrap() {
        let (pdu, rest) = out.split_at(length);
        out = rest;
        let message = ResponseMessage::decode(pdu, &DecodeLimits::default()).unwrap();
        let line = match message.operation {
            Response::SearchEntry(entry) => {
                let change = find(&message.controls, CHANGE_OID).and_then(|control| control.value);
                let change = change.map(|value| EntryChange::decode_value(value).unwrap());
                let kind = change.map_or_else(|| "-".to_owned(), |change| format!("{:?}", change.change));
                let was = change.and_then(|change| change.previous_dn);
                let was = was.map_or_else(String::new, |name| format!(" was {}", String::from_utf8_lossy(name)));
                let values = entry.attributes.iter().flat_map(|one| one.values.iter());
                let values: Vec<_> = values
                    .map(|value| String::from_utf8_lossy(value).into_owned())
                    .collect();
                format!("{kind} {}{was} {}", String::from_utf8_lossy(entry.dn), values.join(","))
            }
            Response::SearchReference(urls) => {
                let urls: Vec<_> = urls
                    .iter()
                    .map(|url| String::from_utf8_lossy(url).into_owned())
                    .collect();
                format!("reference {}", urls.join(","))
            }
            Response::Done(_, result) => format!("result {}", result.code.0),
            other => panic!("{other:?}"),
        };
        lines.push(line.trim_end().to_owned());
    }
    lines
}

#[test]
fn each_kind_of_change_is_told_with_the_entry() {
    let mut site = site("");
    let (mut watcher, first) = Watcher::of(&site, &EVERYTHING);
    assert_eq!(first, [""; 0], "only changes are wanted");
    site.must_add("cn=d,ou=p,dc=ex", "objectClass: person\nsn: new");
    assert_eq!(watcher.news(), ["Add cn=d,ou=p,dc=ex new"]);
    site.modify("cn=d,ou=p,dc=ex", "replace: sn\nsn: changed\n");
    assert_eq!(watcher.news(), ["Modify cn=d,ou=p,dc=ex changed"]);
    site.rename("cn=d,ou=p,dc=ex", "cn=e", None);
    assert_eq!(watcher.news(), ["ModDn cn=e,ou=p,dc=ex was cn=d,ou=p,dc=ex changed"]);
    site.delete("cn=e,ou=p,dc=ex");
    assert_eq!(watcher.news(), ["Delete cn=e,ou=p,dc=ex changed"]);
    assert_eq!(watcher.news(), [""; 0]);
    assert!(watcher.staying.is_here());
}

#[test]
fn entries_that_are_there_come_first_if_they_are_wanted_and_without_notification() {
    let mut site = site("");
    let search = Watched {
        filter: "(sn=s)",
        asked: PersistentSearch {
            changes_only: false,
            ..ALL
        },
        ..EVERYTHING
    };
    let (mut watcher, first) = Watcher::of(&site, &search);
    assert_eq!(
        first,
        ["- cn=a,ou=p,dc=ex s", "- cn=b,ou=p,dc=ex s", "- cn=c,ou=p,dc=ex s"]
    );
    site.modify("cn=a,ou=p,dc=ex", "add: description\ndescription: d\n");
    assert_eq!(watcher.news(), ["Modify cn=a,ou=p,dc=ex s"]);
}

#[test]
fn only_the_kinds_that_are_asked_for_are_told_and_notifications_only_if_wanted() {
    let mut site = site("");
    let asked = |change, notifies| Watched {
        asked: PersistentSearch {
            changes: [change].into_iter().collect(),
            notifies,
            ..ALL
        },
        ..EVERYTHING
    };
    let kinds = [
        ChangeType::Add,
        ChangeType::Delete,
        ChangeType::Modify,
        ChangeType::ModDn,
    ];
    let mut watchers: Vec<_> = kinds
        .map(|kind| Watcher::of(&site, &asked(kind, kind == ChangeType::Add)).0)
        .into();
    site.must_add("cn=d,ou=p,dc=ex", "objectClass: person\nsn: s");
    site.modify("cn=a,ou=p,dc=ex", "replace: sn\nsn: m\n");
    site.rename("cn=b,ou=p,dc=ex", "cn=r", None);
    site.delete("cn=c,ou=p,dc=ex");
    let news: Vec<_> = watchers.iter_mut().flat_map(Watcher::news).collect();
    assert_eq!(
        news,
        [
            "Add cn=d,ou=p,dc=ex s",
            "- cn=c,ou=p,dc=ex s",
            "- cn=a,ou=p,dc=ex m",
            "- cn=r,ou=p,dc=ex s"
        ]
    );
}

#[test]
fn an_entry_is_told_if_it_answers_the_search_after_the_change_and_a_deleted_one_if_it_did_before() {
    let mut site = site("");
    site.must_add("ou=q,dc=ex", "objectClass: organizationalUnit");
    let search = Watched {
        base: "ou=p,dc=ex",
        filter: "(sn=wanted)",
        ..EVERYTHING
    };
    let (mut watcher, _) = Watcher::of(&site, &search);
    site.modify("cn=a,ou=p,dc=ex", "replace: description\ndescription: x\n");
    assert_eq!(watcher.news(), [""; 0]);
    site.modify("cn=a,ou=p,dc=ex", "replace: sn\nsn: wanted\n");
    assert_eq!(watcher.news(), ["Modify cn=a,ou=p,dc=ex wanted"]);
    site.rename("cn=a,ou=p,dc=ex", "cn=a", Some("ou=q,dc=ex"));
    assert_eq!(watcher.news(), [""; 0], "it is out of scope");
    site.rename("cn=a,ou=q,dc=ex", "cn=a", Some("ou=p,dc=ex"));
    assert_eq!(watcher.news(), ["ModDn cn=a,ou=p,dc=ex was cn=a,ou=q,dc=ex wanted"]);
    site.modify("cn=a,ou=p,dc=ex", "replace: sn\nsn: other\n");
    assert_eq!(watcher.news(), [""; 0], "nothing is said of what has left the result");
    site.delete("cn=a,ou=p,dc=ex");
    site.modify("cn=b,ou=p,dc=ex", "replace: sn\nsn: wanted\n");
    site.delete("cn=b,ou=p,dc=ex");
    assert_eq!(
        watcher.news(),
        ["Delete cn=b,ou=p,dc=ex wanted"],
        "it is gone since the modify"
    );
}

#[test]
fn access_rules_decide_about_the_entry_as_it_is_and_about_a_deleted_one_as_it_was() {
    let mut site = site(
        "access to dn.subtree=\"ou=hidden,dc=ex\" by * none\naccess to attrs=sn val.exact=secret by * none\n\
         access to * by * read",
    );
    site.must_add("ou=hidden,dc=ex", "objectClass: organizationalUnit");
    let search = Watched { who: "", ..EVERYTHING };
    let (mut watcher, _) = Watcher::of(&site, &search);
    site.must_add("cn=d,ou=hidden,dc=ex", "objectClass: person\nsn: s");
    site.modify("cn=d,ou=hidden,dc=ex", "replace: sn\nsn: t\n");
    assert_eq!(watcher.news(), [""; 0]);
    site.rename("cn=d,ou=hidden,dc=ex", "cn=d", Some("ou=p,dc=ex"));
    assert_eq!(
        watcher.news(),
        ["ModDn cn=d,ou=p,dc=ex t"],
        "its former name is a secret"
    );
    site.modify("cn=d,ou=p,dc=ex", "replace: sn\nsn: secret\n");
    assert_eq!(watcher.news(), ["Modify cn=d,ou=p,dc=ex"]);
    site.delete("cn=d,ou=p,dc=ex");
    assert_eq!(watcher.news(), ["Delete cn=d,ou=p,dc=ex"]);
    site.must_add("cn=e,ou=hidden,dc=ex", "objectClass: person\nsn: s");
    site.delete("cn=e,ou=hidden,dc=ex");
    assert_eq!(watcher.news(), [""; 0]);
    let by_secret = Watched {
        filter: "(sn=secret)",
        ..search
    };
    let (mut watcher, _) = Watcher::of(&site, &by_secret);
    site.must_add("cn=f,ou=p,dc=ex", "objectClass: person\nsn: secret");
    site.delete("cn=f,ou=p,dc=ex");
    assert_eq!(watcher.news(), [""; 0], "no filter matches by what may not be read");
}

#[test]
fn a_search_goes_on_when_the_rights_of_its_client_shrink() {
    let mut site = site("access to dn.subtree=ou=p,dc=ex by group.exact=cn=g,dc=ex read\naccess to * by users read");
    site.must_add("cn=g,dc=ex", "objectClass: groupOfNames\nmember: cn=reader,dc=ex");
    let search = Watched {
        who: "cn=reader,dc=ex",
        ..EVERYTHING
    };
    let (mut watcher, _) = Watcher::of(&site, &search);
    site.must_add("cn=d,ou=p,dc=ex", "objectClass: person\nsn: s");
    assert_eq!(watcher.news(), ["Add cn=d,ou=p,dc=ex s"]);
    site.modify("cn=g,dc=ex", "replace: member\nmember: cn=other,dc=ex\n");
    site.must_add("cn=e,ou=p,dc=ex", "objectClass: person\nsn: s");
    site.must_add("cn=f,dc=ex", "objectClass: person\nsn: s");
    assert_eq!(watcher.news(), ["Modify cn=g,dc=ex", "Add cn=f,dc=ex s"]);
}

#[test]
fn subentries_are_told_to_who_asks_for_them() {
    let mut site = site("");
    let (mut plain, _) = Watcher::of(&site, &EVERYTHING);
    let subentries = Control::critical(Subentries { visible: true });
    let (mut of_subentries, _) = Watcher::with(&site, &EVERYTHING, &[&subentries], DerefAliases::Never);
    site.must_add(
        "cn=s,dc=ex",
        "objectClass: subentry\nobjectClass: extensibleObject\nsubtreeSpecification: {}\nsn: s",
    );
    site.delete("cn=a,ou=p,dc=ex");
    assert_eq!(plain.news(), ["Delete cn=a,ou=p,dc=ex s"]);
    assert_eq!(of_subentries.news(), ["Add cn=s,dc=ex s"]);
    site.delete("cn=s,dc=ex");
    assert_eq!(plain.news(), [""; 0]);
    assert_eq!(of_subentries.news(), ["Delete cn=s,dc=ex s"]);
}

#[test]
fn referrals_are_told_as_entries_to_who_manages_them_and_else_as_references_while_they_are_there() {
    let mut site = site("");
    let (mut plain, _) = Watcher::of(&site, &EVERYTHING);
    let as_entries = Control::critical(ManageDsaIt);
    let (mut manager, _) = Watcher::with(&site, &EVERYTHING, &[&as_entries], DerefAliases::Never);
    site.must_add(
        "cn=r,dc=ex",
        "objectClass: referral\nobjectClass: extensibleObject\nref: ldap://other.example/cn=r\nsn: s",
    );
    assert_eq!(plain.news(), ["reference ldap://other.example/cn=r??sub"]);
    assert_eq!(manager.news(), ["Add cn=r,dc=ex s"]);
    site.delete_with("cn=r,dc=ex", &[&as_entries]);
    assert_eq!(plain.news(), [""; 0]);
    assert_eq!(manager.news(), ["Delete cn=r,dc=ex s"]);
}

#[test]
fn aliases_are_told_as_entries_and_not_followed() {
    let mut site = site("");
    let (mut watcher, _) = Watcher::with(&site, &EVERYTHING, &[], DerefAliases::Always);
    site.must_add(
        "cn=alias,ou=p,dc=ex",
        "objectClass: alias\nobjectClass: extensibleObject\naliasedObjectName: dc=ex\nsn: s",
    );
    assert_eq!(watcher.news(), ["Add cn=alias,ou=p,dc=ex s"]);
    site.modify("cn=a,ou=p,dc=ex", "replace: sn\nsn: t\n");
    assert_eq!(watcher.news(), ["Modify cn=a,ou=p,dc=ex t"], "once");
}

#[test]
fn the_search_ends_behind_the_deletion_of_its_base_object() {
    let mut site = site("");
    let search = Watched {
        base: "cn=a,ou=p,dc=ex",
        scope: Scope::BaseObject,
        ..EVERYTHING
    };
    let (mut watcher, _) = Watcher::of(&site, &search);
    site.modify("cn=a,ou=p,dc=ex", "replace: sn\nsn: t\n");
    site.delete("cn=a,ou=p,dc=ex");
    assert_eq!(watcher.news(), ["Delete cn=a,ou=p,dc=ex t", "result 32"]);
    assert!(!watcher.staying.is_here());
    let (_, first) = Watcher::of(&site, &search);
    assert_eq!(first, ["result 32"], "it is not there");
}

#[test]
fn who_is_so_slow_that_the_log_has_lost_the_next_change_is_told_to_search_again() {
    let mut site = site("");
    let (mut watcher, _) = Watcher::of(&site, &EVERYTHING);
    for sn in ["t", "u"] {
        site.modify("cn=a,ou=p,dc=ex", &format!("replace: sn\nsn: {sn}\n"));
    }
    site.forget_log();
    assert_eq!(watcher.news(), ["result 51"]);
}

#[test]
fn what_makes_no_sense_with_it_is_refused() {
    let site = site("overlay syncprov");
    let refused = |others: &[&dyn EncodeControl], deref| Watcher::with(&site, &EVERYTHING, others, deref).1;
    let sync = Control::critical(SyncRequest {
        persists: true,
        cookie: None,
        reload_hint: false,
    });
    assert_eq!(refused(&[&sync], DerefAliases::Never), ["result 2"]);
    let page = Control::critical(PagedResults { size: 2, cookie: b"" });
    assert_eq!(refused(&[&page], DerefAliases::Never), ["result 2"]);
    let keys = [SortKey {
        attribute: b"sn",
        ordering_rule: Some(b"caseIgnoreOrderingMatch"),
        reverse: false,
    }];
    let sort = Control::critical(SortKeys(keys[..].into()));
    assert_eq!(refused(&[&sort], DerefAliases::Never), ["result 12"]);
    let manage = Control::critical(ManageDsaIt);
    assert_eq!(refused(&[&manage], DerefAliases::Always), [""; 0]);
}
