//! When the planner asks who derives.

use std::sync::{Arc, Mutex};

use ironbark_directory::overlay::Overlay;

use crate::derived::{
    ask::{self, A, found},
    levels::Titles,
};
use ironbark_harness::Site;

/// With titles that are derived from descriptions, and how many candidates each look-up was worth.
fn site() -> (Site, Arc<Mutex<Vec<u64>>>) {
    let worth = Arc::<Mutex<Vec<u64>>>::default();
    let given = Arc::clone(&worth);
    let mut site = Site::open_with(
        "index cn,sn eq\nindex description pres\noverlay tested",
        move |_, schema| {
            Ok(Overlay {
                derivation: Some(Arc::new(Titles::new(schema, 1, &given))),
                ..Overlay::new("titles")
            })
        },
    );
    ask::populate(&mut site);
    (site, worth)
}

#[test]
fn what_another_item_decides_alone_is_not_looked_up() {
    let (mut site, worth) = site();
    for filter in [
        "(&(title=<own>)(cn=a))",
        "(&(|(title=<own>)(title=<red>))(cn=a))",
        "(&(&(title=<own>)(objectClass=*))(cn=a))",
        "(&(!(title=<red>))(cn=a))",
    ] {
        assert_eq!(found(&mut site, filter), ["a"], "{filter}");
        assert_eq!(worth.lock().unwrap().as_slice(), [0; 0], "{filter}");
    }
}

#[test]
fn a_look_up_is_worth_what_it_may_spare() {
    let (mut site, worth) = site();
    assert_eq!(found(&mut site, "(title=<own>)"), ["a"]);
    assert_eq!(found(&mut site, "(&(title=<own>)(objectClass=*))"), ["a"]);
    assert_eq!(worth.lock().unwrap().split_off(0), [u64::MAX; 2]);
    for number in 0..30 {
        let lines = "objectClass: person\nsn: many";
        site.must_add(&format!("cn=n{number},ou=p,dc=ex"), lines);
    }
    assert_eq!(site.modify(A, "replace: sn\ns: many").code, 0);
    let few = "(&(sn=many)(title=<own>))";
    for filter in [
        few,
        "(&(title=<own>)(sn=many))",
        "(&(|(title=<own>)(title=<x>))(sn=many))",
    ] {
        assert_eq!(found(&mut site, filter), ["a"], "{filter}");
    }
    let asked = worth.lock().unwrap().split_off(0);
    assert_eq!(asked.len(), 4);
    assert!(asked.iter().all(|&worth| (31..10_000).contains(&worth)), "{asked:?}");
    // More entries have a description than that is worth.
    for number in 0..31 {
        let dn = format!("cn=d{number},ou=p,dc=ex");
        site.must_add(&dn, "objectClass: person\nsn: other\ndescription: some");
    }
    assert_eq!(found(&mut site, few), ["a"]);
}
