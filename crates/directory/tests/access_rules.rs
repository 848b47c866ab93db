//! Forms of access rules whose meaning is slapd's, and not the obvious one.
#![allow(clippy::expect_used, reason = "clippy knows test functions, but not what they call")]

use ironbark_harness::Site;
use ironbark_ldap_proto::Scope;

const A: &str = "cn=a,ou=p,dc=ex";
const B: &str = "cn=b,ou=p,dc=ex";
const NEW: &str = "cn=new,ou=p,dc=ex";
const NO_ACCESS: u32 = 50;
const CLASSES: &str = "objectclass ( 1.3.6.1.4.1.4203.666.3.77 NAME 'named' SUP top AUXILIARY MAY name )\n\
    objectclass ( 1.3.6.1.4.1.4203.666.3.78 NAME 'labelled' SUP named AUXILIARY MAY description )\n\
    objectclass ( 1.3.6.1.4.1.4203.666.3.79 NAME 'extended' SUP extensibleObject AUXILIARY MAY description )";

fn site(rules: &[&str]) -> Site {
    let lines: Vec<String> = rules.iter().map(|rule| format!("access {rule}")).collect();
    let mut site = Site::open_globally(CLASSES, &lines.join("\n"));
    site.populate();
    site
}

/// The names of the attributes of entry A that everybody sees under a rule that hides some.
fn seen(attributes: &str) -> Option<String> {
    let mut site = site(&[&format!("to attrs={attributes} by * none"), "to * by * read"]);
    assert_eq!(site.modify(A, "add: description\nd: x").code, 0);
    site.become_("");
    let wanted = ["cn", "sn", "description", "structuralObjectClass"];
    let found = site.search_as_self(A, Scope::BaseObject, "(sn=*)", &wanted).entries;
    let found = found.first()?.lines().skip(1);
    let mut names: Vec<&str> = found.filter_map(|line| Some(line.split_once(':')?.0)).collect();
    names.sort_unstable();
    Some(names.join(" "))
}

#[test]
fn a_class_is_about_the_subtypes_of_what_it_allows_and_extensible_object_about_everything() {
    // If `sn` is hidden, the filter does not match.
    for (attributes, expected) in [
        ("@extensibleObject", None),
        ("extensibleObject", None),
        ("!extensibleObject", Some("cn description sn structuralObjectClass")),
        ("description,@extensibleObject", None),
        ("@extended", Some("cn sn structuralObjectClass")),
        ("@named", None),
        ("@labelled", None),
        ("@domain", Some("cn sn structuralObjectClass")),
        // `entry` is outside every class.
        ("!named", None),
    ] {
        assert_eq!(seen(attributes).as_deref(), expected, "{attributes}");
    }
}

#[test]
fn a_filter_of_a_rule_holds_for_an_entry_that_is_being_added_as_for_the_stored_one() {
    for (filter, holds) in [
        ("(entryDN=cn=new,ou=p,dc=ex)", true),
        ("(entryDN=cn=other,ou=p,dc=ex)", false),
        ("(entryDN=*)", true),
        ("(entryDN:dnSubtreeMatch:=ou=p,dc=ex)", true),
        ("(subschemaSubentry=*)", true),
        ("(subschemaSubentry=cn=Subschema)", false),
        ("(hasSubordinates=*)", false),
        ("(hasSubordinates=FALSE)", false),
        ("(structuralObjectClass=person)", true),
        ("(ou:dn:=p)", true),
    ] {
        for (filter, holds) in [(filter.to_owned(), holds), (format!("(!{filter})"), !holds)] {
            let mut site = site(&[
                "to attrs=children by * write",
                &format!("to filter={filter} by users write by * read"),
                "to * by * none",
            ]);
            site.become_(A);
            let expected = if holds { 0 } else { NO_ACCESS };
            let added = site.add(NEW, "objectClass: person\nsn: s").code;
            assert_eq!(added, expected, "{filter}");
            if holds {
                assert_eq!(site.modify(NEW, "replace: sn\ns: x").code, 0, "{filter}");
            }
        }
    }
}

#[test]
fn a_name_that_is_empty_after_insertion_is_nobodys() {
    for who in [
        "dn.subtree,expand=\"$1\"",
        "dn.children,expand=\"$1\"",
        "dn.one,expand=\"$1\"",
        "dn.exact,expand=\"$1\"",
        "dn.base,expand=\"$1\"",
        "dn.level{1},expand=\"$1\"",
        "dn.level{3},expand=\"$1\"",
        "realdn.subtree,expand=\"$1\"",
        "group.expand=\"$1\"",
        "dn.subtree,expand=\"$9\"",
    ] {
        let about = "to dn.regex=\"^(.+,)?cn=a,ou=p,dc=ex$\"";
        let mut site = site(&[&format!("{about} by {who} write by * read"), "to * by * read"]);
        for requester in [A, B, "dc=ex", "dc=other"] {
            site.become_(requester);
            assert_eq!(site.modify(A, "replace: sn\ns: x").code, NO_ACCESS, "{who} {requester}");
        }
        // Its own entry sees what is left.
        site.become_("");
        assert_eq!(
            site.search_as_self(A, Scope::BaseObject, "(sn=*)", &[]).entries.len(),
            1
        );
    }
    let optional = "to dn.regex=\"^(.+,)?cn=a,ou=p,dc=ex$\" by dn.exact,expand=\"${1}cn=b,ou=p,dc=ex\" write";
    let mut site = site(&[optional, "to * by * read"]);
    site.become_(B);
    assert_eq!(
        site.modify(A, "replace: sn\ns: x").code,
        0,
        "the rest of the name is used"
    );
}

#[test]
fn taking_one_privilege_to_write_away_leaves_the_others_only_if_one_is_given_again() {
    for (clauses, may_add, may_delete) in [
        ("by users write continue by users -z", false, false),
        ("by users write continue by users -a", false, false),
        ("by users write continue by users -z continue by users +a", true, false),
        ("by users write continue by users -z continue by users +z", true, true),
        ("by users write continue by users -r", true, true),
    ] {
        let mut site = site(&[&format!("to attrs=sn {clauses}"), "to * by * write"]);
        site.become_(A);
        let code = |may: bool| if may { 0 } else { NO_ACCESS };
        assert_eq!(site.modify(A, "add: sn\ns: t").code, code(may_add), "{clauses}");
        assert_eq!(
            site.modify(B, "replace: sn\ns: t").code,
            code(may_add && may_delete),
            "{clauses}"
        );
        site.become_("cn=root,dc=ex");
        assert_eq!(site.modify(A, "replace: sn\ns: s\ns: u").code, 0);
        site.become_(A);
        assert_eq!(site.modify(A, "delete: sn\ns: u").code, code(may_delete), "{clauses}");
    }
}

#[test]
fn a_rule_that_breaks_hands_what_is_left_to_the_next_one() {
    let mut site = site(&[
        "to attrs=sn by users write break",
        "to attrs=sn by users -a",
        "to * by * write",
    ]);
    site.become_(A);
    assert_eq!(site.modify(A, "add: sn\ns: t").code, NO_ACCESS);
    assert_eq!(site.modify(A, "delete: sn\ns: s").code, NO_ACCESS);
}

#[test]
fn whoever_may_add_and_delete_may_increment() {
    for (grant, expected) in [("=az", 0), ("=w", 0), ("=i", 0), ("=a", NO_ACCESS), ("=z", NO_ACCESS)] {
        let mut site = site(&[&format!("to attrs=uidNumber by users {grant}"), "to * by * write"]);
        let account = "objectClass: account\nobjectClass: posixAccount\ncn: u\nuidNumber: 1\ngidNumber: 1\n\
            homeDirectory: /";
        site.must_add("uid=u,dc=ex", account);
        site.become_(A);
        let code = site.modify("uid=u,dc=ex", "increment: uidNumber\nn: 1").code;
        assert_eq!(code, expected, "{grant}");
    }
}
