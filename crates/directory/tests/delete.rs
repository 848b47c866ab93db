//! Delete: leaves, subtrees, access, referrals.

use ironbark_harness::Site;
use ironbark_ldap_proto::controls::{Control, ManageDsaIt, NoOp, PreRead, TreeDelete};

#[test]
fn only_leaves_go_and_missing_entries_have_a_matched_dn() {
    let mut site = Site::populated("");
    assert_eq!(
        site.delete("ou=p,dc=ex").brief(),
        (66, "subordinate objects must be deleted first")
    );
    let answer = site.delete("cn=x,cn=y,ou=nope,dc=ex");
    assert_eq!((answer.code, &*answer.matched_dn), (32, "dc=ex"));
    assert_eq!(site.delete("cn=A,OU=p,dc=ex").brief(), (0, ""));
    assert_eq!(site.delete("cn=A,OU=p,dc=ex").code, 32);
    assert_eq!(site.delete("not a dn").brief(), (34, "invalid DN"));
}

/// RFC 4527 §3.1.
#[test]
fn the_pre_read_control_shows_what_went() {
    let mut site = Site::populated("");
    let names = [&b"sn"[..]];
    let control = Control::critical(PreRead(names.as_slice().into()));
    let answer = site.delete_with("cn=a,ou=p,dc=ex", &[&control]);
    assert_eq!(answer.read_entry.as_deref(), Some("dn: cn=a,ou=p,dc=ex\nsn: s\n"));
}

#[test]
fn tree_delete_takes_all_or_nothing() {
    let rules = "access to dn.exact=cn=keep,ou=p,dc=ex attrs=entry by * read\naccess to * by * write";
    let mut site = Site::populated(rules);
    site.must_add("cn=deep,cn=a,ou=p,dc=ex", "objectClass: person\nsn: s");
    site.must_add("cn=keep,ou=p,dc=ex", "objectClass: person\nsn: s");
    let tree = Control::critical(TreeDelete);
    site.become_("cn=b,ou=p,dc=ex");
    assert_eq!(
        site.delete_with("ou=p,dc=ex", &[&tree]).brief(),
        (50, "no write access to a subordinate")
    );
    assert!(site.read("cn=deep,cn=a,ou=p,dc=ex", &["sn"]).is_some());
    site.become_("cn=root,dc=ex");
    let no_op = Control::critical(NoOp);
    assert_eq!(site.delete_with("ou=p,dc=ex", &[&tree, &no_op]).code, 16_654);
    assert_eq!(site.delete_with("ou=p,dc=ex", &[&tree]).brief(), (0, ""));
    assert_eq!(site.read("cn=deep,cn=a,ou=p,dc=ex", &["sn"]), None);
    assert_eq!(site.read("ou=p,dc=ex", &["ou"]), None);
    assert!(site.read("dc=ex", &["dc"]).is_some());
}

#[test]
fn access_is_needed_to_parent_and_entry() {
    let rules = "access to dn.exact=ou=p,dc=ex attrs=children by dn.exact=cn=b,ou=p,dc=ex delete by * read
access to dn.exact=cn=a,ou=p,dc=ex attrs=entry by * delete
access to * by * read";
    let mut site = Site::populated(rules);
    site.become_("cn=c,ou=p,dc=ex");
    assert_eq!(
        site.delete("cn=a,ou=p,dc=ex").brief(),
        (50, "no write access to parent")
    );
    site.become_("cn=b,ou=p,dc=ex");
    assert_eq!(site.delete("cn=c,ou=p,dc=ex").brief(), (50, "no write access to entry"));
    assert_eq!(site.delete("cn=a,ou=p,dc=ex").brief(), (0, ""));
    assert_eq!(site.delete("dc=ex").brief(), (50, ""));
}

#[test]
fn referrals_go_only_when_managed() {
    let mut site = Site::populated("");
    site.must_add(
        "cn=ref,dc=ex",
        "objectClass: referral\nobjectClass: extensibleObject\nref: ldap://other/dc=far",
    );
    assert_eq!(site.delete("cn=ref,dc=ex").code, 10);
    let manage = Control::critical(ManageDsaIt);
    assert_eq!(site.delete_with("cn=ref,dc=ex", &[&manage]).brief(), (0, ""));
}
