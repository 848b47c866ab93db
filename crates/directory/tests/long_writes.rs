//! Writes that take long to read: they are read elsewhere than on the reactor, by who may write at all, and within a limit.

mod harness;

use harness::Site;

/// A character that is normalized to eighteen.
const PHRASE: &str = "\u{fdfa}";
const A: &str = "cn=a,ou=p,dc=ex";

fn replace(count: usize) -> String {
    format!("replace: description\ndescription: {}", PHRASE.repeat(count))
}

#[test]
fn they_are_carried_out_as_others_are() {
    let mut site = Site::populated("");
    assert_eq!(site.modify(A, &replace(3_000)).brief(), (0, ""));
    let stored = site.stored(A).expect("an entry");
    assert!(stored.contains(&PHRASE.repeat(3_000)));
    let text = format!("objectClass: person\nsn: s\ndescription: {}", PHRASE.repeat(3_000));
    assert_eq!(site.add("cn=z,ou=p,dc=ex", &text).code, 0);
    assert_eq!(site.add("cn=z,ou=p,dc=ex", &text).code, 68);
    // What their syntax forbids is said all the same.
    let unknown = replace(3_000).replace("replace: description", "replace: nope");
    assert_eq!(site.modify(A, &unknown).code, 17);
    assert_eq!(site.modify("dc=elsewhere", &replace(3_000)).code, 53);
}

#[test]
fn who_may_write_nothing_is_refused_before_they_are_read() {
    let mut site = Site::populated("access to * by * write");
    site.become_("");
    let answer = site.modify(A, &replace(3_000).replace("replace: description", "replace: nope"));
    assert_eq!(answer.brief(), (8, "modifications require authentication"));
}

#[test]
fn there_is_a_limit_to_what_the_writer_would_have_to_normalize() {
    let mut site = Site::populated("");
    assert_eq!(
        site.modify(A, &replace(100_001)).brief(),
        (11, "operation takes too much work")
    );
}
