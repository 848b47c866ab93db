//! Modify DN: names, RDN values, subtrees, access.

use ironbark_harness::Site;
use ironbark_ldap_proto::controls::{Control, PostRead};

const A: &str = "cn=a,ou=p,dc=ex";

#[test]
fn refusals_have_slapds_codes_and_words() {
    let mut site = Site::populated("");
    for (dn, new_rdn, superior, code, diagnostic) in [
        (A, "sn=", None, 34, "invalid new RDN"),
        (A, "cn=x,dc=ex", None, 34, "invalid new RDN"),
        (A, "cn=x", Some("not a dn"), 34, "invalid newSuperior"),
        ("ou=p,dc=ex", "ou=q", Some(A), 53, "cannot place an entry below itself"),
        (
            "ou=p,dc=ex",
            "ou=q",
            Some("ou=p,dc=ex"),
            53,
            "cannot place an entry below itself",
        ),
        (A, "cn=x", Some("ou=nope,dc=ex"), 32, "new superior not found"),
        (A, "cn=x", Some("dc=other"), 71, "cannot rename between DSAs"),
        (A, "cn=B", None, 68, ""),
        (A, "mail=x", None, 65, "object class 'person' requires attribute 'cn'"),
        ("dc=ex", "dc=foo", None, 71, "cannot rename between DSAs"),
        ("dc=ex", "dc=EX", None, 64, "cannot rename suffix entry"),
    ] {
        assert_eq!(
            site.rename(dn, new_rdn, superior).brief(),
            (code, diagnostic),
            "{dn} to {new_rdn} {superior:?}"
        );
    }
    let answer = site.rename("cn=nope,dc=ex", "cn=q", None);
    assert_eq!((answer.code, &*answer.matched_dn), (32, "dc=ex"));
    let answer = site.rename("cn=x,ou=nope,dc=ex", "cn=q", None);
    assert_eq!((answer.code, &*answer.matched_dn), (32, ""));
}

/// RFC 4511 §4.9.
#[test]
fn old_rdn_values_go_or_stay() {
    let mut site = Site::populated("");
    assert_eq!(site.rename(A, "cn=x", None).brief(), (0, ""));
    assert_eq!(site.read("cn=x,ou=p,dc=ex", &["cn"]).as_deref(), Some("cn: x\n"));
    assert_eq!(
        site.rename_with("cn=x,ou=p,dc=ex", "cn=y", false, None, &[]).brief(),
        (0, "")
    );
    assert_eq!(site.read("cn=y,ou=p,dc=ex", &["cn"]).as_deref(), Some("cn: x\ncn: y\n"));
    assert_eq!(site.rename("cn=y,ou=p,dc=ex", "cn=X", None).brief(), (0, ""));
    assert_eq!(site.read("cn=x,ou=p,dc=ex", &["cn"]).as_deref(), Some("cn: x\n"));
    assert_eq!(site.read(A, &["cn"]), None);
}

#[test]
fn a_rename_in_another_case_changes_what_is_printed() {
    let mut site = Site::populated("");
    let names = [&b"cn"[..]];
    let control = Control::critical(PostRead(names.as_slice().into()));
    let answer = site.rename_with(A, "CN=A", true, Some("OU=P,dc=ex"), &[&control]);
    assert_eq!(answer.brief(), (0, ""));
    assert_eq!(answer.read_entry.as_deref(), Some("dn: cn=A,ou=p,dc=ex\ncn: A\n"));
}

#[test]
fn a_subtree_moves_with_its_top() {
    let mut site = Site::populated("");
    site.must_add("ou=q,dc=ex", "objectClass: organizationalUnit");
    assert_eq!(site.rename("ou=p,dc=ex", "ou=r", Some("ou=q,dc=ex")).brief(), (0, ""));
    assert_eq!(site.read("cn=a,ou=r,ou=q,dc=ex", &["cn"]).as_deref(), Some("cn: a\n"));
    assert_eq!(site.read(A, &["cn"]), None);
    assert_eq!(site.read("ou=r,ou=q,dc=ex", &["ou"]).as_deref(), Some("ou: r\n"));
}

#[test]
fn operational_attributes_follow_a_rename() {
    let mut site = Site::populated("");
    site.clock.advance(std::time::Duration::from_mins(1));
    assert_eq!(site.rename(A, "cn=x+sn=t", None).brief(), (0, ""));
    assert_eq!(
        site.stored("sn=t+cn=x,ou=p,dc=ex").expect("there"),
        "objectClass: person\nsn: s\nsn: t\nstructuralObjectClass: person\ncreatorsName: cn=root,dc=ex\n\
         createTimestamp: 20260102030405Z\ncn: x\nentryCSN: 20260102030505.000000Z#000000#000#000000\n\
         modifiersName: cn=root,dc=ex\nmodifyTimestamp: 20260102030505Z\n"
    );
}

#[test]
fn aliases_take_no_subordinates() {
    let mut site = Site::populated("");
    let alias = "objectClass: alias\nobjectClass: extensibleObject\naliasedObjectName: cn=a,ou=p,dc=ex";
    site.must_add("cn=alias,dc=ex", alias);
    assert_eq!(
        site.rename(A, "cn=x", Some("cn=alias,dc=ex")).brief(),
        (33, "new superior is an alias")
    );
}

#[test]
fn access_is_needed_to_both_superiors_the_entry_and_the_old_value() {
    let rules = "access to dn.exact=ou=p,dc=ex attrs=children by dn.exact=cn=b,ou=p,dc=ex write by * read
access to dn.exact=ou=q,dc=ex attrs=children by * read
access to dn.exact=cn=a,ou=p,dc=ex attrs=entry by * write
access to dn.exact=cn=x,ou=p,dc=ex attrs=cn by * read
access to dn.exact=cn=y,ou=p,dc=ex attrs=cn by * write
access to * by * read";
    let mut site = Site::populated(rules);
    site.must_add("ou=q,dc=ex", "objectClass: organizationalUnit");
    site.become_("cn=c,ou=p,dc=ex");
    assert_eq!(
        site.rename(A, "cn=x", None).brief(),
        (50, "no write access to parent's children")
    );
    site.become_("cn=b,ou=p,dc=ex");
    assert_eq!(
        site.rename("cn=c,ou=p,dc=ex", "cn=x", None).brief(),
        (50, "no write access to old entry")
    );
    let refused = (50, "no write access to new superior's children");
    assert_eq!(site.rename(A, "cn=x", Some("ou=q,dc=ex")).brief(), refused);
    assert_eq!(site.rename(A, "cn=x", None).brief(), (50, ""));
    assert_eq!(site.rename(A, "cn=y", None).brief(), (0, ""));
}

/// Cached names do not outlive the real ones: neither of an entry that lost its subordinates before it was renamed, nor
/// of one that took the place of another.
#[test]
fn names_are_not_remembered_past_a_rename() {
    use ironbark_ldap_proto::Scope;
    let mut site = Site::populated("");
    let below = |name: &str, superior: &str| format!("cn={name},ou={superior},dc=ex");
    let person = "objectClass: person\nsn: s";
    for name in ["a", "b", "c"] {
        // Everything is cached once.
        assert!(site.read(&below(name, "p"), &["cn"]).is_some());
        assert_eq!(site.delete(&below(name, "p")).code, 0);
    }
    assert_eq!(site.rename("ou=p,dc=ex", "ou=q", None).brief(), (0, ""));
    site.must_add("ou=p,dc=ex", "objectClass: organizationalUnit");
    site.must_add(&below("a", "q"), person);
    let found = site.search("dc=ex", Scope::WholeSubtree, "(cn=a)", &["1.1"]);
    assert_eq!(found, ["dn: cn=a,ou=q,dc=ex\n"]);
    assert_eq!(site.read(&below("a", "p"), &["cn"]), None);
    assert!(site.read(&below("a", "q"), &["cn"]).is_some());
    site.must_add(&below("a", "p"), person);
    assert_eq!(site.delete(&below("a", "q")).code, 0);
    assert_eq!(site.delete("ou=q,dc=ex").code, 0);
    assert_eq!(site.rename("ou=p,dc=ex", "ou=q", None).brief(), (0, ""));
    assert!(site.read(&below("a", "q"), &["cn"]).is_some());
    assert_eq!(site.read(&below("a", "p"), &["cn"]), None);
}
