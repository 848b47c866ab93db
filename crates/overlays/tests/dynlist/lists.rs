//! Lists: values of other entries.

use ironbark_ldap_proto::controls::{Control, ManageDsaIt};

use crate::dynlist::{FALSE, ROOT, Scope, TRUE, compare, found, list, site, values};

const LIST: &str = "cn=l,ou=g,dc=ex";

#[test]
fn a_list_has_the_attributes_that_its_url_names() {
    let mut site = site("overlay dynlist\ndynlist-attrset groupOfURLs memberURL");
    list(&mut site, "l", &["ldap:///ou=p,dc=ex?sn,mail?sub?(title=red)"], "");
    site.become_(ROOT);
    assert_eq!(values(&mut site, LIST, "mail"), "a@ex aa@ex b@ex bb@ex");
    assert_eq!(values(&mut site, LIST, "sn"), "aa bb");
    assert_eq!(values(&mut site, LIST, "title"), "");
    assert_eq!(compare(&mut site, LIST, "sn", "AA"), TRUE);
    assert_eq!(compare(&mut site, LIST, "sn", "cc"), FALSE);
    // What is not mapped is not for filters.
    assert_eq!(found(&mut site, "(sn=aa)"), "a");
    assert_eq!(found(&mut site, "(&(cn=l)(!(sn=*)))"), "l");
    let managed = Control::critical(ManageDsaIt);
    let plain = site.search_with(LIST, Scope::BaseObject, "(objectClass=*)", &["sn"], &[&managed]);
    assert_eq!(plain.entries, ["dn: cn=l,ou=g,dc=ex\n"]);
}

#[test]
fn without_names_it_has_all_user_attributes_but_its_own_class_and_single_values_stay() {
    let mut site = site("overlay dynlist\ndynlist-attrset groupOfURLs memberURL");
    list(&mut site, "l", &["ldap:///ou=p,dc=ex??sub?(objectClass=person)"], "");
    list(
        &mut site,
        "other",
        &["ldap:///ou=g,dc=ex??sub?(cn=*)", "ldap:///ou=p,dc=ex??one"],
        "",
    );
    site.become_(ROOT);
    assert_eq!(values(&mut site, LIST, "title"), "red green blue");
    assert_eq!(values(&mut site, LIST, "cn"), "l a b c d");
    assert_eq!(values(&mut site, LIST, "objectClass"), "groupOfURLs labeledURIObject");
    assert_eq!(values(&mut site, LIST, "entryUUID").len(), 36, "one");
    // Where it names no attributes and has a filter, a list may hold lists, as they are stored.
    let all = values(&mut site, "cn=other,ou=g,dc=ex", "cn");
    assert_eq!(all, "other l a b c d");
    assert_eq!(values(&mut site, "cn=a,ou=p,dc=ex", "title"), "red");
    assert_eq!(found(&mut site, "(title=red)"), "a b");
}

#[test]
fn a_mapped_attribute_has_another_name_and_filters_see_it() {
    let mut site = site("overlay dynlist\ndynlist-attrset groupOfURLs memberURL description:sn mail:mail");
    list(
        &mut site,
        "l",
        &["ldap:///ou=p,dc=ex?sn,mail,title?sub?(title=red)"],
        "",
    );
    site.become_(ROOT);
    assert_eq!(values(&mut site, LIST, "description"), "aa bb");
    assert_eq!(values(&mut site, LIST, "sn"), "");
    assert_eq!(found(&mut site, "(description=AA)"), "l");
    assert_eq!(found(&mut site, "(mail=b@ex)"), "b l");
    assert_eq!(found(&mut site, "(&(objectClass=groupOfURLs)(mail=b@*))"), "l");
    assert_eq!(found(&mut site, "(&(objectClass=groupOfURLs)(!(mail=b@*)))"), "");
    assert_eq!(found(&mut site, "(title=red)"), "a b");
    assert_eq!(compare(&mut site, LIST, "title", "red"), TRUE);
}

#[test]
fn simple_lists_are_shown_alone() {
    let lines = "overlay dynlist\ndynlist-simple TRUE\ndynlist-attrset groupOfURLs memberURL mail:mail";
    let mut site = site(lines);
    list(&mut site, "l", &["ldap:///ou=p,dc=ex?mail?sub?(title=blue)"], "");
    site.become_(ROOT);
    assert_eq!(values(&mut site, LIST, "mail"), "d@ex dd@ex");
    assert_eq!(found(&mut site, "(mail=d@ex)"), "d");
    assert_eq!(compare(&mut site, LIST, "mail", "d@ex"), TRUE);
}

#[test]
fn urls_that_are_none_of_this_server_give_nothing() {
    let lines = "overlay dynlist\n\
                 dynlist-attrset groupOfURLs \"ldap:///ou=g,dc=ex??one?(!(description=off))\" memberURL";
    let mut site = site(lines);
    list(
        &mut site,
        "l",
        &[
            "ldap://elsewhere/ou=p,dc=ex?sn?sub",
            "ldap:///not a name?sn?sub",
            "ldap:///ou=p,dc=ex?sn?sub?(((",
            "ldap:///ou=none,dc=ex?sn?sub",
            "ldap:///ou=p,dc=ex?sn?sub?(title=green)",
        ],
        "",
    );
    site.become_(ROOT);
    assert_eq!(values(&mut site, LIST, "sn"), "cc");
    // The set keeps to the entries that its own URL names.
    assert_eq!(site.modify(LIST, "add: description\nd: off").code, 0);
    assert_eq!(values(&mut site, LIST, "sn"), "");
}
