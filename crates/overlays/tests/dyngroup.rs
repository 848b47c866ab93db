//! slapo-dyngroup(5).
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;
use ironbark_ldap_proto::{CompareRequest, Request, Scope};

const GROUP: &str = "cn=g,dc=ex";

fn site(urls: &str) -> Site {
    let registry = ironbark_overlays::registry();
    let lines = "overlay dyngroup\nattrpair member labeledURI";
    let mut site = Site::open_of(&registry, lines, ironbark_overlays::make);
    site.populate();
    site.must_add("cn=x,ou=p,dc=ex", "objectClass: person\nsn: s\ndescription: chosen");
    site.must_add("cn=y,ou=p,dc=ex", "objectClass: person\nsn: s");
    site.must_add(
        GROUP,
        &format!("objectClass: extensibleObject\nobjectClass: device\n{urls}"),
    );
    site.become_("cn=root,dc=ex");
    site
}

fn compare(site: &mut Site, group: &str, value: &str) -> u32 {
    let request = CompareRequest {
        entry: group.as_bytes(),
        attribute: b"member",
        value: value.as_bytes(),
    };
    site.send(&Request::Compare(request), &[]).code
}

const TRUE: u32 = 6;
const FALSE: u32 = 5;

#[test]
fn a_compare_asks_the_urls_of_a_group() {
    let mut site = site("labeledURI: ldap:///ou=p,dc=ex??one?(description=chosen)\nlabeledURI: ldap:///cn=root,dc=ex");
    assert_eq!(compare(&mut site, GROUP, "CN=X,ou=p,dc=ex"), TRUE);
    assert_eq!(compare(&mut site, GROUP, "cn=y,ou=p,dc=ex"), FALSE);
    assert_eq!(
        compare(&mut site, GROUP, "cn=nobody,ou=p,dc=ex"),
        FALSE,
        "there is no entry to match the filter"
    );
    assert_eq!(
        compare(&mut site, GROUP, "cn=root,dc=ex"),
        TRUE,
        "without a filter the name is enough"
    );
    assert_eq!(compare(&mut site, "ou=p,dc=ex", "cn=x,ou=p,dc=ex"), 16, "no group");
}

#[test]
fn urls_with_more_than_base_scope_and_filter_do_not_count() {
    let urls = "labeledURI: ldap:///ou=p,dc=ex?cn?sub?(description=chosen)\n\
                labeledURI: ldap://elsewhere/ou=p,dc=ex??sub\n\
                labeledURI: ldap:///ou=p,dc=ex??sub?(broken";
    let mut site = site(urls);
    assert_eq!(compare(&mut site, GROUP, "cn=x,ou=p,dc=ex"), FALSE);
}

#[test]
fn static_members_are_compared_as_they_are_and_searches_see_no_others() {
    let mut site = site("labeledURI: ldap:///ou=p,dc=ex??sub\nmember: cn=y,ou=p,dc=ex");
    assert_eq!(compare(&mut site, GROUP, "cn=y,ou=p,dc=ex"), TRUE);
    assert_eq!(compare(&mut site, GROUP, "cn=x,ou=p,dc=ex"), FALSE);
    let found = site.search_with("dc=ex", Scope::WholeSubtree, "(member=cn=x,ou=p,dc=ex)", &[], &[]);
    assert!(found.entries.is_empty(), "{found:?}");
}
