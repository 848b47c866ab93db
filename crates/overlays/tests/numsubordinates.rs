//! The overlay numsubordinates.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;
use ironbark_ldap_proto::Scope;

fn found(site: &mut Site, filter: &str) -> Vec<String> {
    let all = site.search_with("dc=ex", Scope::WholeSubtree, filter, &["numSubordinates"], &[]);
    assert_eq!(all.code, 0, "{}", all.text);
    all.entries
}

#[test]
fn every_entry_has_the_number_of_those_immediately_below_it() {
    let lines = "overlay numsubordinates";
    let mut site = Site::open_of(&ironbark_overlays::registry(), lines, ironbark_overlays::make);
    site.populate();
    let all = found(&mut site, "(objectClass=*)");
    let numbers: Vec<_> = all
        .iter()
        .filter_map(|entry| entry.split("numSubordinates: ").nth(1))
        .collect();
    assert_eq!(
        numbers.iter().map(|number| number.trim()).collect::<Vec<_>>(),
        ["1", "3", "0", "0", "0"]
    );
    assert_eq!(found(&mut site, "(numSubordinates=3)").len(), 1);
    assert_eq!(found(&mut site, "(numSubordinates>=1)").len(), 2);
    assert_eq!(found(&mut site, "(&(numSubordinates=0)(cn=a))").len(), 1);
    for number in 0..40 {
        site.must_add(&format!("cn=n{number},cn=a,ou=p,dc=ex"), "objectClass: person\nsn: s");
    }
    assert_eq!(found(&mut site, "(numSubordinates=40)").len(), 1);
    assert_eq!(site.delete("cn=n7,cn=a,ou=p,dc=ex").code, 0);
    assert_eq!(found(&mut site, "(numSubordinates=39)").len(), 1);
    let refused = site.modify("cn=b,ou=p,dc=ex", "add: numSubordinates\nn: 1");
    assert_eq!(refused.code, 19, "{}", refused.text);
    assert!(!site.read("ou=p,dc=ex", &["*"]).unwrap().contains("numSubordinates"));
}
