//! Views of a list by values that are long to normalize or to compare.

use ironbark_ldap_proto::{
    List,
    controls::{ListTarget, SortKey, SortKeys, VirtualListView},
};

use super::*;

fn view(value: &str) -> Vec<u8> {
    let keys = [SortKey {
        attribute: b"cn",
        ordering_rule: Some(b"caseIgnoreOrderingMatch"),
        reverse: false,
    }];
    let sort = Control::critical(SortKeys(List::new(&keys)));
    let view = Control::critical(VirtualListView {
        before: u32::MAX >> 1,
        after: u32::MAX >> 1,
        target: ListTarget::Value(value.as_bytes()),
        context_id: None,
    });
    encoded(
        search("dc=ex", Scope::WholeSubtree, "(objectClass=device)"),
        &[&sort, &view],
    )
}

#[test]
fn a_value_that_is_long_is_looked_for_elsewhere() {
    let mut site = site("access to * by * read", 200);
    site.become_("cn=g0,dc=ex");
    let entries = 201;
    for (name, value, is_long) in [
        ("a name", "d1".to_owned(), false),
        ("long", "x".repeat(1 << 20), true),
        ("phrases", "\u{fdfa}".repeat(2_000), true),
    ] {
        let course = run(&mut site, &view(&value));
        assert_eq!((course.code, course.entries), (0, entries), "{name}: {course:?}");
        assert!(course.most <= TURN, "{name}: {course:?}");
        assert_eq!(course.was_handed_over, is_long, "{name}: {course:?}");
    }
}

#[test]
fn a_value_that_takes_too_long_is_refused() {
    let mut site = site("access to * by * read", 5);
    site.become_("");
    let course = run(&mut site, &view(&"\u{fdfa}".repeat(600_000)));
    assert_eq!((course.code, course.entries), (11, 0), "{course:?}");
    assert!(course.most <= TURN && course.was_handed_over, "{course:?}");
}
