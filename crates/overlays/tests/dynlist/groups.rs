//! Groups: members by rule, and the groups of members.

use crate::dynlist::{FALSE, ROOT, TRUE, compare, found, list, site, stored_group, values};

const RED: &str = "ldap:///ou=p,dc=ex??sub?(title=red)";

#[test]
fn the_members_of_a_group_are_shown_found_and_compared() {
    let mut site = site("overlay dynlist\ndynlist-attrset groupOfURLs memberURL member");
    list(&mut site, "reds", &[RED], "");
    list(
        &mut site,
        "mixed",
        &[RED, "ldap:///cn=d,ou=p,dc=ex", "ldap:///ou=p,dc=ex?cn?sub"],
        "",
    );
    site.become_(ROOT);
    assert_eq!(values(&mut site, "cn=reds,ou=g,dc=ex", "member"), "a b");
    assert_eq!(values(&mut site, "cn=mixed,ou=g,dc=ex", "member"), "a b d");
    assert_eq!(found(&mut site, "(member=CN=A,ou=p,dc=ex)"), "reds mixed");
    assert_eq!(found(&mut site, "(member=cn=d,ou=p,dc=ex)"), "mixed");
    assert_eq!(found(&mut site, "(member=cn=c,ou=p,dc=ex)"), "");
    assert_eq!(found(&mut site, "(member=cn=nobody,ou=p,dc=ex)"), "");
    assert_eq!(found(&mut site, "(&(member=*)(cn=*))"), "reds mixed");
    assert_eq!(
        found(&mut site, "(&(objectClass=groupOfURLs)(!(member=cn=d,ou=p,dc=ex)))"),
        "reds"
    );
    assert_eq!(
        compare(&mut site, "cn=reds,ou=g,dc=ex", "member", "cn=a,ou=p,dc=ex"),
        TRUE
    );
    assert_eq!(
        compare(&mut site, "cn=reds,ou=g,dc=ex", "member", "cn=c,ou=p,dc=ex"),
        FALSE
    );
    assert_eq!(compare(&mut site, "cn=reds,ou=g,dc=ex", "member", "cn=x"), FALSE);
    // What changes counts at once.
    assert_eq!(site.modify("cn=c,ou=p,dc=ex", "replace: title\nt: red").code, 0);
    assert_eq!(values(&mut site, "cn=reds,ou=g,dc=ex", "member"), "a b c");
    let url = "replace: memberURL\nm: ldap:///ou=p,dc=ex??one?(title=blue)";
    assert_eq!(site.modify("cn=reds,ou=g,dc=ex", url).code, 0);
    assert_eq!(found(&mut site, "(member=cn=a,ou=p,dc=ex)"), "mixed");
    assert_eq!(values(&mut site, "cn=reds,ou=g,dc=ex", "member"), "d");
}

#[test]
fn members_see_their_groups_shorter_names_first() {
    let mut site = site("overlay dynlist\ndynlist-attrset groupOfURLs memberURL member+memberOf@groupOfNames");
    list(&mut site, "long reds", &[RED], "");
    list(&mut site, "y", &["ldap:///dc=ex??sub?(cn=a)"], "");
    stored_group(&mut site, "x", &["cn=a,ou=p", "cn=c,ou=p"]);
    stored_group(&mut site, "stored", &["cn=a,ou=p", "cn=x,ou=g"]);
    site.become_(ROOT);
    assert_eq!(values(&mut site, "cn=a,ou=p,dc=ex", "memberOf"), "x y stored long reds");
    assert_eq!(values(&mut site, "cn=b,ou=p,dc=ex", "memberOf"), "long reds");
    assert_eq!(values(&mut site, "cn=d,ou=p,dc=ex", "memberOf"), "");
    assert_eq!(
        values(&mut site, "cn=x,ou=g,dc=ex", "memberOf"),
        "",
        "groups are not nested"
    );
    assert_eq!(found(&mut site, "(memberOf=cn=x,ou=g,dc=ex)"), "a c");
    assert_eq!(found(&mut site, "(memberOf=cn=LONG reds,ou=g,dc=ex)"), "a b");
    assert_eq!(found(&mut site, "(memberOf=cn=none,ou=g,dc=ex)"), "");
    assert_eq!(
        found(&mut site, "(&(objectClass=person)(!(memberOf=cn=x,ou=g,dc=ex)))"),
        "b d"
    );
    assert_eq!(found(&mut site, "(memberOf=*)"), "a b c");
    assert_eq!(
        compare(&mut site, "cn=a,ou=p,dc=ex", "memberOf", "cn=y,ou=g,dc=ex"),
        TRUE
    );
    assert_eq!(
        compare(&mut site, "cn=b,ou=p,dc=ex", "memberOf", "cn=y,ou=g,dc=ex"),
        FALSE
    );
    assert_eq!(site.delete("cn=x,ou=g,dc=ex").code, 0);
    assert_eq!(values(&mut site, "cn=c,ou=p,dc=ex", "memberOf"), "");
}

#[test]
fn nested_groups_count_in_both_directions_and_a_loop_does_no_harm() {
    let mut site = site("overlay dynlist\ndynlist-attrset groupOfURLs memberURL member+memberOf@groupOfNames*");
    list(&mut site, "reds", &[RED], "\ndescription: inner");
    list(
        &mut site,
        "by rule",
        &["ldap:///ou=g,dc=ex??sub?(description=inner)"],
        "",
    );
    stored_group(&mut site, "top", &["cn=c,ou=p", "cn=by rule,ou=g"]);
    stored_group(&mut site, "loop", &["cn=top,ou=g", "cn=loop,ou=g"]);
    site.become_(ROOT);
    assert_eq!(values(&mut site, "cn=by rule,ou=g,dc=ex", "member"), "reds a b");
    assert_eq!(values(&mut site, "cn=top,ou=g,dc=ex", "member"), "c by rule reds a b");
    assert_eq!(
        values(&mut site, "cn=loop,ou=g,dc=ex", "member"),
        "top loop c by rule reds a b"
    );
    assert_eq!(
        values(&mut site, "cn=a,ou=p,dc=ex", "memberOf"),
        "reds by rule top loop"
    );
    assert_eq!(values(&mut site, "cn=reds,ou=g,dc=ex", "memberOf"), "by rule top loop");
    assert_eq!(found(&mut site, "(member=cn=a,ou=p,dc=ex)"), "reds by rule top loop");
    assert_eq!(found(&mut site, "(memberOf=cn=top,ou=g,dc=ex)"), "a b c reds by rule");
    assert_eq!(
        compare(&mut site, "cn=loop,ou=g,dc=ex", "member", "cn=b,ou=p,dc=ex"),
        TRUE
    );
    assert_eq!(
        compare(&mut site, "cn=top,ou=g,dc=ex", "member", "cn=d,ou=p,dc=ex"),
        FALSE
    );
}

#[test]
fn two_sets_are_two_kinds_of_groups() {
    let mut site = site(
        "overlay dynlist\ndynlist-attrset groupOfURLs memberURL member+memberOf\n\
         dynlist-attrset labeledURIObject labeledURI uniqueMember+seeAlso",
    );
    list(&mut site, "reds", &[RED], "");
    let url = "add: labeledURI\nl: ldap:///ou=p,dc=ex??one?(title=green)";
    assert_eq!(site.modify("cn=d,ou=p,dc=ex", url).code, 0);
    site.become_(ROOT);
    assert_eq!(values(&mut site, "cn=c,ou=p,dc=ex", "seeAlso"), "d");
    assert_eq!(values(&mut site, "cn=d,ou=p,dc=ex", "uniqueMember"), "c");
    assert_eq!(values(&mut site, "cn=a,ou=p,dc=ex", "memberOf"), "reds");
    assert_eq!(found(&mut site, "(uniqueMember=cn=c,ou=p,dc=ex)"), "d");
    assert_eq!(found(&mut site, "(seeAlso=cn=d,ou=p,dc=ex)"), "c");
}

#[test]
fn the_old_form_is_read_too() {
    let mut site = site("overlay dynlist\ndynlist-attrpair member memberURL");
    list(&mut site, "reds", &[RED], "");
    site.become_(ROOT);
    assert_eq!(values(&mut site, "cn=reds,ou=g,dc=ex", "member"), "a b");
}
