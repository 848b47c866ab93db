//! slapo-emptyds(5).
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;

const NAME: &str = "cn=x,dc=ex";

fn site(lines: &str) -> Site {
    let lines = format!("overlay emptyds\n{lines}");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    site
}

fn shown(site: &mut Site) -> String {
    site.read(NAME, &["sn", "title", "description", "userPassword"])
        .expect("there")
}

#[test]
fn an_added_entry_has_the_values_that_are_not_empty() {
    let mut site = site("");
    site.must_add(
        NAME,
        "objectClass: organizationalPerson\nsn: s\ntitle:\ndescription: one\ndescription:\nuserPassword:",
    );
    assert_eq!(
        shown(&mut site),
        "sn: s\ndescription: one\nuserPassword: \n",
        "other syntaxes keep theirs"
    );
    assert_eq!(
        site.add("cn=y,dc=ex", "objectClass: person\nsn:").code,
        65,
        "what is required must be left"
    );
}

#[test]
fn changes_are_made_without_the_empty_values() {
    let mut site = site("");
    site.must_add(NAME, "objectClass: person\nsn: s\ndescription: one\ndescription: two");
    for (change, left) in [
        (
            "add: description\nd: three\nd:",
            "description: one\ndescription: two\ndescription: three\n",
        ),
        (
            "delete: description\nd:\nd: two\nd:",
            "description: one\ndescription: three\n",
        ),
        ("replace: description\nd: four\nd:", "description: four\n"),
        ("replace: description\nd:", ""),
    ] {
        assert_eq!(site.modify(NAME, change).code, 0, "{change}");
        assert_eq!(shown(&mut site), format!("sn: s\n{left}"), "{change}");
    }
    assert_eq!(site.modify(NAME, "replace: sn\nd:").code, 65, "sn is required");
}

#[test]
fn a_change_of_nothing_else_is_none() {
    let mut site = site("");
    site.must_add(NAME, "objectClass: person\nsn: s\ndescription: one");
    let stored = |site: &mut Site| site.read(NAME, &["*", "+"]).expect("there");
    let before = stored(&mut site);
    for change in [
        "delete: description\nd:",
        "add: description\nd:",
        "delete: description\nd:\n-\nadd: description\nd:",
    ] {
        assert_eq!(site.modify(NAME, change).code, 0, "{change}");
        assert_eq!(stored(&mut site), before, "{change}");
    }
    let answer = site.modify(NAME, "delete: description\nd:\n-\nadd: description\nd: two");
    assert_eq!(answer.code, 0);
    assert!(shown(&mut site).contains("description: one\ndescription: two\n"));
}

#[test]
fn what_the_client_has_sent_needs_rights() {
    let mut site = site("access to attrs=description by * read\naccess to * by * write");
    site.must_add(NAME, "objectClass: person\nsn: s\ndescription: one");
    site.become_("cn=someone,dc=ex");
    for change in [
        "replace: description\nd:",
        "delete: description\nd:",
        "add: description\nd:",
    ] {
        assert_eq!(site.modify(NAME, change).code, 50, "{change}");
    }
    assert_eq!(site.modify(NAME, "replace: sn\nd: t\nd:").code, 0);
    assert!(shown(&mut site).contains("sn: t\n"));
}

#[test]
fn elsewhere_empty_values_are_refused() {
    let mut site = Site::open_of(&ironbark_overlays::registry(), "", ironbark_overlays::make);
    site.populate();
    assert_eq!(site.add(NAME, "objectClass: person\nsn: s\ndescription:").code, 21);
    let mut site = self::site("");
    site.must_add(NAME, "objectClass: person\nsn: s");
    assert_eq!(site.modify(NAME, "add: telephoneNumber\nd:").code, 21, "another syntax");
    // Operational attributes are the server's.
    assert_ne!(site.modify(NAME, "replace: ref\nd:").code, 0);
}
