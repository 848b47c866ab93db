//! Attributes that follow from the tree, without any overlay.

use ironbark_ldap_proto::Scope;

use ironbark_harness::Site;

fn found(site: &mut Site, filter: &str) -> Vec<String> {
    let answer = site.search_with("dc=ex", Scope::WholeSubtree, filter, &["1.1"], &[]);
    answer
        .entries
        .iter()
        .map(|entry| entry.trim().replace("dn: ", ""))
        .collect()
}

#[test]
fn attributes_of_the_tree_are_searched_by_any_rule() {
    let mut site = Site::populated("");
    site.become_("cn=root,dc=ex");
    assert_eq!(found(&mut site, "(hasSubordinates=TRUE)"), ["dc=ex", "ou=p,dc=ex"]);
    assert_eq!(found(&mut site, "(entryDN=CN=a, ou=p,dc=ex)"), ["cn=a,ou=p,dc=ex"]);
    assert_eq!(
        found(&mut site, "(|(entryDN=dc=ex)(entryDN=cn=b,ou=p,dc=ex)(cn=c))").len(),
        3
    );
    assert_eq!(found(&mut site, "(entryDN=cn=nobody,dc=ex)"), [""; 0]);
    assert_eq!(found(&mut site, "(entryDN:dnSubtreeMatch:=ou=p,dc=ex)").len(), 4);
    assert_eq!(found(&mut site, "(entryDN:dnSuperiorMatch:=cn=a,ou=p,dc=ex)").len(), 2);
    let all = found(&mut site, "(objectClass=*)").len();
    assert_eq!(found(&mut site, "(subschemaSubentry=*)").len(), all);
    assert_eq!(found(&mut site, "(!(entryDN=dc=ex))").len(), all - 1);
}
