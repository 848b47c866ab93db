//! The password policy is of the account that has bound, and of its plain password.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "clippy knows test functions, but not what they call"
)]

use ironbark_harness::{DecodedAnswer, Site, TestClient};
use ironbark_ldap_proto::{
    Authentication, BindRequest, EncodeControl, ExtendedRequest, Request, Scope,
    controls::{Control, ProxiedAuthorization},
    extended::password_modify::{OID, PasswordModifyRequest},
};

const ANN: &str = "uid=ann,dc=ex";
const BOB: &str = "uid=bob,dc=ex";
const RESTRICTED: (u32, &str) = (
    50,
    "Operations are restricted to bind/unbind/abandon/StartTLS/modify password",
);
const AS_ANN: Control<ProxiedAuthorization<'_>> = Control::critical(ProxiedAuthorization(b"dn:uid=ann,dc=ex"));
const AS_BOB: Control<ProxiedAuthorization<'_>> = Control::critical(ProxiedAuthorization(b"dn:uid=bob,dc=ex"));

/// Ann may act for Bob.
fn site(policy: &str) -> Site {
    let global = "authz-policy to\nsasl-secprops none\nauthz-regexp uid=([^,]+),cn=([^,]+,)?cn=auth uid=$1,dc=ex";
    let lines = "overlay ppolicy\nppolicy_default cn=policy,dc=ex\n\
        access to attrs=userPassword by self =wx by dn.exact=uid=bob,dc=ex =wx by anonymous auth by * none\n\
        access to * by users write by * read";
    let make = std::sync::Arc::new(ironbark_overlays::make);
    let mut site = Site::open_all(&ironbark_overlays::registry(), global, lines, make);
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    let text = format!("objectClass: device\nobjectClass: pwdPolicy\n{policy}\npwdAttribute: userPassword");
    site.must_add("cn=policy,dc=ex", &text);
    let person = "objectClass: inetOrgPerson\ncn: x\nsn: s\nuserPassword: first";
    site.must_add(ANN, &format!("{person}\nauthzTo: dn:{BOB}\nauthzTo: dn:{ANN}"));
    site.must_add(BOB, person);
    site
}

fn bind(client: &mut TestClient, authentication: Authentication<'_>) -> u32 {
    let is_simple = matches!(authentication, Authentication::Simple(_));
    let request = BindRequest {
        version: 3,
        name: if is_simple { ANN.as_bytes() } else { b"" },
        authentication,
    };
    client.send(&Request::Bind(request), &[]).code
}

fn simple(client: &mut TestClient, password: &str) -> u32 {
    bind(client, Authentication::Simple(password.as_bytes()))
}

/// Binds as Ann, with an authorization identity.
fn plain(client: &mut TestClient, authorization: &str, password: &str) -> u32 {
    let message = format!("{authorization}\0ann\0{password}");
    let authentication = Authentication::Sasl {
        mechanism: b"PLAIN",
        credentials: Some(message.as_bytes()),
    };
    bind(client, authentication)
}

fn change(client: &mut TestClient, dn: &str, controls: &[&dyn EncodeControl]) -> DecodedAnswer {
    client.modify_with(dn, "replace: userPassword\nu: second", controls)
}

fn change_by_operation(client: &mut TestClient, dn: &str, controls: &[&dyn EncodeControl]) -> DecodedAnswer {
    let request = PasswordModifyRequest {
        user_identity: Some(dn.as_bytes()),
        old_password: None,
        new_password: Some(b"second"),
    };
    let mut value = Vec::new();
    request.encode(&mut value);
    let request = ExtendedRequest {
        name: OID.as_bytes(),
        value: Some(&value),
    };
    client.send(&Request::Extended(request), controls)
}

fn is_restricted(client: &mut TestClient) -> bool {
    let read = client.search_as_self("dc=ex", Scope::BaseObject, "(objectClass=*)", &["*"]);
    read.brief() == RESTRICTED
}

/// A site whose administrator has reset Ann's password.
fn reset() -> Site {
    let mut site = site("pwdMustChange: TRUE");
    assert_eq!(site.modify(ANN, "replace: userPassword\nu: reset").code, 0);
    site
}

#[test]
fn nothing_done_in_another_name_lifts_the_restriction_of_a_connection() {
    let site = reset();
    let mut ann = site.connect();
    assert_eq!(simple(&mut ann, "reset"), 0);
    for change in [change, change_by_operation] {
        // slapd makes the change, and lifts the restriction.
        assert_eq!(change(&mut ann, BOB, &[&AS_BOB]).brief(), RESTRICTED);
        assert_eq!(change(&mut ann, BOB, &[]).code, 50);
        assert!(is_restricted(&mut ann));
    }
    let other = ann.modify_with(BOB, "replace: sn\ns: x", &[&AS_BOB]);
    assert_eq!(other.brief(), RESTRICTED);
    assert_eq!(change(&mut ann, ANN, &[&AS_BOB]).brief(), (0, ""));
    assert!(is_restricted(&mut ann), "Bob has changed it");
    assert_eq!(change(&mut ann, ANN, &[&AS_ANN]).brief(), (0, ""));
    assert!(!is_restricted(&mut ann));
}

#[test]
fn an_authorization_identity_does_not_evade_the_restriction() {
    let site = reset();
    let mut ann = site.connect();
    assert_eq!(plain(&mut ann, &format!("dn:{BOB}"), "reset"), 0);
    assert!(is_restricted(&mut ann));
    assert_eq!(change(&mut ann, BOB, &[]).brief(), RESTRICTED);
    assert!(is_restricted(&mut ann));
    assert_eq!(plain(&mut ann, "", "reset"), 0);
    assert!(is_restricted(&mut ann));
    assert_eq!(change(&mut ann, ANN, &[]).brief(), (0, ""));
    assert!(!is_restricted(&mut ann));
}

#[test]
fn a_connection_lifts_no_restriction_of_another_one() {
    let site = reset();
    let (mut first, mut second) = (site.connect(), site.connect());
    for client in [&mut first, &mut second] {
        assert_eq!(simple(client, "reset"), 0);
    }
    assert_eq!(change(&mut first, ANN, &[]).brief(), (0, ""));
    assert!(!is_restricted(&mut first));
    assert!(is_restricted(&mut second), "until it binds again");
    assert_eq!(simple(&mut second, "second"), 0);
    assert!(!is_restricted(&mut second));
}

#[test]
fn a_password_with_options_evades_no_policy() {
    let mut site = site("pwdMinLength: 8\npwdCheckQuality: 2\npwdLockout: TRUE\npwdMaxFailure: 2");
    let mut ann = site.connect();
    assert_eq!(simple(&mut ann, "first"), 0);
    let short = ann.modify(ANN, "add: userPassword\nu: abc");
    assert_eq!(short.code, 19);
    assert_eq!(ann.modify(ANN, "add: userPassword;lang-de\nu: abc").code, 0);
    let mut other = site.connect();
    assert_eq!(simple(&mut other, "abc"), 49);
    assert_eq!(plain(&mut other, "", "abc"), 49);
    let failures = site.read(ANN, &["pwdFailureTime"]).unwrap();
    assert!(failures.contains("pwdFailureTime: "), "{failures}");
    assert_eq!(simple(&mut other, "first"), 49, "locked");
    assert_eq!(site.modify(ANN, "delete: userPassword").code, 0);
    assert_eq!(simple(&mut other, "abc"), 49);
}
