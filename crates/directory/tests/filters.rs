//! The record of filters: it is bounded, and its sums are complete.

use ironbark_harness::Site;
use ironbark_ldap_proto::Scope;

/// Filters that differ in more than their values.
fn filter(number: usize) -> String {
    const NAMES: [&str; 9] = ["cn", "sn", "description", "l", "street", "title", "ou", "st", "mail"];
    let items = NAMES.iter().enumerate().filter(|(bit, _)| (number + 1) >> bit & 1 == 1);
    let items = items.fold(String::new(), |all, (_, name)| format!("{all}({name}=x)"));
    format!("(&{items})")
}

#[test]
fn a_flood_of_filters_is_counted_and_leaves_room_for_what_costs_most() {
    let mut site = Site::populated("index uid eq");
    let entries = site
        .search("dc=ex", Scope::WholeSubtree, "(objectClass=*)", &["1.1"])
        .len() as u64;
    let mut searches = 1;
    // One filter that occurs all the time, among others that occur once a round.
    for round in 0..10 {
        for number in 0..400 {
            let base = "dc=ex";
            site.search(base, Scope::WholeSubtree, &filter(number), &["1.1"]);
            site.search(base, Scope::WholeSubtree, &format!("(uid=none{round})"), &["1.1"]);
            searches += 2;
        }
    }
    // A search of one entry by its name needs no index.
    site.search("dc=ex", Scope::BaseObject, "(sn=x)", &["1.1"]);
    let report = site.directory.statistics().filters();
    assert!(report.shapes.len() <= 256, "{}", report.shapes.len());
    let sum = |of: fn(&ironbark_directory::FilterCost) -> u64| {
        let remembered: u64 = report.shapes.iter().map(|shape| of(&shape.cost)).sum();
        remembered + of(&report.others)
    };
    assert_eq!(sum(|cost| cost.searches), searches);
    assert!(sum(|cost| cost.candidates) > entries);
    assert!(report.others.searches > 1_000, "{:?}", report.others);
    let usual = report
        .shapes
        .iter()
        .find(|shape| &*shape.filter == "(uid=?)")
        .expect("remembered");
    assert_eq!(usual.cost.searches, 4_000);
    assert_eq!(&*usual.database, "dc=ex");
}

#[test]
fn the_text_of_a_filter_has_its_structure_and_no_values() {
    let mut site = Site::populated("index sn eq,sub");
    for filter in [
        "(&(sn=a*b*c)(|(createTimestamp>=20260101000000Z)(!(description=*)))(cn~=y))",
        "(sn;lang-en=*z)",
        "(|(sn=a)(sn=b))",
        "(nosuch=x)",
        "(seeAlso:1.2.840.113556.1.4.1941:=cn=x)",
    ] {
        site.search("dc=ex", Scope::WholeSubtree, filter, &["1.1"]);
    }
    let report = site.directory.statistics().filters();
    let mut texts: Vec<&str> = report.shapes.iter().map(|shape| &*shape.filter).collect();
    texts.sort_unstable();
    assert_eq!(
        texts,
        [
            "(&(sn=?*?*?)(|(createTimestamp>=?)(!(description=*)))(cn~=?))",
            "(?=undefined)",
            "(seeAlso:1.2.840.113556.1.4.1941:=?)",
            "(sn;lang-en=*?)",
            "(|(sn=?)(sn=?))",
        ]
    );
}
