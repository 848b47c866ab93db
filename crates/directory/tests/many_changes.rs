//! Requests with many changes: their time is in proportion to their length. If each change looked at all values, each
//! of these requests would take minutes.

use std::fmt::Write as _;

use ironbark_harness::Site;
use ironbark_ldap_proto::controls::{Control, PermissiveModify};

const A: &str = "cn=a,ou=p,dc=ex";

/// Lines `name: value` with numbers in the values.
fn lines(name: &str, prefix: &str, numbers: std::ops::Range<usize>) -> String {
    numbers.fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{name}: {prefix}{number}");
        text
    })
}

/// A change for each number, `@` standing for it.
fn changes(one: &str, numbers: std::ops::Range<usize>) -> String {
    let changes: Vec<_> = numbers.map(|number| one.replace('@', &number.to_string())).collect();
    changes.join("\n-\n")
}

/// A site with an entry that counts from 1 up to a number.
fn counting(to: usize) -> Site {
    let mut site = Site::populated("");
    let counts = lines("count", "", 1..to + 1);
    site.must_add(
        "cn=n,dc=ex",
        &format!("objectClass: person\nobjectClass: counter\nsn: s\n{counts}"),
    );
    site
}

#[test]
fn increments_of_an_attribute_with_many_values() {
    let mut site = counting(20_000);
    let text = changes("increment: count\ncount: 1", 0..24);
    assert_eq!(site.modify("cn=n,dc=ex", &text).brief(), (0, ""));
    let expected = lines("count", "", 25..20_025);
    assert!(site.read("cn=n,dc=ex", &["count"]) == Some(expected));
}

/// RFC 4525 §3.
#[test]
fn increments_that_change_more_values_than_one_request_may_are_refused() {
    let mut site = counting(2_000);
    let before = site.stored("cn=n,dc=ex");
    let text = changes("increment: count\ncount: 1", 0..60_000);
    assert_eq!(
        site.modify("cn=n,dc=ex", &text).brief(),
        (11, "operation takes too much work")
    );
    assert!(site.stored("cn=n,dc=ex") == before);
}

#[test]
fn values_that_are_added_and_deleted_one_by_one() {
    let mut site = Site::populated("index description eq");
    let text = format!(
        "{}\n-\n{}\n-\n{}",
        changes("add: description\nd: V@", 0..30_000),
        changes("delete: description\nd: v@", 1..29_990),
        changes("replace: sn\nsn: @", 0..1_000),
    );
    assert_eq!(site.modify(A, &text).brief(), (0, ""));
    let left = format!("description: V0\n{}", lines("description", "V", 29_990..30_000));
    assert_eq!(site.read(A, &["description", "sn"]), Some(format!("{left}sn: 999\n")));
}

#[test]
fn values_that_come_and_go_beside_many_stored_ones() {
    let mut site = Site::populated("index description eq");
    assert_eq!(
        site.modify(A, &format!("add: description\n{}", lines("d", "V", 0..100)))
            .brief(),
        (0, "")
    );
    let one = "delete: description\nd: v@\n-\nadd: description\nd: W@\n-\nreplace: sn\nsn: @\n-\nadd: sn\nsn: @x";
    assert_eq!(site.modify(A, &changes(one, 0..100)).brief(), (0, ""));
    assert_eq!(site.read(A, &["description"]), Some(lines("description", "W", 0..100)),);
    assert_eq!(site.modify(A, "replace: description\nd: last").brief(), (0, ""));
    assert_eq!(site.read(A, &["sn"]).as_deref(), Some("sn: 99\nsn: 99x\n"));
}

#[test]
fn values_beside_a_long_stored_one() {
    let mut site = Site::populated("");
    let long = "x".repeat(8 << 20);
    let text = format!("add: description\nd: {long}");
    assert_eq!(site.modify(A, &text).brief(), (0, ""));
    let text = format!("add: description\n{}", lines("d", "v", 0..60_000));
    assert_eq!(site.modify(A, &text).brief(), (0, ""));
    let text = format!("delete: description\n{}", lines("d", "V", 0..59_999));
    assert_eq!(site.modify(A, &text).brief(), (0, ""));
    let text = changes("add: description\nd: @\n-\ndelete: description\nd: @", 0..30_000);
    assert_eq!(site.modify(A, &text).brief(), (0, ""));
    let expected = format!("description: {long}\ndescription: v59999\n");
    assert!(site.read(A, &["description"]) == Some(expected));
}

#[test]
fn values_whose_normal_form_is_that_of_a_long_stored_one() {
    let permissive = Control::critical(PermissiveModify);
    let long = format!("x{}y", " ".repeat(4 << 20));
    for others in [0, 200] {
        let mut site = Site::populated("index description eq");
        let others = lines("d", "a value among others ", 0..others);
        let text = format!("add: description\nd: {long}\n{others}");
        assert_eq!(site.modify(A, &text).brief(), (0, ""));
        let text = changes("add: description\nd: x y", 0..30_000);
        assert_eq!(site.modify_with(A, &text, &[&permissive]).brief(), (0, ""));
        let text = changes("delete: description\nd: x y\n-\nadd: description\nd: x  y", 0..15_000);
        let text = format!("{text}\n-\ndelete: description\nd: x y\n-\nadd: description\nd: {long}");
        assert_eq!(site.modify(A, &text).brief(), (0, ""));
    }
}

#[test]
fn descriptions_that_nobody_has_used_before() {
    let mut site = Site::populated("index title eq");
    let mut text = "objectClass: person\nobjectClass: extensibleObject\nsn: s\n".to_owned();
    for number in 0..30_000 {
        let _ = writeln!(text, "title;lang-y{number}: t");
    }
    site.must_add("cn=t,dc=ex", &text);
    let text = changes("replace: title;lang-y@\nt: u", 0..30_000);
    assert_eq!(site.modify("cn=t,dc=ex", &text).brief(), (0, ""));
    assert_eq!(
        site.read("cn=t,dc=ex", &["title;lang-y29999"]).as_deref(),
        Some("title;lang-y29999: u\n")
    );
}
