//! slapo-cloak(5).
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;
use ironbark_ldap_proto::Scope;

fn site(lines: &str) -> Site {
    let lines = format!("overlay cloak\n{lines}");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    site.must_add("cn=x,dc=ex", "objectClass: person\nsn: s\ndescription: long");
    site.must_add("ou=y,dc=ex", "objectClass: organizationalUnit\ndescription: long");
    site
}

/// Names of the entries that show the attribute, in a search with this list of attributes.
fn showing(site: &mut Site, filter: &str, names: &[&str]) -> Vec<String> {
    let answer = site.search_with("dc=ex", Scope::SingleLevel, filter, names, &[]);
    let entries = answer
        .entries
        .into_iter()
        .filter(|entry| entry.contains("description:"));
    entries
        .filter_map(|entry| Some(entry.lines().next()?.strip_prefix("dn: ")?.to_owned()))
        .collect()
}

#[test]
fn an_attribute_is_sent_only_to_who_has_a_list() {
    let mut site = site("cloak-attr description");
    let filter = "(description=long)";
    assert_eq!(showing(&mut site, filter, &[]), Vec::<String>::new());
    for names in [&["description"][..], &["*"], &["sn", "description"]] {
        assert_eq!(
            showing(&mut site, filter, names),
            ["cn=x,dc=ex", "ou=y,dc=ex"],
            "{names:?}"
        );
    }
    let whole = site.search_with("cn=x,dc=ex", Scope::BaseObject, "(sn=s)", &[], &[]);
    assert_eq!(
        whole.entries,
        ["dn: cn=x,dc=ex\nobjectClass: person\nsn: s\ncn: x\n"],
        "the rest is there"
    );
    // The control manageDSAit switches it off.
    let managed = site.search_as_self("cn=x,dc=ex", Scope::BaseObject, "(sn=s)", &[]);
    assert!(managed.entries.concat().contains("description: long"));
}

#[test]
fn an_object_class_says_of_which_entries() {
    for (rules, shown) in [
        ("cloak-attr description person", "ou=y,dc=ex"),
        ("cloak-attr description organizationalUnit", "cn=x,dc=ex"),
        (
            "cloak-attr sn\ncloak-attr description person\ncloak-attr description device",
            "ou=y,dc=ex",
        ),
    ] {
        let mut site = site(rules);
        assert_eq!(showing(&mut site, "(objectClass=*)", &[]), [shown], "{rules}");
    }
    let mut site = site("cloak-attr description top");
    assert_eq!(
        showing(&mut site, "(description=*)", &[]),
        Vec::<String>::new(),
        "subclasses as well"
    );
}
