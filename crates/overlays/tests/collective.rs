//! Collective attributes (RFC 3671).
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;
use ironbark_ldap_proto::Scope;

/// People `a`, `b`, `c` below `ou=p`, and a subentry there with a place and a telephone.
fn site(specification: &str) -> Site {
    let lines = "index l,objectClass eq\noverlay collective";
    let mut site = Site::open_of(&ironbark_overlays::registry(), lines, ironbark_overlays::make);
    site.populate();
    add_subentry(
        &mut site,
        "place",
        specification,
        "c-l: Athens\nc-l: Zografou\nc-TelephoneNumber: +30 210",
    );
    site
}

fn add_subentry(site: &mut Site, name: &str, specification: &str, values: &str) {
    let classes = "objectClass: subentry\nobjectClass: collectiveAttributeSubentry\nobjectClass: extensibleObject";
    site.must_add(
        &format!("cn={name},ou=p,dc=ex"),
        &format!("{classes}\nsubtreeSpecification: {specification}\n{values}"),
    );
}

fn read(site: &mut Site, dn: &str, names: &[&str]) -> String {
    let found = site.search_with(dn, Scope::BaseObject, "(objectClass=*)", names, &[]);
    found.entries.concat()
}

fn found(site: &mut Site, filter: &str) -> Vec<String> {
    let all = site.search_with("dc=ex", Scope::WholeSubtree, filter, &["1.1"], &[]);
    assert_eq!(all.code, 0, "{}", all.text);
    let leaf = |entry: String| entry.trim().split(',').next().unwrap_or_default().replace("dn: ", "");
    all.entries.into_iter().map(leaf).collect()
}

#[test]
fn all_entries_of_the_subtree_have_them() {
    let mut site = site("{}");
    let own = read(&mut site, "cn=a,ou=p,dc=ex", &["*"]);
    assert!(
        own.contains("c-l: Athens\nc-l: Zografou\n") && own.contains("c-TelephoneNumber: +30 210"),
        "{own}"
    );
    let own = read(&mut site, "cn=a,ou=p,dc=ex", &["l", "collectiveAttributeSubentries"]);
    assert!(
        own.contains("c-l: Athens") && own.contains("collectiveAttributeSubentries: cn=place,ou=p,dc=ex"),
        "{own}"
    );
    assert_eq!(found(&mut site, "(l=athens)"), ["ou=p", "cn=a", "cn=b", "cn=c"]);
    assert_eq!(found(&mut site, "(c-l=zog*)"), ["ou=p", "cn=a", "cn=b", "cn=c"]);
    assert_eq!(found(&mut site, "(&(!(l=athens))(objectClass=*))"), ["dc=ex"]);
    assert_eq!(
        found(&mut site, "(collectiveAttributeSubentries=cn=place,ou=p,dc=ex)").len(),
        4
    );
    assert_eq!(found(&mut site, "(l=Rome)"), [""; 0]);
}

#[test]
fn a_change_of_the_subentry_shows_at_once_and_an_entry_holds_none_itself() {
    let mut site = site("{}");
    assert_eq!(site.modify("cn=place,ou=p,dc=ex", "replace: c-l\nc: Rome").code, 0);
    assert_eq!(found(&mut site, "(l=Rome)").len(), 4);
    let refused = site.modify("cn=a,ou=p,dc=ex", "add: c-l\nc: here");
    assert_eq!(refused.code, 65, "{}", refused.text);
    assert_eq!(site.delete("cn=place,ou=p,dc=ex").code, 0);
    assert_eq!(found(&mut site, "(l=*)"), [""; 0]);
}

#[test]
fn the_specification_says_which_entries_have_them() {
    for (specification, expected) in [
        ("{ minimum 1 }", &["cn=a", "cn=b", "cn=c"][..]),
        ("{ maximum 0 }", &["ou=p"]),
        ("{ base \"cn=b\" }", &["cn=b"]),
        (
            "{ specificExclusions { chopBefore:\"cn=b\" } }",
            &["ou=p", "cn=a", "cn=c"],
        ),
        ("{ specificationFilter item:person }", &["cn=a", "cn=b", "cn=c"]),
        ("{ specificationFilter not:item:person }", &["ou=p"]),
    ] {
        let mut site = site(specification);
        assert_eq!(found(&mut site, "(l=Athens)"), expected, "{specification}");
        assert_eq!(found(&mut site, "(l=*)"), expected, "{specification}");
    }
}

#[test]
fn an_entry_may_exclude_them() {
    let mut site = site("{}");
    assert_eq!(
        site.modify("cn=a,ou=p,dc=ex", "add: collectiveExclusions\nc: c-l").code,
        0
    );
    assert_eq!(
        site.modify("cn=b,ou=p,dc=ex", "add: collectiveExclusions\nc: 2.5.18.0")
            .code,
        0
    );
    assert_eq!(found(&mut site, "(l=Athens)"), ["ou=p", "cn=c"]);
    assert_eq!(found(&mut site, "(telephoneNumber=+30 210)"), ["ou=p", "cn=a", "cn=c"]);
}

#[test]
fn values_of_several_subentries_are_joined() {
    let mut site = site("{}");
    add_subentry(&mut site, "more", "{ base \"cn=a\" }", "c-l: Athens\nc-l: Patras");
    let own = read(&mut site, "cn=a,ou=p,dc=ex", &["c-l"]);
    assert!(own.contains("c-l: Athens\nc-l: Zografou\nc-l: Patras"), "{own}");
    assert_eq!(own.matches("Athens").count(), 1);
}

#[test]
fn they_are_read_as_values_of_the_entry() {
    let lines = "index objectClass eq\noverlay collective\naccess to dn.base=\"cn=a,ou=p,dc=ex\" attrs=c-l by * none\n\
                 access to dn.base=\"cn=place,ou=p,dc=ex\" by * none\naccess to * by * read";
    let mut site = Site::open_of(&ironbark_overlays::registry(), lines, ironbark_overlays::make);
    site.populate();
    add_subentry(&mut site, "place", "{}", "c-l: Athens");
    site.become_("");
    assert_eq!(found(&mut site, "(l=Athens)"), ["ou=p", "cn=b", "cn=c"]);
    assert!(!read(&mut site, "cn=a,ou=p,dc=ex", &["*"]).contains("Athens"));
    assert!(read(&mut site, "cn=b,ou=p,dc=ex", &["*"]).contains("Athens"));
}
