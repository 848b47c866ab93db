//! Virtual list views: what is sent of a sorted list, where slapd answers otherwise or cannot be asked.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use ironbark_harness::{DecodedAnswer, Site, TestClient, search_request};
use ironbark_ldap_proto::{
    EncodeControl, List, Request, Scope, SearchRequest,
    controls::{Control, ListTarget, PagedResults, SortKey, SortKeys, VirtualListView},
};

const ORDER: Option<&[u8]> = Some(b"2.5.13.3");
const PEOPLE: &str = "(objectClass=person)";

fn at(offset: u32, content_count: u32) -> ListTarget<'static> {
    ListTarget::Offset { offset, content_count }
}

fn by(value: &str) -> ListTarget<'_> {
    ListTarget::Value(value.as_bytes())
}

fn key(attribute: &str, reverse: bool) -> SortKey<'_> {
    SortKey {
        attribute: attribute.as_bytes(),
        ordering_rule: ORDER,
        reverse,
    }
}

fn search(filter: &str) -> SearchRequest<'_> {
    search_request("dc=ex", Scope::WholeSubtree, filter, &[b"1.1"])
}

fn ask(
    client: &mut TestClient,
    keys: &[SortKey<'_>],
    (before, after): (u32, u32),
    target: ListTarget<'_>,
) -> DecodedAnswer {
    let sort = Control::critical(SortKeys(List::new(keys)));
    let view = Control::critical(VirtualListView {
        before,
        after,
        target,
        context_id: None,
    });
    client.send(&Request::Search(search(PEOPLE)), &[&sort, &view])
}

/// The names that came, and what was said of the view.
fn seen(answer: &DecodedAnswer) -> (String, (u32, u32, u32)) {
    let names = answer.entries.iter().filter_map(|entry| entry.strip_prefix("dn: cn="));
    let names: Vec<&str> = names.filter_map(|name| name.split(',').next()).collect();
    (names.join(" "), answer.viewed.expect("a view"))
}

/// People of these names and surnames.
fn people(lines: &str, people: &[(&str, &str)]) -> Site {
    let mut site = Site::open_with_views("", lines);
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    for (name, surname) in people {
        let text = format!("objectClass: inetOrgPerson\nsn: {surname}");
        site.must_add(&format!("cn={name},dc=ex"), &text);
    }
    site
}

#[test]
fn a_value_leads_to_the_first_of_its_equals_by_the_primary_key() {
    let all = [("e", "b"), ("a", "b"), ("d", "a"), ("c", "b"), ("b", "c")];
    let mut site = people("", &all);
    for (reverse, expected) in [(false, "d a c e b"), (true, "b a c e d")] {
        let keys = [key("sn", reverse), key("cn", false)];
        let whole = ask(&mut site, &keys, (0, 9), at(1, 0));
        assert_eq!(seen(&whole), (expected.to_owned(), (1, 5, 0)));
        for (value, position) in [("B", 2), ("b", 2)] {
            let answer = ask(&mut site, &keys, (0, 0), by(value));
            assert_eq!(seen(&answer), ("a".to_owned(), (position, 5, 0)), "{reverse} {value}");
        }
    }
    // What is equal stays in the order of the entries, and is begun at its first.
    let answer = ask(&mut site, &[key("sn", false)], (0, 1), by("b"));
    assert_eq!(seen(&answer), ("e a".to_owned(), (2, 5, 0)));
}

#[test]
fn who_lacks_the_primary_key_is_last_and_first_in_reverse() {
    let mut site = people("", &[("a", "b"), ("b", "c")]);
    site.must_add("cn=c,dc=ex", "objectClass: inetOrgPerson\nsn: d\ntitle: t");
    let title = |reverse| [key("title", reverse), key("cn", false)];
    for (value, expected) in [
        ("s", ("c a", (1, 3, 0))),
        ("t", ("c a", (1, 3, 0))),
        ("u", ("a b", (2, 3, 0))),
    ] {
        let answer = ask(&mut site, &title(false), (0, 1), by(value));
        assert_eq!(seen(&answer), (expected.0.to_owned(), expected.1), "{value}");
    }
    for (value, expected) in [("u", ("c", (3, 3, 0))), ("t", ("c", (3, 3, 0))), ("s", ("", (4, 3, 0)))] {
        let answer = ask(&mut site, &title(true), (0, 1), by(value));
        assert_eq!(seen(&answer), (expected.0.to_owned(), expected.1), "{value}");
    }
}

#[test]
fn behind_the_end_there_is_what_stands_before_it() {
    let mut site = people("", &[("a", "a"), ("b", "b"), ("c", "c")]);
    for (around, expected) in [
        ((0, 0), ""),
        ((0, 9), ""),
        ((1, 9), "c"),
        ((2, 0), "b c"),
        ((9, 0), "a b c"),
    ] {
        let answer = ask(&mut site, &[key("sn", false)], around, by("d"));
        assert_eq!(seen(&answer), (expected.to_owned(), (4, 3, 0)), "{around:?}");
    }
}

#[test]
fn a_list_is_as_it_is_at_each_request() {
    let mut site = people("", &[("a", "a"), ("b", "b"), ("c", "c")]);
    let keys = [key("sn", false)];
    assert_eq!(seen(&ask(&mut site, &keys, (1, 1), at(2, 3))).1, (2, 3, 0));
    site.must_add("cn=bb,dc=ex", "objectClass: inetOrgPerson\nsn: bb");
    let answer = ask(&mut site, &keys, (9, 9), at(3, 3));
    assert_eq!(seen(&answer), ("a b bb c".to_owned(), (4, 4, 0)));
    // Whatever is said of a list that slapd would have kept.
    for context_id in [&b""[..], b"12345678", &[0xff; 4_096]] {
        let sort = Control::critical(SortKeys(List::new(&keys)));
        let view = Control::critical(VirtualListView {
            before: 0,
            after: 0,
            target: at(2, 4),
            context_id: Some(context_id),
        });
        let answer = site.send(&Request::Search(search(PEOPLE)), &[&sort, &view]);
        assert_eq!(seen(&answer), ("b".to_owned(), (2, 4, 0)));
    }
}

#[test]
fn what_the_list_cannot_have_is_told_with_its_count() {
    let mut site = people("", &[("a", "a"), ("b", "b")]);
    let answer = ask(&mut site, &[key("sn", false)], (9, 9), at(3, 0));
    assert_eq!((answer.code, answer.entries.len()), (76, 0));
    assert_eq!((answer.sorted, answer.viewed), (Some(0), Some((0, 2, 61))));
    let number = SortKey {
        attribute: b"createTimestamp",
        ordering_rule: None,
        reverse: false,
    };
    let answer = ask(&mut site, &[number], (9, 9), by("yesterday"));
    assert_eq!((answer.code, answer.entries.len()), (76, 0));
    assert_eq!((answer.sorted, answer.viewed), (Some(0), Some((0, 2, 18))));
}

#[test]
fn a_sort_that_cannot_be_done_leaves_no_view() {
    let mut site = people("", &[("a", "a")]);
    let view = Control::optional(VirtualListView {
        before: 0,
        after: 9,
        target: at(1, 0),
        context_id: None,
    });
    for (attribute, rule, code) in [(&b"nosuch"[..], None, 16), (b"sn", Some(&b"nosuchrule"[..]), 18)] {
        let keys = [SortKey {
            attribute,
            ordering_rule: rule,
            reverse: false,
        }];
        let sort = Control::optional(SortKeys(List::new(&keys)));
        let answer = site.send(&Request::Search(search(PEOPLE)), &[&sort, &view]);
        assert_eq!((answer.code, answer.sorted, answer.viewed), (code, Some(code), None));
        // Alone it is passed over.
        let answer = site.send(&Request::Search(search(PEOPLE)), &[&sort]);
        assert_eq!((answer.code, answer.sorted, answer.entries.len()), (0, Some(code), 1));
    }
}

#[test]
fn pages_and_views_exclude_each_other_on_every_page() {
    let mut site = people("", &[("a", "a"), ("b", "b"), ("c", "c")]);
    let keys = [key("sn", false)];
    let sort = Control::critical(SortKeys(List::new(&keys)));
    let view = Control::critical(VirtualListView {
        before: 0,
        after: 0,
        target: at(1, 0),
        context_id: None,
    });
    let mut page = |cookie: &[u8], more: &[&dyn EncodeControl]| {
        let page = Control::critical(PagedResults { size: 1, cookie });
        let controls = [&[&sort as &dyn EncodeControl, &page], more].concat();
        site.send(&Request::Search(search(PEOPLE)), &controls)
    };
    let refused = (53, "VLV incompatible with PagedResults");
    assert_eq!(page(b"", &[&view]).brief(), refused);
    let cookie = page(b"", &[]).cookie.expect("a page");
    assert_eq!(page(&cookie, &[&view]).brief(), refused);
    let next = page(&cookie, &[]);
    assert_eq!(next.entries, ["dn: cn=b,dc=ex\n"], "the refused request took nothing");
}

#[test]
fn positions_are_those_of_what_may_be_seen() {
    let rules = "access to dn.exact=cn=b,dc=ex by * none\n\
                 access to dn.exact=cn=d,dc=ex attrs=title by * none\n\
                 access to * by * read";
    let mut site = people(rules, &[("a", "a"), ("b", "b"), ("c", "c"), ("d", "d")]);
    let change = "add: title\ntitle: x";
    for dn in ["cn=b,dc=ex", "cn=d,dc=ex"] {
        assert_eq!(site.modify(dn, change).code, 0);
    }
    let whole = ask(&mut site, &[key("sn", false)], (9, 9), at(4, 4));
    assert_eq!(seen(&whole), ("a b c d".to_owned(), (4, 4, 0)));
    site.become_("cn=a,dc=ex");
    for (target, expected) in [
        (at(3, 3), (3, 3, 0)),
        (by("b"), (2, 3, 0)),
        (by("c"), (2, 3, 0)),
        (by("e"), (4, 3, 0)),
    ] {
        let answer = ask(&mut site, &[key("sn", false)], (9, 9), target);
        assert_eq!(seen(&answer), ("a c d".to_owned(), expected), "{target:?}");
    }
    // Nobody has a title that may be read.
    for value in ["a", "x", "z"] {
        for reverse in [false, true] {
            let answer = ask(&mut site, &[key("title", reverse)], (9, 9), by(value));
            let position = if reverse { 4 } else { 1 };
            assert_eq!(seen(&answer), ("a c d".to_owned(), (position, 3, 0)), "{value}");
        }
    }
}
