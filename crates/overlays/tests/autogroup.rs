//! slapo-autogroup(5).
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;
use ironbark_ldap_proto::{CompareRequest, Request, Scope};

const GROUP: &str = "cn=g,dc=ex";

/// People `a` (description x), `b` (description y), `c`, and a group of those with description x.
fn site(lines: &str) -> Site {
    let lines = format!(
        "index objectClass,description,member eq\n{lines}\noverlay autogroup\nautogroup-attrset groupOfURLs memberURL member"
    );
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    for (name, text) in [("a", "x"), ("b", "y")] {
        let change = format!("add: description\nd: {text}");
        assert_eq!(site.modify(&format!("cn={name},ou=p,dc=ex"), &change).code, 0);
    }
    site.must_add(
        GROUP,
        "objectClass: groupOfURLs\nmemberURL: ldap:///ou=p,dc=ex??sub?(description=x)",
    );
    site
}

fn values(site: &mut Site, dn: &str, name: &str) -> Vec<String> {
    let found = site.search_with(dn, Scope::BaseObject, "(objectClass=*)", &[name], &[]);
    let text = found.entries.concat();
    let prefix = format!("{name}: ");
    text.lines()
        .filter_map(|line| line.strip_prefix(&prefix))
        .map(str::to_owned)
        .collect()
}

fn found(site: &mut Site, filter: &str) -> Vec<String> {
    let all = site.search_with("dc=ex", Scope::WholeSubtree, filter, &["1.1"], &[]);
    assert_eq!(all.code, 0, "{}", all.text);
    let leaf = |entry: String| entry.split(',').next().unwrap_or_default().replace("dn: ", "");
    all.entries.into_iter().map(leaf).collect()
}

fn compares(site: &mut Site, value: &str) -> u32 {
    let request = CompareRequest {
        entry: GROUP.as_bytes(),
        attribute: b"member",
        value: value.as_bytes(),
    };
    site.send(&Request::Compare(request), &[]).code
}

#[test]
fn members_are_those_that_the_urls_find_and_follow_every_change() {
    let mut site = site("");
    assert_eq!(values(&mut site, GROUP, "member"), ["cn=a,ou=p,dc=ex"]);
    assert_eq!(values(&mut site, "cn=a,ou=p,dc=ex", "memberOf"), [GROUP]);
    assert_eq!(
        (
            compares(&mut site, "CN=a,ou=p,dc=ex"),
            compares(&mut site, "cn=b,ou=p,dc=ex")
        ),
        (6, 5)
    );
    assert_eq!(found(&mut site, "(member=cn=a,ou=p,dc=ex)"), ["cn=g"]);
    assert_eq!(found(&mut site, "(memberOf=cn=g,dc=ex)"), ["cn=a"]);
    assert_eq!(
        found(&mut site, "(&(objectClass=person)(!(memberOf=cn=g,dc=ex)))"),
        ["cn=b", "cn=c"]
    );
    assert_eq!(site.modify("cn=b,ou=p,dc=ex", "replace: description\nd: x").code, 0);
    assert_eq!(
        values(&mut site, GROUP, "member"),
        ["cn=a,ou=p,dc=ex", "cn=b,ou=p,dc=ex"]
    );
    assert_eq!(site.delete("cn=a,ou=p,dc=ex").code, 0);
    assert_eq!(values(&mut site, GROUP, "member"), ["cn=b,ou=p,dc=ex"]);
    assert_eq!(site.modify(GROUP, "delete: memberURL").code, 0);
    assert_eq!(found(&mut site, "(member=*)"), [""; 0]);
}

#[test]
fn a_url_with_an_attribute_gives_its_values() {
    let mut site = site("");
    assert_eq!(
        site.modify("cn=a,ou=p,dc=ex", "add: seeAlso\ns: cn=b,ou=p,dc=ex").code,
        0
    );
    let url = "replace: memberURL\nm: ldap:///ou=p,dc=ex?seeAlso?sub?(objectClass=*)";
    assert_eq!(site.modify(GROUP, url).code, 0);
    assert_eq!(values(&mut site, GROUP, "member"), ["cn=b,ou=p,dc=ex"]);
    assert_eq!(found(&mut site, "(member=cn=b,ou=p,dc=ex)"), ["cn=g"]);
    assert_eq!(compares(&mut site, "cn=b,ou=p,dc=ex"), 6);
    assert_eq!(values(&mut site, "cn=b,ou=p,dc=ex", "memberOf"), [""; 0]);
}

#[test]
fn what_a_client_stores_as_member_is_refused_and_what_was_stored_does_not_count() {
    let mut site = site("");
    let refused = site.modify(GROUP, "add: member\nm: cn=c,ou=p,dc=ex");
    assert_eq!(
        refused.brief(),
        (19, "attempt to modify dynamic group member attribute")
    );
    let url = "memberURL: ldap:///ou=p,dc=ex??sub?(description=y)\nmember: cn=c,ou=p,dc=ex";
    site.must_add(
        "cn=h,dc=ex",
        &format!("objectClass: groupOfURLs\nobjectClass: extensibleObject\n{url}"),
    );
    assert_eq!(values(&mut site, "cn=h,dc=ex", "member"), ["cn=b,ou=p,dc=ex"]);
    assert_eq!(found(&mut site, "(member=cn=c,ou=p,dc=ex)"), [""; 0]);
    // Other groups are as they were.
    site.must_add("cn=s,dc=ex", "objectClass: groupOfNames\nmember: cn=c,ou=p,dc=ex");
    assert_eq!(site.modify("cn=s,dc=ex", "add: member\nm: cn=a,ou=p,dc=ex").code, 0);
    assert_eq!(found(&mut site, "(member=cn=a,ou=p,dc=ex)"), ["cn=g", "cn=s"]);
}

#[test]
fn members_are_found_with_the_servers_rights_and_shown_with_the_clients() {
    let mut site =
        site("access to attrs=description by * none\naccess to attrs=memberOf by * none\naccess to * by * read");
    site.become_("");
    assert_eq!(values(&mut site, GROUP, "member"), ["cn=a,ou=p,dc=ex"]);
    assert_eq!(found(&mut site, "(member=cn=a,ou=p,dc=ex)"), ["cn=g"]);
    assert_eq!(values(&mut site, "cn=a,ou=p,dc=ex", "memberOf"), [""; 0]);
    assert_eq!(found(&mut site, "(memberOf=cn=g,dc=ex)"), [""; 0]);
}
