//! Who sees what through groups and lists.

use crate::dynlist::{FALSE, ROOT, TRUE, compare, found, list, site, stored_group, values};

const GROUP: &str = "cn=g,ou=g,dc=ex";
const RED: &str = "ldap:///ou=p,dc=ex??sub?(title=red)";

#[test]
fn a_member_counts_if_the_client_may_search_the_filter_and_read_the_entry() {
    for (rules, members) in [
        ("access to * by * read", "a b"),
        ("access to attrs=title by * none\naccess to * by * read", ""),
        (
            "access to dn.exact=\"cn=a,ou=p,dc=ex\" attrs=title by * none\naccess to * by * read",
            "b",
        ),
        (
            "access to dn.exact=\"cn=a,ou=p,dc=ex\" attrs=entry by * search\naccess to * by * read",
            "b",
        ),
        (
            "access to dn.exact=\"cn=b,ou=p,dc=ex\" attrs=title val=red by * none\naccess to * by * read",
            "a",
        ),
        ("access to attrs=member by * none\naccess to * by * read", ""),
    ] {
        let set = "overlay dynlist\ndynlist-attrset groupOfURLs memberURL member";
        let mut site = site(&format!("{rules}\n{set}"));
        list(&mut site, "g", &[RED], "");
        site.become_("cn=c,ou=p,dc=ex");
        assert_eq!(values(&mut site, GROUP, "member"), members, "{rules}");
        for name in ["a", "b"] {
            let is_member = members.contains(name);
            let dn = format!("cn={name},ou=p,dc=ex");
            assert_eq!(found(&mut site, &format!("(member={dn})")) == "g", is_member, "{rules}");
            assert_eq!(compare(&mut site, GROUP, "member", &dn) == TRUE, is_member, "{rules}");
        }
    }
}

#[test]
fn values_of_a_list_are_read_with_the_rights_of_the_client() {
    let rules = "access to attrs=mail val.regex=\"^a\" by * none\naccess to attrs=telephoneNumber by * none\n\
                 access to * by * read";
    let mut site = site(&format!(
        "{rules}\noverlay dynlist\ndynlist-attrset groupOfURLs memberURL mail:mail"
    ));
    assert_eq!(site.modify("cn=a,ou=p,dc=ex", "add: telephoneNumber\nt: 5").code, 0);
    list(
        &mut site,
        "g",
        &["ldap:///ou=p,dc=ex?mail,telephoneNumber?sub?(title=red)"],
        "",
    );
    site.become_("cn=c,ou=p,dc=ex");
    assert_eq!(values(&mut site, GROUP, "mail"), "b@ex bb@ex");
    assert_eq!(values(&mut site, GROUP, "telephoneNumber"), "");
    assert_eq!(found(&mut site, "(mail=a@ex)"), "");
    assert_ne!(compare(&mut site, GROUP, "mail", "a@ex"), TRUE);
}

#[test]
fn groups_that_may_not_be_searched_are_not_named() {
    let rules = "access to dn.exact=\"cn=hidden,ou=g,dc=ex\" by * none\n\
                 access to dn.exact=\"cn=static,ou=g,dc=ex\" attrs=objectClass by * none\naccess to * by * read";
    let set = "overlay dynlist\ndynlist-attrset groupOfURLs memberURL member+memberOf@groupOfNames*";
    let mut site = site(&format!("{rules}\n{set}"));
    list(&mut site, "hidden", &[RED], "");
    list(&mut site, "open", &[RED], "");
    stored_group(&mut site, "static", &["cn=a,ou=p"]);
    stored_group(&mut site, "known", &["cn=a,ou=p"]);
    site.become_("cn=c,ou=p,dc=ex");
    assert_eq!(values(&mut site, "cn=a,ou=p,dc=ex", "memberOf"), "open known");
    assert_eq!(found(&mut site, "(memberOf=cn=hidden,ou=g,dc=ex)"), "");
    assert_eq!(found(&mut site, "(memberOf=cn=static,ou=g,dc=ex)"), "");
    assert_eq!(
        compare(&mut site, "cn=a,ou=p,dc=ex", "memberOf", "cn=hidden,ou=g,dc=ex"),
        FALSE
    );
    site.become_(ROOT);
    assert_eq!(
        values(&mut site, "cn=a,ou=p,dc=ex", "memberOf"),
        "open known hidden static"
    );
}

#[test]
fn an_identity_of_the_group_looks_if_the_client_may_use_it() {
    let rules = "access to attrs=title by dn.exact=\"cn=d,ou=p,dc=ex\" read by * none\n\
                 access to attrs=userPassword by * none\naccess to * by * read";
    let set = "overlay dynlist\ndynlist-attrset groupOfURLs memberURL member+memberOf";
    let mut site = site(&format!("{rules}\n{set}"));
    let identity = "\nobjectClass: dgIdentityAux\ndgIdentity: cn=d,ou=p,dc=ex";
    list(&mut site, "g", &[RED], identity);
    list(
        &mut site,
        "some",
        &[RED],
        &format!("{identity}\ndgAuthz: dn:cn=b,ou=p,dc=ex"),
    );
    list(
        &mut site,
        "nobody",
        &["ldap:///ou=p,dc=ex??sub?(cn=a)"],
        "\nobjectClass: dgIdentityAux\ndgIdentity: ",
    );
    for (who, all, some) in [("c", "a b", ""), ("b", "a b", "a b")] {
        site.become_(&format!("cn={who},ou=p,dc=ex"));
        assert_eq!(values(&mut site, GROUP, "member"), all);
        assert_eq!(values(&mut site, "cn=some,ou=g,dc=ex", "member"), some);
        assert_eq!(
            found(&mut site, "(member=cn=a,ou=p,dc=ex)").contains("some"),
            !some.is_empty()
        );
        assert_eq!(values(&mut site, "cn=nobody,ou=g,dc=ex", "member"), "a");
        // The groups of a member are asked for by the client himself.
        assert_eq!(values(&mut site, "cn=b,ou=p,dc=ex", "memberOf"), "");
    }
    site.become_(ROOT);
    assert_eq!(values(&mut site, "cn=some,ou=g,dc=ex", "member"), "a b");
}

#[test]
fn the_rootdn_as_an_identity_is_bound_by_the_rules() {
    let rules = "access to attrs=title by * none\naccess to * by * read";
    let mut site = site(&format!(
        "{rules}\noverlay dynlist\ndynlist-attrset groupOfURLs memberURL member"
    ));
    list(
        &mut site,
        "g",
        &[RED],
        &format!("\nobjectClass: dgIdentityAux\ndgIdentity: {ROOT}"),
    );
    site.become_("cn=c,ou=p,dc=ex");
    assert_eq!(values(&mut site, GROUP, "member"), "");
    assert_eq!(found(&mut site, "(member=cn=a,ou=p,dc=ex)"), "");
}
