//! Sorted searches and their limits: all matching entries are sorted, then the result is cut.
#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use ironbark_harness::{DecodedAnswer, Site, TestClient, search_request};
use ironbark_ldap_proto::{
    EncodeControl, List, Request, Scope, SearchRequest,
    controls::{Control, ManageDsaIt, PagedResults, SortKey, SortKeys},
};

/// More entries than are collected before those beyond a limit are dropped.
const COUNT: u32 = 2_600;

fn search(
    client: &mut TestClient,
    size_limit: u32,
    (attribute, ordering_rule, reverse): (&str, Option<&str>, bool),
    page: Option<(u32, &[u8])>,
) -> DecodedAnswer {
    let keys = [SortKey {
        attribute: attribute.as_bytes(),
        ordering_rule: ordering_rule.map(str::as_bytes),
        reverse,
    }];
    let sort = Control::critical(SortKeys(List::new(&keys)));
    let page = page.map(|(size, cookie)| Control::critical(PagedResults { size, cookie }));
    let manage = Control::critical(ManageDsaIt);
    let mut controls: Vec<&dyn EncodeControl> = vec![&sort, &manage];
    controls.extend(page.as_ref().map(|page| page as &dyn EncodeControl));
    let request = SearchRequest {
        size_limit,
        ..search_request("dc=ex", Scope::WholeSubtree, "(objectClass=account)", &[b"1.1"])
    };
    client.send(&Request::Search(request), &controls)
}

/// Entries `uid=N`, whose `uidNumber` is in disorder; every seventh has none.
fn filled(count: u32) -> Site {
    let mut site = Site::populated("envflags nosync");
    site.become_("cn=root,dc=ex");
    for n in 0..count {
        let number = match n % 7 {
            3 => String::new(),
            _ => format!(
                "\nobjectClass: posixAccount\ncn: x\ngidNumber: 1\nhomeDirectory: /\nuidNumber: {}",
                key(n)
            ),
        };
        site.must_add(
            &format!("uid={n},dc=ex"),
            &format!("uid: {n}\nobjectClass: account{number}"),
        );
    }
    site
}

fn key(n: u32) -> u32 {
    n * 7919 % 1009
}

/// In the order of the key, as in slapd: entries without a value come last, and first in reverse order; equal ones keep
/// the order of the entries.
fn expected(count: u32, reverse: bool) -> Vec<String> {
    let mut all: Vec<(Option<u32>, u32)> = (0..count).map(|n| ((n % 7 != 3).then(|| key(n)), n)).collect();
    all.sort_by(|(a, _), (b, _)| {
        let order = (a.is_none(), a).cmp(&(b.is_none(), b));
        if reverse { order.reverse() } else { order }
    });
    all.iter().map(|(_, n)| format!("dn: uid={n},dc=ex\n")).collect()
}

#[test]
fn a_size_limit_cuts_what_has_been_sorted() {
    let mut site = filled(COUNT);
    for reverse in [false, true] {
        let all = expected(COUNT, reverse);
        for limit in [1, 2, 10, 600, COUNT - 1] {
            let answer = search(&mut site, limit, ("uidNumber", None, reverse), None);
            assert_eq!(answer.code, 4, "{limit}");
            assert_eq!(Some(&*answer.entries), all.get(..limit as usize), "{limit}");
        }
        for limit in [COUNT, COUNT + 1, 0] {
            let answer = search(&mut site, limit, ("uidNumber", None, reverse), None);
            assert_eq!(answer.code, 0, "{limit}");
            assert_eq!(answer.entries, all, "{limit}");
        }
    }
}

#[test]
fn the_limit_of_all_pages_cuts_what_has_been_sorted() {
    let mut site = filled(40);
    let all = expected(40, true);
    for (limit, code) in [(5, 4), (6, 4), (39, 4), (40, 0), (0, 0)] {
        let (mut found, mut cookie) = (Vec::new(), Vec::new());
        let end = loop {
            let answer = search(&mut site, limit, ("uidNumber", None, true), Some((2, &cookie)));
            found.extend(answer.entries);
            match answer.cookie {
                Some(next) if answer.code == 0 && !next.is_empty() => cookie = next,
                _ => break answer.code,
            }
        };
        let most = if limit == 0 { 40 } else { limit as usize };
        assert_eq!((end, Some(&*found)), (code, all.get(..most)), "{limit}");
    }
}

#[test]
fn the_servers_limit_cuts_what_has_been_sorted() {
    let mut limited = Site::populated("sizelimit 3");
    limited.become_("cn=root,dc=ex");
    for n in [4, 1, 3, 5, 2] {
        limited.must_add(&format!("uid={n},dc=ex"), &format!("objectClass: account\nuid: {n}"));
    }
    limited.become_("uid=1,dc=ex");
    let answer = search(&mut limited, 0, ("uid", Some("2.5.13.3"), true), None);
    assert_eq!(answer.code, 4);
    assert_eq!(
        answer.entries,
        ["dn: uid=5,dc=ex\n", "dn: uid=4,dc=ex\n", "dn: uid=3,dc=ex\n"]
    );
}

#[test]
fn a_key_needs_an_ordering_rule_or_any_equality_rule_by_name() {
    let mut site = filled(12);
    let by = |site: &mut Site, attribute, rule| {
        let answer = search(site, 0, (attribute, rule, true), None);
        assert_eq!(answer.sorted, Some(answer.code));
        (answer.code, answer.text, answer.entries.len())
    };
    let no_rule = (18, "serverSort control: No ordering rule".to_owned(), 0);
    assert_eq!(by(&mut site, "uid", None), no_rule);
    assert_eq!(by(&mut site, "uid", Some("nosuchrule")), no_rule);
    assert_eq!(by(&mut site, "uid", Some("caseIgnoreSubstringsMatch")), no_rule);
    let unknown = "serverSort control: Unrecognized attribute type in sort key".to_owned();
    assert_eq!(by(&mut site, "nosuch", None), (16, unknown, 0));
    for rule in ["caseIgnoreMatch", "2.5.13.2", "caseIgnoreOrderingMatch"] {
        let answer = search(&mut site, 2, ("uid", Some(rule), true), None);
        assert_eq!(answer.entries, ["dn: uid=9,dc=ex\n", "dn: uid=8,dc=ex\n"], "{rule}");
    }
}

#[test]
fn entries_in_memory_are_not_sorted() {
    let mut site = Site::populated("");
    let keys = [SortKey {
        attribute: b"cn",
        ordering_rule: Some(b"2.5.13.3"),
        reverse: false,
    }];
    let request = Request::Search(search_request("", Scope::BaseObject, "(objectClass=*)", &[b"1.1"]));
    let sort = SortKeys(List::new(&keys));
    let critical = site.send(&request, &[&Control::critical(sort)]);
    assert_eq!(critical.brief(), (12, "critical control unavailable in context"));
    assert_eq!(site.send(&request, &[&Control::optional(sort)]).entries, ["dn: \n"]);
}

#[test]
fn an_attribute_without_an_order_has_no_response_control_where_the_sort_is_not_critical() {
    let mut site = Site::populated("");
    let mut sorted = |attribute: &str, rule: Option<&str>, is_critical: bool| {
        let keys = [SortKey {
            attribute: attribute.as_bytes(),
            ordering_rule: rule.map(str::as_bytes),
            reverse: false,
        }];
        let keys = SortKeys(List::new(&keys));
        let request = Request::Search(search_request(
            "dc=ex",
            Scope::WholeSubtree,
            "(objectClass=*)",
            &[b"1.1"],
        ));
        let critical = Control::critical(keys);
        let optional = Control::optional(keys);
        let control: &dyn EncodeControl = if is_critical { &critical } else { &optional };
        let answer = site.send(&request, &[control]);
        (answer.code, answer.sorted, answer.entries.len() > 1)
    };
    for attribute in ["entryDN", "cn", "jpegPhoto"] {
        assert_eq!(sorted(attribute, None, false), (0, None, true), "{attribute}");
        assert_eq!(sorted(attribute, None, true), (18, Some(18), false), "{attribute}");
    }
    // Where the order can be had, or the name is wrong, the control says so (RFC 2891 §2).
    assert_eq!(sorted("cn", Some("2.5.13.3"), false), (0, Some(0), true));
    assert_eq!(sorted("createTimestamp", None, false), (0, Some(0), true));
    assert_eq!(sorted("nosuch", None, false), (0, Some(16), true));
}
