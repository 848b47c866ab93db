//! The overlay totp, of OpenLDAP's module pw-totp.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use ironbark_harness::{Site, TestClient};
use ironbark_ldap_proto::{
    Authentication, BindRequest, CompareRequest, ExtendedRequest, Request,
    extended::password_modify::{OID, PasswordModifyRequest},
};

const USER: &str = "cn=u,dc=ex";
/// The secret of RFC 6238 appendix B in base32.
const KEY: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
/// Its codes of SHA-1 from three steps before the one at which sites begin.
const CODES: [&str; 9] = [
    "632048", "594060", "391022", "652348", "751330", "366299", "212808", "173758", "737718",
];

fn code(offset: i64) -> &'static str {
    CODES.get(usize::try_from(offset + 3).unwrap()).unwrap()
}

fn site_of(lines: &str, password: &str) -> Site {
    let mut site = Site::open_of(&ironbark_overlays::registry(), lines, ironbark_overlays::make);
    site.populate();
    site.must_add(USER, &format!("objectClass: person\nsn: s\n{}", passwords(password)));
    site
}

fn passwords(stored: &str) -> String {
    let lines: Vec<_> = stored
        .split(' ')
        .map(|value| format!("userPassword: {value}"))
        .collect();
    lines.join("\n")
}

fn site(password: &str) -> Site {
    site_of("overlay totp", password)
}

fn bind(client: &mut TestClient, password: &str) -> u32 {
    let request = BindRequest {
        version: 3,
        name: USER.as_bytes(),
        authentication: Authentication::Simple(password.as_bytes()),
    };
    let code = client.send(&Request::Bind(request), &[]).code;
    client.become_("cn=root,dc=ex");
    code
}

fn next_step(site: &Site) {
    site.clock.advance(Duration::from_secs(30));
}

#[test]
fn a_code_counts_once() {
    let mut site = site(&format!("{{TOTP1}}{KEY}"));
    for wrong in ["", "x", KEY, code(-1), code(1), "652349", "65234", "0652348", "x652348"] {
        assert_eq!(
            bind(&mut site, wrong),
            if wrong.is_empty() { 53 } else { 49 },
            "{wrong}"
        );
    }
    assert_eq!(bind(&mut site, code(0)), 0);
    assert_eq!(bind(&mut site, code(0)), 49, "it was used");
    assert!(site.read(USER, &["authTimestamp"]).unwrap().contains("authTimestamp: "));
    next_step(&site);
    assert_eq!(bind(&mut site, code(0)), 49, "it is the one that was used");
    assert_eq!(bind(&mut site, code(1)), 0);
    next_step(&site);
    next_step(&site);
    assert_eq!(bind(&mut site, code(1)), 49);
    assert_eq!(bind(&mut site, code(2)), 0, "that of the step before");
    assert_eq!(bind(&mut site, code(3)), 49, "the step has a code that was used");
}

#[test]
fn each_scheme_has_its_function() {
    // Made with Python's hmac.
    for (scheme, code) in [("TOTP256", "481948"), ("TOTP512", "630832"), ("totp1", code(0))] {
        let mut site = site(&format!("{{{scheme}}}{KEY}"));
        assert_eq!(bind(&mut site, code), 0, "{scheme}");
    }
}

#[test]
fn a_password_stands_before_the_code() {
    for inner in ["pw", "{SSHA}vFSAXA44/mvza7sDF+k4l4Poy21zYWx0c2FsdA==", "{CLEARTEXT}pw"] {
        let mut site = site(&format!("{{TOTP1ANDPW}}{KEY}|{inner}"));
        let right = format!("pw{}", code(0));
        for wrong in ["pw", "pw000000", "x"] {
            assert_eq!(bind(&mut site, wrong), 49, "{inner} {wrong}");
        }
        assert_eq!(bind(&mut site, &right), 0, "{inner}");
        assert_eq!(bind(&mut site, &right), 49, "{inner}");
        next_step(&site);
        assert_eq!(bind(&mut site, &format!("wrong{}", code(1))), 49, "{inner}");
        assert_eq!(
            bind(&mut site, &format!("pw{}", code(1))),
            49,
            "{inner}: used up with a wrong password"
        );
    }
}

#[test]
fn an_empty_password_behind_a_key_is_none() {
    let mut site = site(&format!("{{TOTP1ANDPW}}{KEY}|"));
    assert_eq!(bind(&mut site, code(0)), 49);
}

#[test]
fn other_passwords_of_the_entry_stay_as_they_are() {
    let mut site = site(&format!("{{TOTP1}}{KEY} plain"));
    assert_eq!(bind(&mut site, "plain"), 0);
    assert_eq!(site.read(USER, &["authTimestamp"]).as_deref(), Some(""));
    assert_eq!(bind(&mut site, code(0)), 0);
    assert_eq!(bind(&mut site, "plain"), 0);
    assert_eq!(
        bind(&mut site, &format!("{{TOTP1}}{KEY}")),
        49,
        "the value is no password"
    );
}

/// Everything but a simple bind in a database with the overlay.
#[test]
fn a_key_verifies_nothing_elsewhere() {
    for (lines, stored) in [
        ("", format!("{{TOTP1}}{KEY}")),
        ("", format!("{{TOTP1ANDPW}}{KEY}|pw")),
        ("overlay lastbind", format!("{{TOTP1ANDPW}}{KEY}|pw")),
        ("overlay ppolicy", format!("{{TOTP1ANDPW}}{KEY}|pw")),
        ("overlay totp", format!("{{TOTP1ANDPW}}{KEY}|pw")),
        ("overlay totp", format!("{{TOTP1ANDPW}}{KEY}|{{TOTP1}}{KEY}")),
    ] {
        let mut site = site_of(lines, &stored);
        for presented in ["pw", code(0), "pw652348", &stored] {
            if lines != "overlay totp" {
                assert_eq!(bind(&mut site, presented), 49, "{lines} {presented}");
            }
            let request = CompareRequest {
                entry: USER.as_bytes(),
                attribute: b"userPassword",
                value: presented.as_bytes(),
            };
            let compared = site.send(&Request::Compare(request), &[]).code;
            assert_eq!(compared, if presented == stored { 6 } else { 5 }, "{lines} {presented}");
            let change = PasswordModifyRequest {
                user_identity: Some(USER.as_bytes()),
                old_password: Some(presented.as_bytes()),
                new_password: Some(b"new"),
            };
            let mut value = Vec::new();
            change.encode(&mut value);
            let request = ExtendedRequest {
                name: OID.as_bytes(),
                value: Some(&value),
            };
            assert_eq!(
                site.send(&Request::Extended(request), &[]).code,
                53,
                "{lines} {presented}"
            );
        }
    }
}

#[test]
fn a_value_that_the_client_has_no_access_to_does_not_count() {
    let mut site = site_of(
        "overlay totp\naccess to attrs=userPassword by * none\naccess to * by * read",
        &format!("{{TOTP1}}{KEY}"),
    );
    assert_eq!(bind(&mut site, code(0)), 49);
}

#[test]
fn failures_count_for_a_password_policy() {
    let mut site = site_of(
        "overlay totp\noverlay ppolicy\nppolicy_default cn=policy,dc=ex",
        &format!("{{TOTP1ANDPW}}{KEY}|pw"),
    );
    site.must_add(
        "cn=policy,dc=ex",
        "objectClass: device\nobjectClass: pwdPolicy\npwdAttribute: userPassword\npwdLockout: TRUE\npwdMaxFailure: 2",
    );
    for _ in 0..2 {
        assert_eq!(bind(&mut site, "pw000000"), 49);
    }
    assert_eq!(bind(&mut site, &format!("pw{}", code(0))), 49, "locked");
    assert!(
        site.read(USER, &["pwdAccountLockedTime"])
            .unwrap()
            .contains("pwdAccountLockedTime: ")
    );
}
