//! The overlay usn.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;
use ironbark_ldap_proto::Scope;

/// With five entries, which have the numbers 1 to 5.
fn site(lines: &str) -> Site {
    let lines = format!("overlay usn\n{lines}");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    site
}

/// `uSNCreated` and `uSNChanged` of an entry.
fn numbers(site: &mut Site, dn: &str) -> [u64; 2] {
    let text = site.read(dn, &["uSNCreated", "uSNChanged"]).expect("there");
    ["uSNCreated: ", "uSNChanged: "].map(|prefix| {
        let value = text.lines().find_map(|line| line.strip_prefix(prefix));
        value.expect("a number").parse().expect("a number")
    })
}

#[test]
fn each_write_has_the_next_number() {
    let mut site = site("");
    assert_eq!(numbers(&mut site, "ou=p,dc=ex"), [2, 2]);
    assert_eq!(numbers(&mut site, "cn=a,ou=p,dc=ex"), [3, 3]);
    assert_eq!(site.modify("cn=a,ou=p,dc=ex", "replace: sn\nd: t").code, 0);
    assert_eq!(numbers(&mut site, "cn=a,ou=p,dc=ex"), [3, 6]);
    assert_eq!(site.rename("cn=b,ou=p,dc=ex", "cn=d", None).code, 0);
    assert_eq!(numbers(&mut site, "cn=d,ou=p,dc=ex"), [4, 7]);
    assert_eq!(numbers(&mut site, "cn=c,ou=p,dc=ex"), [5, 5], "others stay");
}

#[test]
fn the_entry_of_the_suffix_shows_the_last_number() {
    let mut site = site("");
    assert_eq!(numbers(&mut site, "dc=ex"), [1, 5]);
    assert_eq!(site.delete("cn=c,ou=p,dc=ex").code, 0);
    assert_eq!(numbers(&mut site, "dc=ex"), [1, 6], "a delete counts");
    site.must_add("cn=c,ou=p,dc=ex", "objectClass: person\nsn: s");
    assert_eq!(numbers(&mut site, "cn=c,ou=p,dc=ex"), [7, 7]);
    let found = |site: &mut Site, filter: &str| site.search("dc=ex", Scope::WholeSubtree, filter, &["1.1"]);
    assert_eq!(
        found(&mut site, "(uSNChanged>=7)"),
        ["dn: dc=ex\n", "dn: cn=c,ou=p,dc=ex\n"]
    );
    assert_eq!(found(&mut site, "(uSNChanged=1)"), Vec::<String>::new());
    assert_eq!(found(&mut site, "(uSNCreated=1)"), ["dn: dc=ex\n"]);
}

#[test]
fn a_refused_write_has_no_number() {
    let mut site = site("");
    assert_eq!(site.modify("cn=a,ou=p,dc=ex", "delete: sn").code, 65);
    assert_eq!(site.add("cn=a,ou=p,dc=ex", "objectClass: person\nsn: s").code, 68);
    assert_eq!(site.delete("ou=p,dc=ex").code, 66);
    assert_eq!(numbers(&mut site, "dc=ex"), [1, 5]);
}

#[test]
fn numbers_are_not_for_clients_to_write() {
    let mut site = site("access to attrs=uSNChanged by * none\naccess to * by * write");
    for change in ["replace: uSNChanged\nd: 1", "delete: uSNCreated"] {
        assert_eq!(site.modify("cn=a,ou=p,dc=ex", change).code, 19, "{change}");
    }
    // Who may not read or write the numbers changes them all the same.
    site.become_("cn=someone,dc=ex");
    assert_eq!(site.modify("cn=a,ou=p,dc=ex", "replace: sn\nd: t").code, 0);
    let seen = site.search_as_self("dc=ex", Scope::WholeSubtree, "(uSNChanged>=1)", &[]);
    assert!(seen.entries.is_empty());
    assert_eq!(numbers(&mut site, "cn=a,ou=p,dc=ex"), [3, 6]);
}

#[test]
fn numbers_go_on_after_a_start() {
    let site = site("");
    let copy = site.copy();
    let registry = ironbark_overlays::registry();
    let configuration = Site::parsed(&registry, "overlay usn");
    let clock = site.clock.clone();
    let mut again = Site::open_parsed(configuration, copy, clock, 0, 2, ironbark_overlays::make);
    assert_eq!(again.modify("cn=a,ou=p,dc=ex", "replace: sn\nd: t").code, 0);
    assert_eq!(numbers(&mut again, "cn=a,ou=p,dc=ex"), [3, 6]);
}
