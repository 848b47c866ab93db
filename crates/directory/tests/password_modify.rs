//! Password modify: the user, the old password, schemes, generated passwords.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use ironbark_directory::password;
use ironbark_harness::{DecodedAnswer, Site};
use ironbark_ldap_proto::{
    ExtendedRequest, Request,
    extended::password_modify::{OID, PasswordModifyRequest, decode_generated_password},
};

const A: &str = "cn=a,ou=p,dc=ex";

fn change(site: &mut Site, request: &PasswordModifyRequest<'_>) -> DecodedAnswer {
    let mut value = Vec::new();
    request.encode(&mut value);
    site.send(
        &Request::Extended(ExtendedRequest {
            name: OID.as_bytes(),
            value: Some(&value),
        }),
        &[],
    )
}

fn of<'a>(user: &'a str, old: Option<&'a str>, new: Option<&'a str>) -> PasswordModifyRequest<'a> {
    PasswordModifyRequest {
        user_identity: (!user.is_empty()).then_some(user.as_bytes()),
        old_password: old.map(str::as_bytes),
        new_password: new.map(str::as_bytes),
    }
}

fn stored(site: &mut Site) -> Vec<Vec<u8>> {
    let text = site.read(A, &["userPassword"]).expect("there");
    text.lines()
        .filter_map(|line| line.strip_prefix("userPassword: "))
        .map(|value| value.as_bytes().to_vec())
        .collect()
}

#[test]
fn a_new_password_replaces_the_old_ones_hashed() {
    let mut site = Site::populated("");
    assert_eq!(site.modify(A, "add: userPassword\nu: one\nu: two").code, 0);
    assert_eq!(change(&mut site, &of(A, None, Some("fresh"))).brief(), (0, ""));
    let values = stored(&mut site);
    assert_eq!(values.len(), 1);
    assert!(values[0].starts_with(b"{SSHA}") && password::verify(&values[0], b"fresh"));
}

#[test]
fn the_old_password_is_verified_when_given() {
    let mut site = Site::populated("");
    assert_eq!(change(&mut site, &of(A, None, Some("one"))).code, 0);
    let refused = (53, "unwilling to verify old password");
    assert_eq!(change(&mut site, &of(A, Some("wrong"), Some("two"))).brief(), refused);
    assert_eq!(
        change(&mut site, &of("cn=b,ou=p,dc=ex", Some("one"), Some("two"))).brief(),
        refused
    );
    assert_eq!(change(&mut site, &of(A, Some("one"), Some("two"))).brief(), (0, ""));
    assert!(password::verify(&stored(&mut site)[0], b"two"));
}

#[test]
fn the_server_makes_a_password_and_tells_it() {
    let mut site = Site::populated("");
    let answer = change(&mut site, &of(A, None, None));
    assert_eq!(answer.brief(), (0, ""));
    let value = answer.value.expect("a value");
    let made = decode_generated_password(&value).expect("decodes").expect("made");
    assert_eq!(made.len(), 8);
    assert!(password::verify(&stored(&mut site)[0], made));
}

#[test]
fn users_change_their_own_under_the_access_rules() {
    let mut site = Site::populated("access to attrs=userPassword by self write by * none\naccess to * by * read");
    site.become_(A);
    assert_eq!(change(&mut site, &of("", None, Some("mine"))).brief(), (0, ""));
    assert_eq!(
        change(&mut site, &of("cn=b,ou=p,dc=ex", None, Some("x"))).brief(),
        (50, "")
    );
    site.become_("");
    let refused = (8, "only authenticated users may change passwords");
    assert_eq!(change(&mut site, &of(A, None, Some("x"))).brief(), refused);
}

#[test]
fn names_without_an_entry_are_refused() {
    let mut site = Site::populated("");
    // As in slapd, an authorization identity is no name.
    for wrong in ["nonsense", &format!("dn:{A}"), "dn:", "u:a", "cn=a,,dc=ex"] {
        let answer = change(&mut site, &of(wrong, None, Some("x")));
        assert_eq!(answer.brief(), (21, "Invalid DN"), "{wrong}");
    }
    // The rootdn's password stands in the configuration.
    let answer = change(&mut site, &of("", None, Some("x")));
    assert_eq!(
        (answer.code, &*answer.matched_dn),
        (32, ""),
        "slapd names no superior here"
    );
    assert_eq!(
        change(&mut site, &of("dc=other", None, Some("x"))).brief(),
        (80, "no authz backend")
    );
}
