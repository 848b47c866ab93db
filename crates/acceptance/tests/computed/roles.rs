//! Roles beside a 389 Directory Server.

use ironbark_testkit::{Credentials, Ds389, Flavor, NormalizedLdif, Server};

/// Roles of each kind, values by role, and people who have them or not.
const CONTENT: &str = include_str!("roles.ldif");

/// Searches to which both servers give the same answer. 389 hides the definitions, as entries of ldapSubEntry.
const SAME: &[&[&str]] = &[
    &["(uid=*)", "nsRole"],
    &["(uid=*)", "*"],
    &["(uid=*)", "nsRole", "departmentNumber"],
    &["(&(uid=*)(nsRole=cn=managed,ou=people,dc=example,dc=com))", "1.1"],
    &["(&(uid=*)(nsRole=cn=filtered,ou=people,dc=example,dc=com))", "1.1"],
    &["(&(uid=*)(nsRole=cn=nested,ou=people,dc=example,dc=com))", "1.1"],
    &["(&(uid=*)(nsRole=cn=wide,ou=staff,ou=people,dc=example,dc=com))", "1.1"],
    &["(&(uid=*)(!(nsRole=cn=managed,ou=people,dc=example,dc=com)))", "1.1"],
    &["(&(uid=*)(nsRole=cn=nobody,ou=people,dc=example,dc=com))", "1.1"],
];

fn answer(found: &str) -> String {
    let small = found.to_lowercase();
    NormalizedLdif::new(&small)
        .without(&["aci", "objectclass", "nsroledn"])
        .sorted()
        .to_string()
}

fn arguments<'a>(search: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["-b", "ou=people,dc=example,dc=com"];
    all.extend(search);
    all
}

fn of_389(server: &Ds389, search: &[&str]) -> String {
    answer(&server.client("ldapsearch", &arguments(search), "").unwrap().stdout)
}

fn of_ours(server: &Server, search: &[&str]) -> String {
    let mut all = vec!["-LLL", "-o", "ldif-wrap=no"];
    all.extend(arguments(search));
    answer(
        &server
            .client("ldapsearch", &Credentials::ROOT, &all, "")
            .unwrap()
            .stdout,
    )
}

#[test]
fn roles_of_389_are_had_by_the_same_entries() {
    let mut other = Ds389::start().unwrap();
    other.client("ldapadd", &[], CONTENT).unwrap().success().unwrap();
    other.restart().unwrap();
    let config = Server::people_config("", "index title,nsRoleDN eq\noverlay roles\noverlay cos");
    let mut ours = Server::prepare(Flavor::Ironbark, &config).unwrap();
    ours.launch().unwrap();
    ours.ldapadd(CONTENT).unwrap().success().unwrap();
    for search in SAME {
        assert_eq!(of_ours(&ours, search), of_389(&other, search), "{search:?}");
    }
    assert!(of_389(&other, SAME[2]).contains("departmentnumber: 17"));
    assert!(of_ours(&ours, SAME[3]).contains("dn: uid=c"));
    // 389 finds nothing by values that a definition gives.
    assert!(of_ours(&ours, &["(departmentNumber=17)", "1.1"]).contains("dn: uid=c"));
}
