//! slapo-allop(5).
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;
use ironbark_ldap_proto::Scope;

fn site(lines: &str) -> Site {
    let mut site = Site::open_of(&ironbark_overlays::registry(), lines, ironbark_overlays::make);
    site.populate();
    site
}

/// Whether a search shows operational attributes.
fn shows(site: &mut Site, base: &str, scope: Scope, names: &[&str]) -> bool {
    let found = site.search_with(base, scope, "(objectClass=*)", names, &[]);
    assert_eq!((found.code, found.entries.is_empty()), (0, false), "{base}");
    found.entries.iter().all(|entry| entry.contains("\nsubschemaSubentry:"))
}

#[test]
fn the_url_says_which_searches_show_operational_attributes() {
    use Scope::{BaseObject, SingleLevel, WholeSubtree};
    for (url, shown) in [
        ("ldap:///ou=p,dc=ex??base", [false, false, true, true, false]),
        ("ldap:///ou=p,dc=ex", [false, false, true, true, false]),
        ("ldap:///ou=p,dc=ex??sub", [false, false, true, true, true]),
        ("ldap:///dc=ex??one", [false, false, true, false, false]),
        ("ldap:///ou=p,dc=ex??one", [false, false, false, false, true]),
        ("ldap:///??sub", [true; 5]),
        ("ldap:///??one", [true, false, false, false, false]),
        ("ldap:///??base", [false; 5]),
    ] {
        let mut site = site(&format!("overlay allop\nallop-URI {url}"));
        for ((base, scope), expected) in [
            ("dc=ex", BaseObject),
            ("dc=ex", WholeSubtree),
            ("ou=p,dc=ex", BaseObject),
            ("ou=p,dc=ex", SingleLevel),
            ("cn=a,ou=p,dc=ex", BaseObject),
        ]
        .into_iter()
        .zip(shown)
        {
            assert_eq!(shows(&mut site, base, scope, &[]), expected, "{url} {base} {scope:?}");
        }
    }
}

#[test]
fn who_names_attributes_gets_these() {
    let mut site = site("overlay allop\nallop-URI ldap:///??sub");
    let of = |site: &mut Site, names: &[&str]| shows(site, "ou=p,dc=ex", Scope::BaseObject, names);
    for names in [&[][..], &["*"], &["sn", "*"], &["*", "+"], &["+"]] {
        assert!(of(&mut site, names), "{names:?}");
    }
    for names in [&["ou"][..], &["1.1"], &["@organizationalUnit"]] {
        assert!(!of(&mut site, names), "{names:?}");
    }
    // A long list is resolved later.
    let long = "x".repeat(300);
    assert!(of(&mut site, &["*", &long]));
    assert!(!of(&mut site, &["ou", &long]));
}

#[test]
fn a_global_overlay_without_a_url_is_about_the_root_dse() {
    let root_shows = |lines: &str| {
        let mut site = site(lines);
        assert!(!shows(&mut site, "dc=ex", Scope::BaseObject, &[]));
        let found = site.search_with("", Scope::BaseObject, "(objectClass=*)", &[], &[]);
        found.entries.concat().contains("\nsupportedLDAPVersion: 3\n")
    };
    assert!(root_shows("database frontend\noverlay allop"));
    assert!(root_shows("database frontend\noverlay allop\nallop-URI ldap:///??base"));
    assert!(!root_shows(""));
    assert!(!root_shows(
        "database frontend\noverlay allop\nallop-URI ldap:///dc=none??sub"
    ));
}

#[test]
fn the_rules_decide_about_what_is_added() {
    let rules = "access to attrs=entryUUID by * none\naccess to * by * read";
    let mut site = site(&format!("overlay allop\nallop-URI ldap:///??sub\n{rules}"));
    site.become_("cn=someone,dc=ex");
    let found = site.search_with("dc=ex", Scope::BaseObject, "(objectClass=*)", &[], &[]);
    let text = found.entries.concat();
    assert!(text.contains("entryCSN:") && !text.contains("entryUUID:"), "{text}");
}
