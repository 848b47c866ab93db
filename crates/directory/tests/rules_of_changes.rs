//! Access rules on entries that are being changed: they see the entry in hand, whole, under the name that it gets.

mod harness;

use harness::Site;
use ironbark_ldap_proto::controls::{Control, PostRead};

const A: &str = "cn=a,ou=p,dc=ex";
const BIG: &str = "cn=big,ou=p,dc=ex";

/// A group of so many members that they lie outside of its record; `A` is one of them.
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
fn sets_of_an_entry_that_is_added_look_at_what_it_holds() {
    let rules = "add_content_acl on\naccess to attrs=entry by set=\"this/manager & user\" none by users write\naccess to * by users write";
    let mut site = Site::populated(rules);
    site.become_(A);
    let entry =
        |manager: &str| format!("objectClass: person\nobjectClass: extensibleObject\nsn: s\nmanager: {manager}");
    assert_eq!(site.add("cn=n,ou=p,dc=ex", &entry(A)).code, 50);
    assert_eq!(site.add("cn=n,ou=p,dc=ex", &entry("cn=b,ou=p,dc=ex")).code, 0);
}

/// The name of the entry spoils the expression of a clause that refuses: that is no way past it.
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
