//! slapo-nops(5).
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;
use ironbark_ldap_proto::controls::{AssertionControl, Control, PostRead};

const NAME: &str = "cn=x,dc=ex";

fn site() -> Site {
    let mut site = Site::open_of(&ironbark_overlays::registry(), "overlay nops", ironbark_overlays::make);
    site.populate();
    site.must_add(
        NAME,
        "objectClass: person\nsn: s\ndescription: one\ndescription: two\ntelephoneNumber: 1",
    );
    site
}

fn stored(site: &mut Site) -> String {
    site.read(NAME, &["*", "entryCSN", "modifyTimestamp"]).expect("there")
}

#[test]
fn a_replacement_by_the_same_values_changes_nothing() {
    let mut site = site();
    let before = stored(&mut site);
    for same in [
        "replace: sn\nd: s",
        "replace: description\nd: two\nd: one",
        "replace: sn\nd: s\n-\nreplace: description\nd: one\nd: two",
    ] {
        assert_eq!(site.modify(NAME, same).code, 0, "{same}");
        assert_eq!(stored(&mut site), before, "{same}");
    }
}

#[test]
fn every_other_change_is_made() {
    let mut site = site();
    for (change, line) in [
        ("replace: sn\nd: S", "sn: S\n"),
        ("replace: description\nd: one", "description: one\n"),
        ("replace: sn\nd: S\n-\nreplace: seeAlso\nd: dc=ex", "seeAlso: dc=ex\n"),
        // The second change is about what the first one leaves.
        ("replace: sn\nd: t\n-\nreplace: sn\nd: S", "sn: S\n"),
        ("delete: sn\n-\nreplace: sn\nd: S", "sn: S\n"),
        ("add: sn\nd: more", "sn: more\n"),
    ] {
        let before = stored(&mut site);
        assert_eq!(site.modify(NAME, change).code, 0, "{change}");
        let after = stored(&mut site);
        assert!(after.contains(line), "{change}: {after}");
        assert_ne!(before, after, "{change}");
    }
    assert!(!stored(&mut site).contains("description: two"));
    assert_eq!(site.modify(NAME, "replace: description").code, 0);
    assert!(!stored(&mut site).contains("description"), "all values go");
}

#[test]
fn the_request_is_judged_as_the_client_has_sent_it() {
    let lines =
        "overlay nops\naccess to attrs=sn by * read\naccess to attrs=description by * =w\naccess to * by * write";
    let mut site = Site::open_of(&ironbark_overlays::registry(), lines, ironbark_overlays::make);
    site.populate();
    site.must_add(NAME, "objectClass: person\nsn: s\ndescription: secret");
    site.become_("cn=someone,dc=ex");
    assert_eq!(site.modify(NAME, "replace: sn\nd: s").code, 50);
    let before = stored(&mut site);
    assert_eq!(site.modify(NAME, "replace: cn\nd: x").code, 0);
    assert_eq!(stored(&mut site), before);
    // Who may write a value and not compare it does not learn that it was right.
    assert_eq!(site.modify(NAME, "replace: description\nd: secret").code, 0);
    assert_ne!(stored(&mut site), before);
    site.become_("cn=root,dc=ex");
    assert_eq!(site.modify("cn=none,dc=ex", "replace: sn\nd: s").code, 32);
    let wrong = ironbark_model::Filter::parse(b"(sn=other)", 10).expect("right");
    let wrong = Control::critical(AssertionControl(wrong));
    assert_eq!(site.modify_with(NAME, "replace: sn\nd: s", &[&wrong]).code, 122);
    let names = [&b"sn"[..]];
    let read = Control::critical(PostRead(names[..].into()));
    let answer = site.modify_with(NAME, "replace: sn\nd: s", &[&read]);
    assert!(answer.read_entry.is_some(), "the entry as it is");
}
