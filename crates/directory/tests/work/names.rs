//! Requests with many names: attributes to return, classes, sort keys, attributes to dereference, parts of entry names.

use std::fmt::Write as _;

use ironbark_ldap_proto::{
    List,
    controls::{SortKey, SortKeys},
};

use super::*;

/// Attributes of the entry that has many.
const MANY: usize = 300;

fn names(count: usize, name: impl Fn(usize) -> String) -> Vec<String> {
    (0..count).map(name).collect()
}

fn octets(names: &[String]) -> Vec<&[u8]> {
    names.iter().map(String::as_bytes).collect()
}

fn selecting(base: &str, scope: Scope, names: &[String]) -> Vec<u8> {
    let names = octets(names);
    let request = SearchRequest {
        attributes: List::new(&names),
        ..search(base, scope, "(objectClass=*)")
    };
    encoded(request, &[])
}

fn sorting(keys: &[(&str, bool)]) -> Vec<u8> {
    let keys: Vec<SortKey<'_>> = keys
        .iter()
        .map(|(attribute, reverse)| SortKey {
            attribute: attribute.as_bytes(),
            ordering_rule: Some(b"caseIgnoreOrderingMatch"),
            reverse: *reverse,
        })
        .collect();
    let control = Control::critical(SortKeys(List::new(&keys)));
    encoded(search("dc=ex", Scope::WholeSubtree, "(objectClass=*)"), &[&control])
}

#[test]
fn a_class_counts_once_however_often_it_is_named() {
    let mut site = site("", 100);
    let once = selecting("dc=ex", Scope::WholeSubtree, &names(1, |_| "@device".to_owned()));
    let often = selecting("dc=ex", Scope::WholeSubtree, &names(15_000, |_| "@device".to_owned()));
    let (once, often) = (run(&mut site, &once), run(&mut site, &often));
    assert_eq!(
        (once.code, once.entries, once.octets),
        (often.code, often.entries, often.octets)
    );
    assert!(often.most <= TURN && often.was_handed_over, "{often:?}");
    assert!(often.all < once.all + 2 * TURN, "{often:?} {once:?}");
}

#[test]
fn names_of_other_attributes_cost_little_for_an_entry() {
    let mut site = site("", 100);
    let many = names(15_000, |number| format!("l;lang-q{number}"));
    let course = run(&mut site, &selecting("dc=ex", Scope::WholeSubtree, &many));
    assert_eq!((course.code, course.entries), (0, 102 + GROUPS), "{course:?}");
    assert!(course.most <= TURN && course.was_handed_over, "{course:?}");
    // The names are resolved once, and three attributes or four of each entry are looked up.
    let resolved = 15_000 * 6;
    assert!(
        course.elsewhere < resolved + 20 * course.entries as u64 + TURN,
        "{course:?}"
    );
}

#[test]
fn names_of_an_attribute_with_options_cost_what_comparing_them_takes() {
    let mut site = site("", 0);
    let values = (0..MANY).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "l;lang-x{number}: here");
        text
    });
    site.must_add("cn=many,dc=ex", &format!("objectClass: device\n{values}"));
    let many = names(1_000, |number| format!("l;lang-q{number}"));
    let course = run(&mut site, &selecting("cn=many,dc=ex", Scope::BaseObject, &many));
    assert_eq!((course.code, course.entries), (0, 1), "{course:?}");
    assert!(course.most <= TURN && course.was_handed_over, "{course:?}");
    let compared = (MANY * 1_000 / 8) as u64;
    assert!(course.elsewhere >= compared, "{course:?}");
}

#[test]
fn sort_keys_are_few() {
    let mut site = site("", 20);
    for (count, code) in [(1, 0), (5, 0), (6, 53), (2_000, 53)] {
        let keys: Vec<_> = (0..count).map(|_| ("description", false)).collect();
        let course = run(&mut site, &sorting(&keys));
        assert_eq!(course.code, code, "{count}: {course:?}");
    }
}

#[test]
fn a_repeated_sort_key_costs_nothing() {
    let mut site = site("", 20);
    let once = run(&mut site, &sorting(&[("description", true), ("cn", false)]));
    let keys = [
        ("description", true),
        ("DESCRIPTION", false),
        ("description", true),
        ("cn", false),
        ("cn", true),
    ];
    let again = run(&mut site, &sorting(&keys));
    assert_eq!((again.code, again.entries), (0, once.entries));
    // A longer request costs a little more to read.
    assert!(
        again.all + again.elsewhere < once.all + once.elsewhere + 10,
        "{again:?} {once:?}"
    );
}

#[test]
fn attributes_to_dereference_are_a_hundred_at_most() {
    let mut site = site("", 0);
    let mut answer = |count: usize, each: usize| {
        let attributes = names(count, |number| format!("member;lang-x{number}"));
        let wanted = names(each, |number| format!("l;lang-x{number}"));
        let wanted = octets(&wanted);
        let specifications: Vec<_> = attributes
            .iter()
            .map(|attribute| DereferenceSpecification {
                attribute: attribute.as_bytes(),
                attributes: wanted.as_slice().into(),
            })
            .collect();
        let control = Control::critical(DereferenceRequest(specifications.as_slice().into()));
        run(
            &mut site,
            &encoded(search("dc=ex", Scope::WholeSubtree, "(cn=g*)"), &[&control]),
        )
    };
    for (count, each, code) in [
        (100, 1, 0),
        (101, 1, 11),
        (16_000, 1, 11),
        (100, 163, 0),
        (100, 164, 11),
    ] {
        let course = answer(count, each);
        assert_eq!(course.code, code, "{count} {each}: {course:?}");
        assert!(course.most <= TURN, "{count} {each}: {course:?}");
        // Requests with many names are resolved elsewhere.
        assert_eq!(course.was_handed_over, each == 163, "{count} {each}: {course:?}");
    }
}

#[test]
fn each_item_that_asks_the_names_of_entries_is_counted() {
    let mut site = site("", 0);
    let items = |count: usize| {
        let items = (0..count).fold(String::new(), |mut text, number| {
            let _ = write!(text, "(ou:dn:=a{number})");
            text
        });
        format!("(|{items})")
    };
    let course = run(
        &mut site,
        &encoded(search("dc=ex", Scope::WholeSubtree, &items(500)), &[]),
    );
    assert_eq!((course.code, course.entries), (0, 0), "{course:?}");
    assert!(course.most <= TURN, "{course:?}");
    let name_parts = (500 * 2 * GROUPS) as u64;
    assert!(course.all + course.elsewhere >= 8 * name_parts, "{course:?}");
}
