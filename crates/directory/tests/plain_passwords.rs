//! Only the values of plain `userPassword` are passwords, as for slapd and for the overlays that judge passwords.
#![allow(clippy::expect_used, reason = "clippy knows test functions, but not what they call")]

use ironbark_harness::{Site, TestClient};
use ironbark_ldap_proto::{
    Authentication, BindRequest, ExtendedRequest, Request,
    extended::password_modify::{OID, PasswordModifyRequest},
};

const GLOBAL: &str = "attributetype ( 1.3.6.1.4.1.4203.666.1.77 NAME 'secondPassword' SUP userPassword )\n\
    sasl-secprops none\nauthz-regexp uid=([^,]+),cn=([^,]+,)?cn=auth uid=$1,dc=ex";
const ACCESS: &str = "access to * by * write";
const U: &str = "uid=u,dc=ex";
const WRONG: u32 = 49;

fn bind(client: &mut TestClient, authentication: Authentication<'_>) -> u32 {
    let name = match authentication {
        Authentication::Simple(_) => U,
        _ => "",
    };
    let request = BindRequest {
        version: 3,
        name: name.as_bytes(),
        authentication,
    };
    client.send(&Request::Bind(request), &[]).code
}

fn plain(client: &mut TestClient, password: &str) -> u32 {
    let message = format!("\0u\0{password}");
    let authentication = Authentication::Sasl {
        mechanism: b"PLAIN",
        credentials: Some(message.as_bytes()),
    };
    bind(client, authentication)
}

fn change(client: &mut TestClient, old: &str) -> u32 {
    let request = PasswordModifyRequest {
        user_identity: Some(U.as_bytes()),
        old_password: Some(old.as_bytes()),
        new_password: Some(b"first"),
    };
    let mut value = Vec::new();
    request.encode(&mut value);
    let request = ExtendedRequest {
        name: OID.as_bytes(),
        value: Some(&value),
    };
    client.send(&Request::Extended(request), &[]).code
}

#[test]
fn a_value_with_options_or_of_a_subtype_is_no_password() {
    let mut site = Site::open_globally(GLOBAL, ACCESS);
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    let passwords = "userPassword: first\nuserPassword;lang-de: german\nsecondPassword: second";
    let text = format!("objectClass: inetOrgPerson\nobjectClass: extensibleObject\ncn: U\nsn: s\n{passwords}");
    site.must_add(U, &text);
    let mut client = site.connect();
    for (password, is_right) in [("first", true), ("german", false), ("second", false)] {
        let expected = if is_right { 0 } else { WRONG };
        let simple = Authentication::Simple(password.as_bytes());
        assert_eq!(bind(&mut client, simple), expected, "{password}");
        assert_eq!(plain(&mut client, password), expected, "{password}");
        client.become_(U);
        assert_eq!(change(&mut client, password) == 0, is_right, "{password}");
    }
    assert_eq!(site.modify(U, "delete: userPassword").code, 0);
    for password in ["first", "german", "second"] {
        assert_eq!(bind(&mut client, Authentication::Simple(password.as_bytes())), WRONG);
        assert_eq!(plain(&mut client, password), WRONG, "{password}");
    }
}
