//! Access rules with regular expressions about names: they see the normal form, however an RDN was written.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;
use ironbark_ldap_proto::Scope;

/// Names that an anonymous client finds under one rule.
fn found(pattern: &str) -> Vec<String> {
    let mut site = Site::open(&format!(
        "access to dn.base=\"dc=ex\" by * search\naccess to dn.regex=\"{pattern}\" by * read\naccess to * by * none"
    ));
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    for name in [
        "organizationalUnitName=A",
        "2.5.4.11=b",
        "OU=c\\2Bd",
        "ou=y+cn=x",
        "ou = e",
    ] {
        let class = if name.contains("cn=") {
            "groupOfNames\nmember: cn=x"
        } else {
            "organizationalUnit"
        };
        site.must_add(&format!("{name},dc=ex"), &format!("objectClass: {class}"));
    }
    site.must_add("cn=f,dc=ex", "objectClass: groupOfNames\nmember: cn=x");
    site.become_("");
    let entries = site
        .search_as_self("dc=ex", Scope::WholeSubtree, "(objectClass=*)", &["1.1"])
        .entries;
    entries.iter().map(|entry| entry.trim_end().to_owned()).collect()
}

#[test]
fn the_type_of_an_rdn_is_its_first_name_whatever_was_written() {
    let units = ["organizationalUnitName=A", "2.5.4.11=b", "OU=c\\2Bd", "ou = e"];
    let names = found("^ou=[^,]+,dc=ex$");
    assert_eq!(names.len(), units.len(), "{names:?}");
    assert!(found("^organizationalUnitName=").is_empty());
    assert!(found("^2").is_empty());
}

#[test]
fn the_types_of_an_rdn_stand_in_the_order_of_their_names() {
    assert_eq!(found("^cn=x[+]ou=y,dc=ex$").len(), 1);
    assert!(found("^ou=y[+]").is_empty());
}

#[test]
fn case_means_nothing_to_an_expression() {
    assert_eq!(found("^CN=F,").len(), 1);
    assert_eq!(found("^(cn|OU)=[AF],").len(), 2);
}

#[test]
fn a_rule_that_refuses_holds_back_everything_that_its_brackets_name() {
    let found = |bracket: &str| {
        let mut site = Site::open(&format!(
            "access to dn.regex=\"^cn={bracket},dc=ex$\" by * none\naccess to * by * read"
        ));
        site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
        for name in ["5", "9", "-", ".", "&", "a", "b"] {
            site.must_add(&format!("cn={name},dc=ex"), "objectClass: groupOfNames\nmember: cn=x");
        }
        site.become_("");
        let entries = site
            .search_as_self("dc=ex", Scope::SingleLevel, "(objectClass=*)", &["1.1"])
            .entries;
        let names = entries.iter().map(|entry| entry.trim_end());
        let names = names.map(|name| name.trim_start_matches("dn: cn=").trim_end_matches(",dc=ex"));
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort_unstable();
        names.concat()
    };
    // A parser with other operators subtracts the 9, and keeps the octets that both sides of `&&` or one side of `~~`
    // have.
    assert_eq!(found("[+--9]"), "&.5ab");
    assert_eq!(found("[%--]"), ".59ab");
    assert_eq!(found("[a-b&&b]"), "-.59");
    assert_eq!(found("[ab~~b]"), "&-.59");
}
