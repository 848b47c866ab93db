//! Overlays of a database whose changes come from a provider: they act in the transaction, and follow.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use ironbark_directory::{OutcomeKind, ReplicatedEntry};
use ironbark_harness::Site;
use ironbark_harness::peer::{csn, csn_of, entry, made, mapping, parsed, person, refresh, rows};
use ironbark_ldap_proto::Scope;

const A: &str = "cn=a,dc=ex";
const B: &str = "cn=b,dc=ex";
const G: &str = "cn=g,dc=ex";

fn site(overlays: &str) -> Site {
    let lines = format!("{}\n{overlays}", ironbark_harness::peer::LINES);
    let site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    let top = made("dc=ex", 1, &csn(1, 1), &[("objectClass", "domain"), ("dc", "ex")]);
    for sent in [top, person(A, 2, &csn(1, 2)), person(B, 3, &csn(1, 3))] {
        assert_eq!(refresh(&site, mapping(&site), &sent), OutcomeKind::Added);
    }
    site
}

fn group(member: &str, csn: &str) -> ReplicatedEntry {
    let class = ("structuralObjectClass", "groupOfNames");
    made(
        G,
        4,
        csn,
        &[("objectClass", "groupOfNames"), ("cn", "g"), ("member", member), class],
    )
}

fn member_of(site: &mut Site, name: &str) -> Option<String> {
    site.read(name, &["memberOf"])
}

#[test]
fn memberof_follows_replicated_groups_and_what_the_provider_says_of_it_is_ignored() {
    let mut site = site("overlay memberof");
    refresh(&site, mapping(&site), &group(A, &csn(1, 10)));
    assert_eq!(member_of(&mut site, A).as_deref(), Some("memberOf: cn=g,dc=ex\n"));
    assert_eq!(
        csn_of(&entry(&site, A)),
        parsed(&csn(1, 2)),
        "it is no change of the provider's"
    );
    let last = rows(&site).pop().expect("a row");
    let internal: Vec<bool> = last.effects.iter().map(|recorded| recorded.marks.internal).collect();
    assert_eq!(internal, [false, true]);
    for (number, sent) in (20..).zip(["cn=elsewhere,dc=ex", ""]) {
        let mut changed = person(A, 2, &csn(1, number));
        if !sent.is_empty() {
            changed.attributes.push(("memberOf".into(), vec![sent.into()]));
        }
        assert_eq!(refresh(&site, mapping(&site), &changed), OutcomeKind::Modified);
        assert_eq!(member_of(&mut site, A).as_deref(), Some("memberOf: cn=g,dc=ex\n"));
    }
    refresh(&site, mapping(&site), &group(B, &csn(1, 30)));
    assert_eq!(
        [A, B].map(|name| member_of(&mut site, name)),
        [Some(String::new()), Some("memberOf: cn=g,dc=ex\n".into())]
    );
    ironbark_harness::peer::delete(&site, mapping(&site), [4; 16], Some(parsed(&csn(1, 40))));
    assert_eq!(member_of(&mut site, B).as_deref(), Some(""));
}

#[test]
fn refint_follows_a_replicated_rename_without_a_new_csn() {
    let mut site = site("overlay refint\nrefint_attributes member");
    refresh(&site, mapping(&site), &group(A, &csn(1, 10)));
    assert_eq!(
        refresh(&site, mapping(&site), &person("cn=z,dc=ex", 2, &csn(1, 20))),
        OutcomeKind::Renamed
    );
    assert_eq!(site.read(G, &["member"]).as_deref(), Some("member: cn=z,dc=ex\n"));
    assert_eq!(csn_of(&entry(&site, G)), parsed(&csn(1, 10)));
}

#[test]
fn content_hooks_are_not_asked() {
    let mut site = site("overlay unique\nunique_uri ldap:///?sn?sub");
    assert_eq!(
        refresh(&site, mapping(&site), &person("cn=c,dc=ex", 5, &csn(1, 9))),
        OutcomeKind::Added
    );
    assert_eq!(
        site.add("cn=d,dc=ex", "objectClass: person\nsn: s").code,
        19,
        "a client is refused"
    );
}

#[test]
fn the_audit_log_has_replicated_changes() {
    let site = site("overlay auditlog\nauditlog DIR/audit");
    refresh(&site, mapping(&site), &person("cn=z,dc=ex", 2, &csn(1, 20)));
    let mut changed = person(B, 3, &csn(1, 21));
    changed.attributes.push(("description".into(), vec![b"new".to_vec()]));
    refresh(&site, mapping(&site), &changed);
    ironbark_harness::peer::delete(&site, mapping(&site), [3; 16], Some(parsed(&csn(1, 22))));
    let text = std::fs::read_to_string(site.folder.path().join("audit")).expect("readable");
    let logged: Vec<&str> = text.lines().filter(|line| line.starts_with("changetype: ")).collect();
    let kinds = ["add", "add", "add", "modrdn", "modify", "delete"].map(|kind| format!("changetype: {kind}"));
    assert_eq!(logged, kinds);
    assert!(
        text.contains("newrdn: cn=z\n") && text.contains("add: description\ndescription: new\n"),
        "{text}"
    );
}

/// The one rename in the access log to which this entry of a refresh leads.
fn logged_rename(sent: &ReplicatedEntry) -> String {
    let overlay = "overlay syncprov\noverlay accesslog\nlogdb cn=accesslog\nlogops writes\n\ndatabase mdb\n\
        suffix cn=accesslog\ndirectory DIR\nrootdn cn=root,dc=ex";
    let mut site = site(overlay);
    assert_eq!(refresh(&site, mapping(&site), sent), OutcomeKind::Renamed);
    let names = ["reqDN", "reqMod", "reqNewRDN", "reqDeleteOldRDN", "reqNewSuperior"];
    let mut log = site.search("cn=accesslog", Scope::SingleLevel, "(reqType=modrdn)", &names);
    assert_eq!(log.len(), 1, "{log:?}");
    log.remove(0)
}

/// An entry comes from a refresh as it is now: with another name, and other values besides.
#[test]
fn the_access_log_tells_all_that_a_refresh_has_changed_with_a_name() {
    let mut sent = person("cn=z,dc=ex", 2, &csn(1, 20));
    sent.attributes[1].1.push(b"a".to_vec());
    sent.attributes.push(("description".into(), vec![b"new".to_vec()]));
    let entry = logged_rename(&sent);
    for line in [
        "reqDN: cn=a,dc=ex",
        "reqMod: cn:+ z",
        "reqMod: description:+ new",
        "reqNewRDN: cn=z",
        "reqDeleteOldRDN: FALSE",
    ] {
        assert!(entry.lines().any(|held| held == line), "{line}: {entry}");
    }
    assert!(!entry.contains("cn:- a"), "the old name is still a value: {entry}");
}

/// Its new name is below its old one, so it is made anew there.
#[test]
fn the_access_log_tells_all_that_a_refresh_has_changed_in_an_entry_that_is_made_anew() {
    let mut sent = person("cn=z,cn=a,dc=ex", 2, &csn(1, 20));
    sent.attributes.push(("description".into(), vec![b"new".to_vec()]));
    let entry = logged_rename(&sent);
    for line in [
        "reqDN: cn=a,dc=ex",
        "reqMod: description:+ new",
        "reqNewRDN: cn=z",
        "reqNewSuperior: cn=a,dc=ex",
        "reqDeleteOldRDN: FALSE",
    ] {
        assert!(entry.lines().any(|held| held == line), "{line}: {entry}");
    }
}
