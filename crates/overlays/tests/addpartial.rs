//! The overlay addpartial.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;
use ironbark_ldap_proto::controls::{AssertionControl, Control, PostRead};

const NAME: &str = "cn=x,dc=ex";
const ENTRY: &str = "objectClass: person\nsn: s\ndescription: one\ndescription: two";

fn site(lines: &str) -> Site {
    let lines = format!("overlay addpartial\n{lines}");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    site.must_add(NAME, ENTRY);
    site
}

fn all(site: &mut Site) -> String {
    site.read(NAME, &["*", "+"]).expect("there")
}

fn user_attributes(site: &mut Site) -> String {
    site.read(NAME, &["*"]).expect("there")
}

#[test]
fn an_add_of_an_existing_entry_changes_what_differs() {
    let mut site = site("");
    for (entry, shown) in [
        (
            "objectClass: person\nsn: t\ndescription: one\ndescription: two",
            "objectClass: person\ncn: x\ndescription: one\ndescription: two\nsn: t\n",
        ),
        (
            "objectClass: person\nsn: t\ndescription: three",
            "objectClass: person\ncn: x\ndescription: three\nsn: t\n",
        ),
        ("objectClass: person\nsn: t", "objectClass: person\ncn: x\nsn: t\n"),
        (
            "objectClass: person\nsn: t\ntelephoneNumber: 1",
            "objectClass: person\ncn: x\nsn: t\ntelephoneNumber: 1\n",
        ),
    ] {
        let uuid = site.read(NAME, &["entryUUID"]);
        site.must_add(NAME, entry);
        let mut lines: Vec<String> = user_attributes(&mut site).lines().map(str::to_owned).collect();
        lines.sort_unstable();
        let mut expected: Vec<&str> = shown.lines().collect();
        expected.sort_unstable();
        assert_eq!(lines, expected);
        assert_eq!(site.read(NAME, &["entryUUID"]), uuid, "it is the same entry");
    }
}

#[test]
fn an_add_of_the_same_entry_changes_nothing() {
    let mut site = site("");
    let before = all(&mut site);
    for same in [
        ENTRY,
        "objectClass: person\ncn: x\nsn: s\ndescription: two\ndescription: one",
        "objectClass: PERSON\nsn: S\ndescription: ONE\ndescription: two",
    ] {
        site.must_add(NAME, same);
        assert_eq!(all(&mut site), before, "{same}");
    }
    site.must_add("cn=new,dc=ex", ENTRY);
    assert!(site.read("cn=new,dc=ex", &["sn"]).is_some(), "others are added");
}

#[test]
fn what_it_becomes_is_checked_like_a_modify() {
    let mut site = site("");
    let before = all(&mut site);
    assert_eq!(site.add(NAME, "objectClass: person").code, 65, "sn is required");
    assert_eq!(site.add(NAME, "objectClass: device").code, 69, "another kind of entry");
    let wrong = ironbark_model::Filter::parse(b"(sn=other)", 10).expect("right");
    let wrong = Control::critical(AssertionControl(wrong));
    assert_eq!(site.add_with(NAME, "objectClass: person\nsn: t", &[&wrong]).code, 122);
    assert_eq!(site.add_with(NAME, ENTRY, &[&wrong]).code, 122);
    assert_eq!(all(&mut site), before);
    let names = [&b"sn"[..]];
    let read = Control::critical(PostRead(names[..].into()));
    for sn in ["s", "t"] {
        let entry = format!("objectClass: person\nsn: {sn}");
        let read_entry = site.add_with(NAME, &entry, &[&read]).read_entry;
        assert_eq!(read_entry, Some(format!("dn: cn=x,dc=ex\nsn: {sn}\n")));
    }
}

#[test]
fn it_needs_the_rights_of_the_modify() {
    let mut site = site(
        "access to attrs=sn by * read\naccess to attrs=userPassword by * none\naccess to dn.subtree=ou=p,dc=ex by * read\n\
         access to * by * write",
    );
    site.become_("cn=someone,dc=ex");
    let before = all(&mut site);
    assert_eq!(site.add(NAME, "objectClass: person\nsn: t").code, 50, "sn is replaced");
    assert_eq!(site.add(NAME, "objectClass: device").code, 50, "sn is deleted");
    assert_eq!(site.add(NAME, &format!("{ENTRY}\nuserPassword: x")).code, 50);
    assert_eq!(all(&mut site), before);
    site.must_add(NAME, "objectClass: person\nsn: s\ndescription: new");
    assert!(user_attributes(&mut site).contains("description: new"));
    // Who may not add there is answered as without the overlay.
    assert_eq!(site.add("cn=a,ou=p,dc=ex", "objectClass: person\nsn: s").code, 68);
    assert_eq!(site.add("cn=a,ou=p,dc=ex", "objectClass: person\nsn: t").code, 68);
}

/// The answers to some adds, each with what it has left for the client to see.
fn answers(site: &mut Site, entries: &[&str]) -> Vec<(u32, String)> {
    let answer = |entry: &&str| {
        let code = site.add(NAME, entry).code;
        let shown = site.search_as_self(NAME, ironbark_ldap_proto::Scope::BaseObject, "(objectClass=*)", &["*"]);
        (code, shown.entries.concat())
    };
    entries.iter().map(answer).collect()
}

#[test]
fn where_modifications_are_restricted_it_makes_none() {
    let mut site = site("restrict modify");
    assert_eq!(site.add(NAME, "objectClass: person\nsn: t").code, 68);
}

#[test]
fn an_add_tells_nothing_of_what_may_not_be_seen() {
    let rules = "access to attrs=userPassword by * none\naccess to attrs=description val.exact=hidden by * none\n\
        access to attrs=description,sn by * read\naccess to * by * write";
    let tries = [
        "objectClass: person\nsn: s\ndescription: shown",
        "objectClass: person\nsn: s\ndescription: shown\ndescription: hidden",
        "objectClass: person\nsn: s\ndescription: shown\nuserPassword: secret",
        "objectClass: person\nsn: s",
        "objectClass: person\nsn: s\ndescription: shown\ntelephoneNumber: 1",
    ];
    let of_entry = |entry: &str| {
        let mut site = site(rules);
        site.must_add(NAME, entry);
        site.become_("cn=someone,dc=ex");
        answers(&mut site, &tries)
    };
    let plain = of_entry("objectClass: person\nsn: s\ndescription: shown");
    let codes: Vec<u32> = plain.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, [0, 50, 50, 50, 0]);
    for secret in ["description: hidden", "userPassword: secret", "userPassword: other"] {
        let entry = format!("objectClass: person\nsn: s\ndescription: shown\n{secret}");
        assert_eq!(of_entry(&entry), plain, "{secret}");
    }
}

#[test]
fn a_hidden_entry_is_answered_for_as_without_the_overlay() {
    let rules = "access to dn.base=cn=x,dc=ex by * none\naccess to * by * write";
    let mut with = site(rules);
    let mut without = Site::open_of(&ironbark_overlays::registry(), rules, ironbark_overlays::make);
    without.populate();
    without.must_add(NAME, ENTRY);
    for site in [&mut with, &mut without] {
        site.become_("cn=someone,dc=ex");
    }
    for entry in [ENTRY, "objectClass: person\nsn: t"] {
        assert_eq!(with.add(NAME, entry), without.add(NAME, entry));
    }
}
