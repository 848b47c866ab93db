//! The overlay authzid: RFC 3829.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use ironbark_harness::{DecodedAnswer, Site, TestClient};
use ironbark_ldap_proto::{Authentication, BindRequest, EncodeControl, Request, controls::Control};
use ironbark_overlays::authzid::AuthorizationIdentityRequest;

const USER: &str = "cn=U,dc=ex";

fn site(lines: &str) -> Site {
    let mut site = Site::open_of(&ironbark_overlays::registry(), lines, ironbark_overlays::make);
    site.populate();
    site.must_add(USER, "objectClass: person\nsn: s\nuserPassword: secret");
    // PBKDF2 of "secret", a slow hash.
    let slow = "{PBKDF2-SHA256}1000$c2FsdHNhbHQ$hgR9HsqtKupWxpnv8y99TrPDajTT/9PcSTlNafpdLXQ";
    site.must_add(
        "cn=slow,dc=ex",
        &format!("objectClass: person\nsn: s\nuserPassword: {slow}"),
    );
    site
}

fn with_overlay(lines: &str) -> Site {
    site(&format!("{lines}\ndatabase frontend\noverlay authzid"))
}

fn bind(client: &mut TestClient, name: &str, password: &str, controls: &[&dyn EncodeControl]) -> DecodedAnswer {
    let request = BindRequest {
        version: 3,
        name: name.as_bytes(),
        authentication: Authentication::Simple(password.as_bytes()),
    };
    client.send(&Request::Bind(request), controls)
}

/// The code, and the identity of the response.
fn told(client: &mut TestClient, name: &str, password: &str) -> (u32, Option<String>) {
    let ask = Control::critical(AuthorizationIdentityRequest);
    let answer = bind(client, name, password, &[&ask]);
    let identity = answer.expiry.map(|shown| {
        let (oid, value) = shown.split_once(' ').expect("an OID and a value");
        assert_eq!(oid, "2.16.840.1.113730.3.4.15");
        value.to_owned()
    });
    (answer.code, identity)
}

#[test]
fn a_bind_tells_the_identity_to_who_asks() {
    for lines in ["", "overlay lastbind", "overlay ppolicy", "overlay otp"] {
        let mut site = with_overlay(lines);
        let identity = |name: &str| (0, Some(name.to_owned()));
        assert_eq!(told(&mut site, "", ""), identity(""), "{lines}");
        assert_eq!(told(&mut site, USER, "secret"), identity("dn:cn=U,dc=ex"), "{lines}");
        assert_eq!(
            told(&mut site, "cn=root,dc=ex", "secret"),
            identity("dn:cn=root,dc=ex"),
            "{lines}"
        );
        assert_eq!(
            told(&mut site, "cn=slow,dc=ex", "secret"),
            identity("dn:cn=slow,dc=ex"),
            "{lines}"
        );
        assert_eq!(told(&mut site, USER, "wrong"), (49, None), "{lines}");
        assert_eq!(told(&mut site, "cn=nobody,dc=ex", "secret"), (49, None), "{lines}");
        assert_eq!(
            bind(&mut site, USER, "secret", &[]).expiry,
            None,
            "{lines}: nobody asks"
        );
    }
}

#[test]
fn without_the_overlay_there_is_no_such_control() {
    let mut site = site("");
    assert_eq!(told(&mut site, USER, "secret"), (12, None));
    let ask = Control::optional(AuthorizationIdentityRequest);
    assert_eq!(bind(&mut site, USER, "secret", &[&ask]).expiry, None);
}
