//! The overlay allowed.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;

use ironbark_harness::Site;
use ironbark_ldap_proto::Scope;

const NAME: &str = "cn=a,ou=p,dc=ex";

fn site(lines: &str) -> Site {
    let lines = format!("overlay allowed\n{lines}");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    site
}

/// The values of an attribute as who is there sees them.
fn values(site: &mut Site, dn: &str, name: &str) -> BTreeSet<String> {
    let found = site.search_as_self(dn, Scope::BaseObject, "(objectClass=*)", &[name]);
    let prefix = format!("{name}: ");
    let lines = found.entries.concat();
    let values = lines.lines().filter_map(|line| line.strip_prefix(&prefix));
    values.map(str::to_owned).collect()
}

fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[test]
fn an_entry_shows_the_attributes_of_its_classes_and_superclasses() {
    let mut site = site("");
    let of_person = [
        "objectClass",
        "sn",
        "cn",
        "userPassword",
        "telephoneNumber",
        "seeAlso",
        "description",
    ];
    assert_eq!(values(&mut site, NAME, "allowedAttributes"), set(of_person));
    site.must_add("cn=x,dc=ex", "objectClass: inetOrgPerson\nsn: s");
    let more = values(&mut site, "cn=x,dc=ex", "allowedAttributes");
    assert!(more.is_superset(&set(of_person)));
    assert!(
        more.is_superset(&set(["title", "mail"])),
        "of a superclass, and of its own"
    );
    assert!(!more.contains("dc"));
    let all = site.read(NAME, &["+"]).expect("there");
    for name in [
        "allowedAttributes",
        "allowedAttributesEffective",
        "allowedChildClasses",
        "allowedChildClassesEffective",
    ] {
        assert!(all.contains(&format!("\n{name}: ")), "{name}");
    }
    let plain = site.read(NAME, &["*"]).expect("there");
    assert!(!plain.contains("allowed"));
}

#[test]
fn effective_attributes_are_those_that_who_asks_may_write() {
    let rules = "access to attrs=sn,description by dn.exact=cn=writer,dc=ex write by * read\n\
        access to attrs=telephoneNumber by * +az\naccess to attrs=cn by * =a\naccess to * by * read";
    let mut site = site(rules);
    site.become_("cn=writer,dc=ex");
    let effective = "allowedAttributesEffective";
    assert_eq!(
        values(&mut site, NAME, effective),
        set(["sn", "description", "telephoneNumber"])
    );
    site.become_("cn=other,dc=ex");
    assert_eq!(values(&mut site, NAME, effective), set(["telephoneNumber"]));
    site.become_("cn=root,dc=ex");
    assert_eq!(
        values(&mut site, NAME, effective),
        values(&mut site, NAME, "allowedAttributes")
    );
    // Without rules everybody reads, and nobody writes.
    let mut site = self::site("");
    site.become_("cn=other,dc=ex");
    assert_eq!(values(&mut site, NAME, effective), BTreeSet::new());
    assert!(!values(&mut site, NAME, "allowedAttributes").is_empty());
}

#[test]
fn classes_are_the_auxiliary_ones_and_effective_those_that_may_be_added() {
    let rules = "access to attrs=objectClass val=uidObject by * write\naccess to attrs=objectClass val=dcObject by * write\n\
        access to attrs=uid by * write\naccess to * by * read";
    let mut site = site(rules);
    site.become_("cn=other,dc=ex");
    let all = values(&mut site, NAME, "allowedChildClasses");
    assert!(
        all.is_superset(&set(["uidObject", "dcObject", "extensibleObject"])),
        "{all:?}"
    );
    assert!(!all.contains("person") && !all.contains("top"));
    let effective = values(&mut site, NAME, "allowedChildClassesEffective");
    assert_eq!(effective, set(["uidObject"]), "dcObject requires dc");
}

#[test]
fn who_may_not_read_classes_learns_nothing() {
    let rules = "access to dn.base=cn=a,ou=p,dc=ex attrs=objectClass by * search\n\
        access to dn.base=cn=x,dc=ex attrs=objectClass val=uidObject by * search\n\
        access to attrs=allowedAttributes by dn.exact=cn=less,dc=ex none by * read\naccess to * by * read";
    let mut site = site(rules);
    site.must_add(
        "cn=x,dc=ex",
        "objectClass: person\nobjectClass: uidObject\nuid: 1\nsn: s",
    );
    site.become_("cn=other,dc=ex");
    for name in [
        "allowedAttributes",
        "allowedAttributesEffective",
        "allowedChildClasses",
        "allowedChildClassesEffective",
    ] {
        assert_eq!(values(&mut site, NAME, name), BTreeSet::new(), "{name}");
    }
    let shown = values(&mut site, "cn=x,dc=ex", "allowedAttributes");
    assert!(shown.contains("sn") && !shown.contains("uid"), "{shown:?}");
    site.become_("cn=less,dc=ex");
    assert_eq!(values(&mut site, "cn=x,dc=ex", "allowedAttributes"), BTreeSet::new());
}

#[test]
fn filters_do_not_see_them_and_nobody_writes_them() {
    let mut site = site("");
    let found = site.search("dc=ex", Scope::WholeSubtree, "(allowedAttributes=sn)", &["cn"]);
    assert!(found.is_empty());
    assert_eq!(site.modify(NAME, "add: allowedAttributes\nd: uid").code, 19);
}
