//! The access log of a database whose overlays change further entries: slapd's log has the requests alone, and changes
//! that are ones by themselves have places of their own.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use ironbark_harness::{Site, search_request};
use ironbark_ldap_proto::{
    DecodeLimits, ExtendedRequest, Request, Response, ResponseMessage, Scope,
    controls::{Control, SyncRequest, SyncState, TreeDelete},
    extended::refresh::{self, RefreshRequest},
    frame,
};

const ACCESSLOG: &str = "overlay accesslog\nlogdb cn=accesslog\nlogops writes\nlogold (objectClass=*)";
const AUTOMEMBER: &str = "overlay automember\nautomember-scope ou=s,dc=ex\nautomember-filter (objectClass=person)\n\
    automember-default-group cn=all,dc=ex\nautomember-inclusive-regex cn=a,dc=ex sn=^a\n\
    automember-inclusive-regex cn=b,dc=ex sn=^a";

fn site(overlays: &[&str]) -> Site {
    let lines = format!(
        "index member eq\noverlay syncprov\n{}\n\ndatabase mdb\nsuffix cn=accesslog\ndirectory DIR\nrootdn cn=root,dc=ex\n\
         overlay syncprov\nsyncprov-nopresent TRUE\nsyncprov-reloadhint TRUE",
        overlays.join("\n")
    );
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    site.must_add("ou=s,dc=ex", "objectClass: organizationalUnit");
    for name in ["p", "q"] {
        site.must_add(&format!("cn={name},dc=ex"), "objectClass: person\nsn: s");
    }
    for name in ["all", "a", "b"] {
        site.must_add(
            &format!("cn={name},dc=ex"),
            "objectClass: groupOfNames\nmember: cn=p,dc=ex",
        );
    }
    site
}

/// The values of an attribute.
fn values(entry: &str, name: &str) -> Vec<String> {
    let start = format!("{name}: ");
    let lines = entry.lines().filter_map(|line| line.strip_prefix(&start));
    lines.map(str::to_owned).collect()
}

fn one(entry: &str, name: &str) -> String {
    values(entry, name).pop().unwrap_or_default()
}

/// The entries of the log behind the first ones.
fn log(site: &mut Site, known: usize) -> Vec<String> {
    let names = ["*", "entryCSN"];
    let entries = site.search("cn=accesslog", Scope::SingleLevel, "(objectClass=*)", &names);
    entries.into_iter().skip(known).collect()
}

/// What was done with which entries.
fn told(log: &[String]) -> Vec<String> {
    let told = |entry: &String| format!("{} {}", one(entry, "reqType"), one(entry, "reqDN"));
    log.iter().map(told).collect()
}

fn uuid(site: &mut Site, name: &str) -> String {
    one(&site.read(name, &["entryUUID"]).expect("there"), "entryUUID")
}

fn context(site: &mut Site, suffix: &str) -> Vec<String> {
    values(&site.read(suffix, &["contextCSN"]).expect("there"), "contextCSN")
}

/// Each entry of the log has a CSN of its own, greater than the one before; the last one is what both databases have.
fn assert_ordered(site: &mut Site, log: &[String]) {
    let csns: Vec<String> = log.iter().map(|entry| one(entry, "entryCSN")).collect();
    assert!(csns.is_sorted_by(|a, b| a < b), "{csns:?}");
    let last = csns.last().cloned();
    for suffix in ["dc=ex", "cn=accesslog"] {
        assert_eq!(context(site, suffix).last(), last.as_ref(), "{suffix}");
    }
}

#[test]
fn effects_of_memberof_refint_and_usn_are_in_no_log_in_any_order_of_overlays() {
    let refint = "overlay refint\nrefint_attributes member seeAlso";
    let others = ["overlay memberof\nmemberof-refint TRUE", refint, "overlay usn"];
    for place in 0..=others.len() {
        let mut overlays = others.to_vec();
        overlays.insert(place, ACCESSLOG);
        let mut site = site(&overlays);
        let known = log(&mut site, 0).len();
        assert_eq!(known, 7, "the entries that were added");
        let (group, person) = (uuid(&mut site, "cn=a,dc=ex"), uuid(&mut site, "cn=p,dc=ex"));
        assert_eq!(site.modify("cn=a,dc=ex", "add: member\nd: cn=q,dc=ex").code, 0);
        assert_eq!(site.rename("cn=p,dc=ex", "cn=r", None).code, 0);
        assert_eq!(site.delete("cn=a,dc=ex").code, 0);
        let log = log(&mut site, known);
        let expected = ["modify cn=a,dc=ex", "modrdn cn=p,dc=ex", "delete cn=a,dc=ex"];
        assert_eq!(told(&log), expected, "place {place}");
        let uuids: Vec<String> = log.iter().map(|entry| one(entry, "reqEntryUUID")).collect();
        assert_eq!(uuids, [group.clone(), person, group], "place {place}");
        assert_ordered(&mut site, &log);
    }
}

#[test]
fn former_values_are_those_of_the_requests_entry_in_any_order_of_overlays() {
    let others = ["overlay memberof", "overlay usn"];
    for place in 0..=others.len() {
        let mut overlays = others.to_vec();
        overlays.insert(place, ACCESSLOG);
        let mut site = site(&overlays);
        let known = log(&mut site, 0).len();
        assert_eq!(site.modify("cn=a,dc=ex", "replace: member\nd: cn=q,dc=ex").code, 0);
        assert_eq!(site.delete("cn=a,dc=ex").code, 0);
        let log = log(&mut site, known);
        let former = |entry: &String| {
            let mut former = values(entry, "reqOld");
            former.retain(|line| line.starts_with("member") || line.starts_with("sn"));
            former
        };
        let former: Vec<_> = log.iter().map(former).collect();
        assert_eq!(
            former,
            [["member: cn=p,dc=ex"], ["member: cn=q,dc=ex"]],
            "place {place}"
        );
        let stamps = values(&log[0], "reqOld");
        assert!(stamps.iter().any(|line| line.starts_with("entryCSN: ")), "{stamps:?}");
    }
}

#[test]
fn a_group_that_automember_changes_is_logged_as_a_change_by_itself() {
    let mut site = site(&[ACCESSLOG, "overlay memberof", AUTOMEMBER]);
    let known = log(&mut site, 0).len();
    site.must_add("cn=x,ou=s,dc=ex", "objectClass: person\nsn: a");
    let log = log(&mut site, known);
    let expected = ["add cn=x,ou=s,dc=ex", "modify cn=a,dc=ex", "modify cn=b,dc=ex"];
    assert_eq!(told(&log), expected);
    for (entry, name) in log.iter().zip(["cn=x,ou=s,dc=ex", "cn=a,dc=ex", "cn=b,dc=ex"]) {
        assert_eq!(one(entry, "reqEntryUUID"), uuid(&mut site, name), "{name}");
        let held = site.read(name, &["entryCSN"]).expect("there");
        assert_eq!(one(entry, "entryCSN"), one(&held, "entryCSN"), "{name}");
    }
    assert_ordered(&mut site, &log);
}

#[test]
fn a_group_that_keeps_its_last_member_leaves_no_place_in_the_log() {
    let mut site = site(&[ACCESSLOG, AUTOMEMBER]);
    site.must_add("cn=x,ou=s,dc=ex", "objectClass: person\nsn: a");
    for name in ["a", "b"] {
        let alone = site.modify(&format!("cn={name},dc=ex"), "replace: member\nd: cn=x,ou=s,dc=ex");
        assert_eq!(alone.code, 0);
    }
    let known = log(&mut site, 0).len();
    assert_eq!(site.modify("cn=x,ou=s,dc=ex", "replace: sn\nd: c").code, 0);
    let log = log(&mut site, known);
    assert_eq!(told(&log), ["modify cn=x,ou=s,dc=ex", "modify cn=all,dc=ex"]);
    assert_ordered(&mut site, &log);
}

/// Lets a tree of three entries be deleted.
fn delete_tree(site: &mut Site) {
    site.must_add("cn=x,ou=s,dc=ex", "objectClass: organizationalRole");
    site.must_add("cn=y,cn=x,ou=s,dc=ex", "objectClass: person\nsn: s");
    let answer = site.delete_with("ou=s,dc=ex", &[&Control::critical(TreeDelete)]);
    assert_eq!(answer.code, 0, "{answer:?}");
}

#[test]
fn each_entry_of_a_deleted_tree_has_a_place_of_its_own() {
    let mut site = site(&["overlay memberof", ACCESSLOG]);
    let known = log(&mut site, 0).len() + 2;
    delete_tree(&mut site);
    let log = log(&mut site, known);
    let expected = [
        "delete cn=y,cn=x,ou=s,dc=ex",
        "delete cn=x,ou=s,dc=ex",
        "delete ou=s,dc=ex",
    ];
    assert_eq!(told(&log), expected);
    assert_ordered(&mut site, &log);
}

#[test]
fn each_entry_of_a_deleted_tree_is_gone_with_a_csn_of_its_own() {
    let mut site = site(&[ACCESSLOG]);
    site.must_add("cn=x,ou=s,dc=ex", "objectClass: organizationalRole");
    let before = context(&mut site, "dc=ex").pop().expect("a CSN");
    let answer = site.delete_with("ou=s,dc=ex", &[&Control::critical(TreeDelete)]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let last = context(&mut site, "dc=ex").pop().expect("a CSN");
    let count = last.split('#').nth(1).expect("a count");
    let former = u32::from_str_radix(count, 16).expect("a number") - 1;
    let first = last.replace(&format!("#{count}#"), &format!("#{former:06x}#"));
    assert_ne!(first, last);
    let told = String::from_utf8_lossy(&sent(&mut site, "dc=ex", &before)).into_owned();
    for csn in [first, last] {
        assert!(told.contains(&format!("delcsn={csn}")), "{csn}: {told}");
    }
}

#[test]
fn the_refresh_of_a_dynamic_entry_is_logged_with_its_uuid_and_leaves_its_csn() {
    let mut site = site(&[ACCESSLOG, "overlay dds"]);
    site.must_add("cn=d,dc=ex", "objectClass: person\nobjectClass: dynamicObject\nsn: s");
    let known = log(&mut site, 0).len();
    let mut value = Vec::new();
    let (entry, ttl_s) = (&b"cn=d,dc=ex"[..], 100);
    RefreshRequest { entry, ttl_s }.encode(&mut value);
    let request = ExtendedRequest {
        name: refresh::OID.as_bytes(),
        value: Some(&value),
    };
    assert_eq!(site.send(&Request::Extended(request), &[]).code, 0);
    let log = log(&mut site, known);
    assert_eq!(told(&log), ["modify cn=d,dc=ex"]);
    assert_eq!(one(&log[0], "reqEntryUUID"), uuid(&mut site, "cn=d,dc=ex"));
    let changes = values(&log[0], "reqMod");
    assert!(
        changes
            .iter()
            .all(|change| change.starts_with("entry") && !change.starts_with("entryCSN")),
        "{changes:?}"
    );
    assert_ordered(&mut site, &log);
}

/// What a consumer with this cookie is sent.
fn sent(site: &mut Site, base: &str, cookie: &str) -> Vec<u8> {
    let names = [&b"reqDN"[..]];
    let request = search_request(base, Scope::WholeSubtree, "(!(objectClass=auditContainer))", &names);
    let cookie = format!("rid=001,csn={cookie}");
    let sync = Control::critical(SyncRequest {
        persists: false,
        cookie: Some(cookie.as_bytes()),
        reload_hint: false,
    });
    site.send_for_octets(&Request::Search(request), &[&sync])
}

/// Names and cookies of the changes that a consumer of the log with this cookie gets.
fn followed(site: &mut Site, cookie: &str) -> Vec<(String, String)> {
    let out = sent(site, "cn=accesslog", cookie);
    let (mut out, mut found) = (out.as_slice(), Vec::new());
    while let Some(length) = frame(out, 1 << 24).expect("frames") {
        let (pdu, rest) = out.split_at(length);
        out = rest;
        let message = ResponseMessage::decode(pdu, &DecodeLimits::default()).expect("decodes");
        let Response::SearchEntry(entry) = message.operation else {
            continue;
        };
        let control = message.controls.iter().next().expect("a control");
        let state = SyncState::decode_value(control.value.unwrap_or_default()).expect("a state");
        let cookie = String::from_utf8_lossy(state.cookie.unwrap_or_default()).into_owned();
        let name = entry.attributes.iter().flat_map(|held| held.values.iter()).next();
        found.push((String::from_utf8_lossy(name.unwrap_or_default()).into_owned(), cookie));
    }
    found
}

#[test]
fn a_consumer_that_was_cut_off_within_a_change_gets_the_rest_of_it() {
    let mut site = site(&[ACCESSLOG]);
    let before = context(&mut site, "cn=accesslog").pop().expect("a CSN");
    delete_tree(&mut site);
    let all = followed(&mut site, &before);
    assert_eq!(all.len(), 5, "{all:?}");
    for (number, (_, cookie)) in all.iter().enumerate() {
        let (_, csn) = cookie.split_once("csn=").expect("each has a cookie");
        let rest = followed(&mut site, csn);
        assert_eq!(rest, all[number + 1..], "behind {cookie}");
    }
}

/// The log has everything of a server that has written for the first time.
#[test]
fn a_consumer_that_knows_nothing_of_a_server_goes_on_from_its_first_change() {
    let mut site = site(&[ACCESSLOG]);
    let whole = log(&mut site, 0).len();
    let of_others = "20260102030405.000000Z#000000#005#000000";
    assert_eq!(followed(&mut site, of_others).len(), whole);
}

/// `minCSN` is still that of the first change when only that one is purged.
#[test]
fn a_consumer_that_knows_nothing_of_a_server_is_refused_when_its_first_change_is_purged() {
    let lines = format!(
        "overlay syncprov\n{ACCESSLOG}\nlogpurge 00:01 00:00:01\n\ndatabase mdb\nsuffix cn=accesslog\ndirectory DIR\n\
         rootdn cn=root,dc=ex\noverlay syncprov\nsyncprov-nopresent TRUE\nsyncprov-reloadhint TRUE"
    );
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    let of_others = "20260102030405.000000Z#000000#005#000000";
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    site.clock.advance(std::time::Duration::from_secs(40));
    site.must_add("ou=s,dc=ex", "objectClass: organizationalUnit");
    assert_eq!(followed(&mut site, of_others).len(), 2);
    site.clock.advance(std::time::Duration::from_secs(30));
    site.must_add("ou=t,dc=ex", "objectClass: organizationalUnit");
    while log(&mut site, 0).len() > 2 {
        std::thread::yield_now();
    }
    assert_eq!(followed(&mut site, of_others), []);
}
