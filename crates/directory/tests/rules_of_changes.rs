//! Access rules on entries that are being changed: rules see the whole entry in memory, under its new name.

use ironbark_harness::Site;
use ironbark_ldap_proto::{
    CompareRequest, Request, Scope,
    controls::{Control, PostRead},
};

const A: &str = "cn=a,ou=p,dc=ex";
const BIG: &str = "cn=big,ou=p,dc=ex";

/// A group with so many members that they lie outside its record; `A` is one of them.
fn with_big_group(rules: &str) -> Site {
    let mut site = Site::populated(rules);
    let members: Vec<String> = (0..500)
        .map(|number| format!("\nmember: cn=somebody-{number},ou=people,dc=ex"))
        .collect();
    let text = format!("objectClass: groupOfNames\nmember: {A}{}", members.concat());
    site.must_add(BIG, &text);
    site.become_(A);
    site
}

#[test]
fn a_rename_of_a_big_group_escapes_no_rule_about_its_members() {
    for clause in [
        "access to attrs=cn by dnattr=member none by * write",
        "access to attrs=cn filter=(member=cn=a,ou=p,dc=ex) by * none\naccess to attrs=cn by * write",
        "access to attrs=cn by set=\"this/member & user\" none by * write",
    ] {
        let mut site = with_big_group(&format!("{clause}\naccess to * by * write"));
        assert_eq!(site.rename(BIG, "cn=other", None).code, 50, "{clause}");
        site.become_("cn=b,ou=p,dc=ex");
        let code = if clause.contains("filter") { 50 } else { 0 };
        assert_eq!(site.rename(BIG, "cn=other", None).code, code, "{clause}");
    }
}

/// RFC 4527 §3.2.
#[test]
fn post_read_after_a_rename_shows_what_the_rules_give_under_the_new_name() {
    let rules =
        "access to attrs=description by set=\"this/member & user\" none by users read\naccess to * by users write";
    let mut site = Site::populated(rules);
    site.must_add(
        "cn=g,ou=p,dc=ex",
        &format!("objectClass: groupOfNames\nmember: {A}\ndescription: plan"),
    );
    let names: [&[u8]; 2] = [b"cn", b"description"];
    let post_read = Control::critical(PostRead(names.as_slice().into()));
    site.become_(A);
    let answer = site.rename_with("cn=g,ou=p,dc=ex", "cn=h", true, None, &[&post_read]);
    assert_eq!(answer.read_entry.as_deref(), Some("dn: cn=h,ou=p,dc=ex\ncn: h\n"));
    site.become_("cn=b,ou=p,dc=ex");
    let answer = site.rename_with("cn=h,ou=p,dc=ex", "cn=g", true, None, &[&post_read]);
    let shown = answer.read_entry.expect("an entry");
    assert!(shown.contains("description: plan"), "{shown}");
}

#[test]
fn what_a_rename_takes_away_is_decided_by_the_rules_for_the_new_name() {
    for (rules, superior) in [
        (
            "access to dn.subtree=\"ou=p,dc=ex\" by users write\naccess to dn.subtree=\"ou=q,dc=ex\" attrs=entry,children by users write",
            Some("ou=q,dc=ex"),
        ),
        (
            "access to dn.regex=\"^cn=a\" by users write\naccess to attrs=entry,children by users write",
            None,
        ),
        (
            "access to filter=(entryDN:dnSubtreeMatch:=ou=q,dc=ex) attrs=cn by * read\naccess to * by users write",
            Some("ou=q,dc=ex"),
        ),
    ] {
        let mut site = Site::populated(&format!("{rules}\naccess to * by * read"));
        site.must_add("ou=q,dc=ex", "objectClass: organizationalUnit");
        site.become_("cn=b,ou=p,dc=ex");
        assert_eq!(site.rename(A, "cn=zz", superior).code, 50, "{rules}");
    }
}

/// As in slapd, which evaluates filters of rules without an operation.
#[test]
fn no_entry_has_subordinates_for_the_filter_of_a_rule() {
    let rules = "access to attrs=description filter=(!(hasSubordinates=TRUE)) by * none\naccess to * by * read";
    let mut site = Site::populated(rules);
    assert_eq!(site.modify("ou=p,dc=ex", "add: description\ndescription: plan").code, 0);
    site.become_(A);
    let found = site.search_as_self("ou=p,dc=ex", Scope::BaseObject, "(ou=p)", &["description"]);
    assert_eq!(found.entries, ["dn: ou=p,dc=ex\n"]);
}

#[test]
fn a_compare_with_a_big_group_tells_nothing_of_members_that_are_hidden() {
    let rules = "access to attrs=member val.regex=\"^cn=somebody\" by * none\naccess to * by * read";
    let mut site = with_big_group(rules);
    let mut compare = |value: &str| {
        let request = CompareRequest {
            entry: BIG.as_bytes(),
            attribute: b"member",
            value: value.as_bytes(),
        };
        site.send(&Request::Compare(request), &[]).code
    };
    assert_eq!(compare(A), 6);
    assert_eq!(compare("cn=nobody"), 5);
    assert_eq!(compare("cn=somebody-1,ou=people,dc=ex"), 50);
    assert_eq!(compare("cn=somebody-else,ou=people,dc=ex"), 50);
}

#[test]
fn sets_of_an_entry_that_is_added_look_at_what_it_holds() {
    let rules = "add_content_acl on\naccess to attrs=entry by set=\"this/manager & user\" none by users write\naccess to * by users write";
    let mut site = Site::populated(rules);
    site.become_(A);
    let entry =
        |manager: &str| format!("objectClass: person\nobjectClass: extensibleObject\nsn: s\nmanager: {manager}");
    assert_eq!(site.add("cn=n,ou=p,dc=ex", &entry(A)).code, 50);
    assert_eq!(site.add("cn=n,ou=p,dc=ex", &entry("cn=b,ou=p,dc=ex")).code, 0);
}

/// The name of the entry makes the expression of a refusing clause invalid: this must not bypass the clause.
#[test]
fn a_clause_that_cannot_be_evaluated_lets_nobody_past() {
    let rules = "access to dn.regex=\"^cn=([^,]+),ou=p,dc=ex$\" attrs=description\n  \
                 by dn.regex=\"^cn=$1,ou=p,dc=ex$\" none by users read\naccess to * by users read";
    let mut site = Site::populated(rules);
    for name in ["cn=x", "cn=(x"] {
        site.must_add(
            &format!("{name},ou=p,dc=ex"),
            "objectClass: person\nsn: s\ndescription: plan",
        );
    }
    site.become_(A);
    let mut shown = |dn: &str| {
        let answer = site.search_as_self(
            dn,
            ironbark_ldap_proto::Scope::BaseObject,
            "(objectClass=*)",
            &["description"],
        );
        answer.entries.concat().contains("plan")
    };
    assert!(shown("cn=x,ou=p,dc=ex"));
    assert!(!shown("cn=(x,ou=p,dc=ex"));
}
