//! Verify Credentials (module vc): a bind beside the session of the connection.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

use std::sync::Arc;

use ironbark_directory::Started;
use ironbark_harness::{DecodedAnswer, Site, TestClient};
use ironbark_ldap_proto::{
    Authentication, BindRequest, DecodeLimits, ExtendedRequest, List, MessageId, RawControl, Request, Response,
    ResponseMessage, Scope,
    controls::{ControlValue as _, PasswordPolicyError as Error, PasswordPolicyRequest, PasswordPolicyResponse},
    extended::{
        password_modify::{self, PasswordModifyRequest},
        start_tls,
        verify_credentials::{OID, VerifyCredentialsRequest, VerifyCredentialsResponse},
        who_am_i,
    },
    message::encode_request,
};
use ironbark_overlays::authzid::AuthorizationIdentity;

const U: &str = "uid=u,dc=ex";
const ROOT: &str = "cn=root,dc=ex";
const ACCESS: &str = "\naccess to attrs=userPassword by anonymous auth by * none\naccess to * by * read";
const AUTHZID: &str = "2.16.840.1.113730.3.4.16";

/// What a request is answered with: result code and text of the operation, and those of the bind with what it gave.
#[derive(Debug, PartialEq, Default)]
struct Verified {
    code: u32,
    text: String,
    bind: Option<Bind>,
}

#[derive(Debug, PartialEq, Default)]
struct Bind {
    code: u32,
    text: String,
    cookie: Option<Vec<u8>>,
    data: Option<Vec<u8>>,
    /// OID and value.
    controls: Vec<(String, Vec<u8>)>,
}

/// With settings of the server, and of its database.
fn site_with(global: &str, lines: &str) -> Site {
    let global = format!("moduleload vc.la\n{global}\n");
    let overlays = Arc::new(ironbark_overlays::make);
    let mut site = Site::open_all(&ironbark_overlays::registry(), &global, lines, overlays);
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    site.must_add(U, "objectClass: inetOrgPerson\ncn: U\nsn: s\nuserPassword: first");
    site
}

fn site(lines: &str) -> Site {
    site_with("", lines)
}

fn simple<'a>(name: &'a str, password: &'a str) -> VerifyCredentialsRequest<'a> {
    VerifyCredentialsRequest {
        cookie: None,
        name: name.as_bytes(),
        authentication: Authentication::Simple(password.as_bytes()),
        controls: List::default(),
    }
}

fn sasl<'a>(cookie: Option<&'a [u8]>, mechanism: &'a str, message: Option<&'a [u8]>) -> VerifyCredentialsRequest<'a> {
    VerifyCredentialsRequest {
        cookie,
        name: b"",
        authentication: Authentication::Sasl {
            mechanism: mechanism.as_bytes(),
            credentials: message,
        },
        controls: List::default(),
    }
}

fn ask(client: &mut TestClient, request: &VerifyCredentialsRequest<'_>) -> Verified {
    let mut value = Vec::new();
    request.encode(&mut value);
    ask_raw(client, Some(&value))
}

fn ask_raw(client: &mut TestClient, value: Option<&[u8]>) -> Verified {
    let request = ExtendedRequest {
        name: OID.as_bytes(),
        value,
    };
    verified(&client.send_for_octets(&Request::Extended(request), &[]))
}

fn verified(octets: &[u8]) -> Verified {
    let message = ResponseMessage::decode(octets, &DecodeLimits::default()).expect("one message");
    let Response::Extended(response) = message.operation else {
        panic!("{message:?}");
    };
    assert_eq!(response.name, None);
    let text = |octets: &[u8]| String::from_utf8(octets.to_vec()).unwrap();
    let bind = response.value.map(|value| {
        let bind = VerifyCredentialsResponse::decode(value).expect("a response");
        Bind {
            code: bind.code.0,
            text: text(bind.diagnostic_message),
            cookie: bind.cookie.map(<[u8]>::to_vec),
            data: bind.server_sasl_credentials.map(<[u8]>::to_vec),
            controls: bind
                .controls
                .iter()
                .map(|control| (text(control.oid), control.value.unwrap_or_default().to_vec()))
                .collect(),
        }
    });
    Verified {
        code: response.result.code.0,
        text: text(response.result.diagnostic_message),
        bind,
    }
}

/// Result code alone; that of the operation and that of the bind are the same.
fn code(client: &mut TestClient, name: &str, password: &str) -> u32 {
    let verified = ask(client, &simple(name, password));
    let bind = verified.bind.expect("a bind was tried");
    assert_eq!((bind.code, &bind.text), (verified.code, &verified.text));
    verified.code
}

fn who(client: &mut TestClient) -> String {
    let request = ExtendedRequest {
        name: who_am_i::OID.as_bytes(),
        value: None,
    };
    let answer = client.send(&Request::Extended(request), &[]);
    assert_eq!(answer.code, 0, "{answer:?}");
    String::from_utf8(answer.value.unwrap_or_default()).unwrap()
}

fn bind_as(client: &mut TestClient, name: &str, password: &str) -> DecodedAnswer {
    bind_with(client, name, Authentication::Simple(password.as_bytes()))
}

fn bind_with(client: &mut TestClient, name: &str, authentication: Authentication<'_>) -> DecodedAnswer {
    let request = BindRequest {
        version: 3,
        name: name.as_bytes(),
        authentication,
    };
    client.send(&Request::Bind(request), &[])
}

fn set_password(client: &mut TestClient, password: &str) {
    let mut value = Vec::new();
    PasswordModifyRequest {
        user_identity: Some(U.as_bytes()),
        old_password: None,
        new_password: Some(password.as_bytes()),
    }
    .encode(&mut value);
    let request = ExtendedRequest {
        name: password_modify::OID.as_bytes(),
        value: Some(&value),
    };
    assert_eq!(client.send(&Request::Extended(request), &[]).code, 0);
}

#[test]
fn there_is_none_without_the_module() {
    let mut site = Site::open_of(&ironbark_overlays::registry(), ACCESS, ironbark_overlays::make);
    site.populate();
    let refused = ask(&mut site, &simple(U, "first"));
    assert_eq!((refused.code, &*refused.text), (2, "unsupported extended operation"));
    let listed = |site: &mut Site| site.search("", Scope::BaseObject, "(objectClass=*)", &["supportedExtension"]);
    assert!(!listed(&mut site).concat().contains(OID));
    let mut site = self::site(ACCESS);
    assert!(listed(&mut site).concat().contains(OID));
}

#[test]
fn right_and_wrong_are_told_and_the_connection_keeps_its_identity() {
    for scheme in ["{CLEARTEXT}", "{SSHA}", "{ARGON2}"] {
        let mut site = site_with(&format!("moduleload argon2\npassword-hash {scheme}"), ACCESS);
        set_password(&mut site, "first");
        let before = who(&mut site);
        assert_eq!(before, format!("dn:{ROOT}"));
        assert_eq!(code(&mut site, U, "first"), 0, "{scheme}");
        assert_eq!(code(&mut site, U, "wrong"), 49, "{scheme}");
        assert_eq!(code(&mut site, "uid=nobody,dc=ex", "first"), 49);
        assert_eq!(code(&mut site, "dc=ex", "first"), 49, "it has no password");
        assert_eq!(code(&mut site, "cn", "first"), 34);
        assert_eq!(who(&mut site), before);
        let mut stranger = site.connect();
        stranger.become_("");
        assert_eq!(code(&mut stranger, U, "first"), 0, "{scheme}");
        assert_eq!(who(&mut stranger), "");
    }
}

#[test]
fn what_presents_no_credentials_is_never_right() {
    // Binds without a name or a password succeed here, as anonymous.
    let mut site = site_with("allow bind_anon_cred bind_anon_dn\nsasl-secprops none", ACCESS);
    let refused = (48, "there are no credentials to verify");
    for (name, password) in [("", ""), (U, ""), ("", "first"), (ROOT, "")] {
        let answer = bind_as(&mut site.connect(), name, password);
        assert_eq!(answer.code, 0, "{name:?}");
        let verified = ask(&mut site, &simple(name, password));
        assert_eq!(
            (verified.code, &*verified.text, verified.bind),
            (refused.0, refused.1, None)
        );
    }
    for (mechanism, message) in [
        ("ANONYMOUS", None),
        ("anonymous", Some(&b"x"[..])),
        ("EXTERNAL", Some(b"")),
    ] {
        let verified = ask(&mut site, &sasl(None, mechanism, message));
        let refused = (48, "the mechanism proves nothing about credentials");
        assert_eq!(
            (verified.code, &*verified.text, verified.bind),
            (refused.0, refused.1, None)
        );
    }
    assert_eq!(who(&mut site), format!("dn:{ROOT}"));
}

#[test]
fn malformed_requests_are_refused() {
    let mut site = site(ACCESS);
    let mut whole = Vec::new();
    simple(U, "first").encode(&mut whole);
    for length in 0..whole.len() {
        assert_eq!(ask_raw(&mut site, whole.get(..length)).code, 2, "{length}");
    }
    assert_eq!(ask_raw(&mut site, None).code, 2);
    let cookie = VerifyCredentialsRequest {
        cookie: Some(b"0123456789abcdef"),
        ..simple(U, "first")
    };
    assert_eq!(ask(&mut site, &cookie).code, 2);
    // The choices of LDAPv2.
    let other = VerifyCredentialsRequest {
        authentication: Authentication::Other { identifier: 0x81 },
        ..simple(U, "")
    };
    assert_eq!(ask(&mut site, &other).code, 7);
}

#[test]
fn controls_of_the_bind_are_obeyed() {
    let mut site = site_with(
        "database frontend\noverlay authzid",
        &format!("overlay ppolicy\nppolicy_default cn=p,dc=ex{ACCESS}"),
    );
    let policy = "objectClass: device\nobjectClass: pwdPolicy\npwdAttribute: userPassword\npwdMustChange: TRUE";
    site.must_add("cn=p,dc=ex", policy);
    let asks_name = RawControl {
        oid: AUTHZID.as_bytes(),
        critical: true,
        value: None,
    };
    let asks_policy = RawControl {
        oid: PasswordPolicyRequest::OID.as_bytes(),
        critical: false,
        value: None,
    };
    let with = |site: &mut Site, controls: &[RawControl<'_>]| {
        let request = VerifyCredentialsRequest {
            controls: List::new(controls),
            ..simple(U, "first")
        };
        ask(site, &request).bind.expect("a bind was tried")
    };
    let name = (AuthorizationIdentity::OID.to_owned(), format!("dn:{U}").into_bytes());
    assert_eq!(with(&mut site, &[asks_name]).controls, [name]);
    site.modify(U, "replace: pwdReset\np: TRUE");
    let controls = with(&mut site, &[asks_policy]).controls;
    let [(oid, value)] = &controls[..] else {
        panic!("{controls:?}");
    };
    assert_eq!(oid, PasswordPolicyRequest::OID);
    let policy = PasswordPolicyResponse::decode(value).unwrap();
    assert_eq!(policy.error, Some(Error::ChangeAfterReset));
    // The restriction is that of the session that the bind would have made.
    assert_eq!(site.add("cn=free,dc=ex", "objectClass: device").code, 0);
    let unknown = |critical| RawControl {
        oid: b"1.2.3",
        critical,
        value: None,
    };
    assert_eq!(with(&mut site, &[unknown(false)]).code, 0);
    assert_eq!(with(&mut site, &[unknown(true)]).code, 12);
    let proxied = RawControl {
        oid: b"2.16.840.1.113730.3.4.18",
        critical: true,
        value: Some(b""),
    };
    assert_eq!(with(&mut site, &[proxied]).code, 12);
}

#[test]
fn guesses_are_counted_and_lock_as_binds_do() {
    let mut site = site(&format!(
        "lastbind on\noverlay ppolicy\nppolicy_default cn=p,dc=ex{ACCESS}"
    ));
    let policy = "objectClass: device\nobjectClass: pwdPolicy\npwdAttribute: userPassword\npwdLockout: TRUE\n\
        pwdMaxFailure: 3";
    site.must_add("cn=p,dc=ex", policy);
    assert_eq!(code(&mut site, U, "first"), 0);
    assert!(site.read(U, &["pwdLastSuccess"]).unwrap().contains("pwdLastSuccess: "));
    let mut stranger = site.connect();
    stranger.become_("");
    for _ in 0..3 {
        assert_eq!(code(&mut stranger, U, "wrong"), 49);
    }
    let failures = site.read(U, &["pwdFailureTime"]).unwrap();
    assert_eq!(failures.matches("pwdFailureTime: ").count(), 3, "{failures}");
    assert_eq!(code(&mut stranger, U, "first"), 49, "it is locked");
    assert_eq!(bind_as(&mut site.connect(), U, "first").code, 49);
}

#[test]
fn rules_and_restrictions_of_binds_hold() {
    let bind = |site: &Site| bind_as(&mut site.connect(), U, "first").code;
    for (global, lines, expected) in [
        ("disallow bind_simple", "", 53),
        ("", "security simple_bind=64", 13),
        ("", "restrict bind", 53),
        ("", "access to attrs=userPassword by * none", 49),
        ("", "lastbind on", 0),
    ] {
        let mut site = site_with(global, &format!("{lines}{ACCESS}"));
        let settings = [global, lines].concat();
        let mut stranger = site.connect();
        stranger.become_("");
        assert_eq!(bind(&site), expected, "{settings}");
        assert_eq!(code(&mut stranger, U, "first"), expected, "{settings}");
        assert_eq!(code(&mut site, U, "first"), expected, "{settings}");
    }
}

#[test]
fn a_database_that_is_not_written_verifies_too() {
    let lines = "moduleload vc\nrootpw secret\nreadonly on\nlastbind on";
    let mut site = Site::open_of(&ironbark_overlays::registry(), lines, ironbark_overlays::make);
    assert_eq!(code(&mut site, ROOT, "secret"), 0);
    assert_eq!(code(&mut site, ROOT, "wrong"), 49);
}

#[test]
fn overlays_that_decide_before_binds_are_not_bypassed() {
    for (global, lines) in [
        ("", "overlay denyop\ndenyop bind"),
        ("", "overlay denyop\ndenyop add"),
        ("", "overlay retcode"),
        ("database frontend\noverlay denyop\ndenyop bind", ""),
    ] {
        let mut site = Site::open_all(
            &ironbark_overlays::registry(),
            &format!("moduleload vc\n{global}\n"),
            &format!("rootpw secret\n{lines}"),
            Arc::new(ironbark_overlays::make),
        );
        let refused = (53, "overlays of this database decide about binds");
        for password in ["secret", "wrong"] {
            let verified = ask(&mut site, &simple(ROOT, password));
            assert_eq!(
                (verified.code, &*verified.text, verified.bind),
                (refused.0, refused.1, None)
            );
        }
    }
}

/// One step, which leaves the negotiation unfinished; its cookie.
fn goes_on(client: &mut TestClient, request: &VerifyCredentialsRequest<'_>) -> Vec<u8> {
    let verified = ask(client, request);
    assert_eq!(verified.code, 14, "{verified:?}");
    let bind = verified.bind.unwrap();
    assert_eq!(bind.code, 14);
    bind.cookie.expect("a cookie")
}

const SASL: &str = "sasl-secprops none\nauthz-regexp uid=([^,]*),cn=.*auth uid=$1,dc=ex";

fn sasl_site() -> Site {
    site_with(SASL, ACCESS)
}

#[test]
fn a_sasl_negotiation_goes_on_by_its_cookie() {
    let mut site = sasl_site();
    let plain = |site: &mut Site, message: &[u8]| ask(site, &sasl(None, "PLAIN", Some(message))).code;
    assert_eq!(plain(&mut site, b"\0u\0first"), 0);
    assert_eq!(plain(&mut site, b"\0u\0wrong"), 49);
    for (password, expected) in [("first", 0), ("wrong", 49)] {
        let first = goes_on(&mut site, &sasl(None, "LOGIN", None));
        let second = goes_on(&mut site, &sasl(Some(&first), "LOGIN", Some(b"u")));
        // Other operations come in between, with the identity of the connection.
        assert_eq!(who(&mut site), format!("dn:{ROOT}"));
        let last = ask(&mut site, &sasl(Some(&second), "LOGIN", Some(password.as_bytes())));
        assert_eq!(last.code, expected);
        assert_eq!(last.bind.unwrap().cookie, None);
        assert_eq!(who(&mut site), format!("dn:{ROOT}"));
        let again = ask(&mut site, &sasl(Some(&second), "LOGIN", Some(b"first")));
        assert_eq!((again.code, again.bind), (2, None), "it has ended");
    }
}

#[test]
fn a_negotiation_ends_with_the_next_request_without_its_cookie_and_with_a_bind() {
    let mut site = sasl_site();
    let mut other = site.connect();
    let continues = |site: &mut TestClient, cookie: &[u8]| ask(site, &sasl(Some(cookie), "LOGIN", Some(b"u"))).code;
    let begins = |site: &mut TestClient| goes_on(site, &sasl(None, "LOGIN", None));

    let first = begins(&mut site);
    assert_eq!(continues(&mut other, &first), 2, "it is that of another connection");
    assert_eq!(continues(&mut site, &first), 14);

    let former = begins(&mut site);
    let later = begins(&mut site);
    assert_ne!(former, later);
    assert_eq!(continues(&mut site, &former), 2);
    assert_eq!(continues(&mut site, &later), 2, "the wrong cookie has ended it");

    let begun = begins(&mut site);
    assert_eq!(code(&mut site, U, "first"), 0);
    assert_eq!(continues(&mut site, &begun), 2);

    let begun = begins(&mut site);
    assert_eq!(bind_as(&mut site, U, "wrong").code, 49);
    assert_eq!(continues(&mut site, &begun), 2);
    // And the connection's own negotiation is another.
    let own = Authentication::Sasl {
        mechanism: b"LOGIN",
        credentials: None,
    };
    assert_eq!(bind_with(&mut site, "", own).code, 14);
    assert_eq!(ask(&mut site, &simple(U, "first")).code, 1, "as all else during it");
}

#[test]
fn start_tls_ends_a_negotiation() {
    let files = "TLSCertificateFile /certificate\nTLSCertificateKeyFile /key";
    let mut site = site_with(&format!("{SASL}\n{files}"), ACCESS);
    let begun = goes_on(&mut site, &sasl(None, "LOGIN", None));
    let request = Request::Extended(ExtendedRequest {
        name: start_tls::OID.as_bytes(),
        value: None,
    });
    let (mut pdu, mut out) = (Vec::new(), Vec::new());
    encode_request(&mut pdu, MessageId::new(1).unwrap(), &request, &[]);
    let (worker, session) = site.parts();
    assert!(matches!(worker.start(session, &pdu, &mut out), Started::StartTls));
    assert_eq!(ask(&mut site, &sasl(Some(&begun), "LOGIN", Some(b"u"))).code, 2);
}

#[test]
fn a_verification_blocks_its_connection_and_an_abandoned_one_gives_nobody_an_identity() {
    let mut site = site(&format!("lastbind on{ACCESS}"));
    let mut stranger = site.connect();
    stranger.become_("");
    let mut value = Vec::new();
    simple(U, "first").encode(&mut value);
    let request = Request::Extended(ExtendedRequest {
        name: OID.as_bytes(),
        value: Some(&value),
    });
    for stops in [false, true] {
        let (mut pdu, mut out) = (Vec::new(), Vec::new());
        encode_request(&mut pdu, MessageId::new(1).unwrap(), &request, &[]);
        let (worker, session) = stranger.parts();
        let Started::Submitted(submitted) = worker.start(session, &pdu, &mut out) else {
            panic!("the writer decides");
        };
        assert!(submitted.blocks_connection);
        if stops {
            session.stop_all();
        }
        let completion = submitted.receiver.blocking_recv().expect("completes");
        worker.finish(session, completion, &mut out);
        if !out.is_empty() {
            assert_eq!(verified(&out).code, 0);
        }
        assert_eq!(who(&mut stranger), "");
    }
    assert_eq!(who(&mut site), format!("dn:{ROOT}"));
}

#[test]
fn the_access_log_has_its_bind_and_no_password() {
    let log = "overlay accesslog\nlogdb cn=accesslog\nlogops bind\n\ndatabase mdb\nsuffix cn=accesslog\n\
        directory DIR\nrootdn cn=root,dc=ex";
    let mut site = site(log);
    let found = |site: &mut Site, filter: &str| site.search("cn=accesslog", Scope::SingleLevel, filter, &["*"]);
    assert_eq!(code(&mut site, U, "wrong"), 49);
    let entries = loop {
        let entries = found(&mut site, "(&(reqType=bind)(reqResult=49))");
        if !entries.is_empty() {
            break entries.concat();
        }
    };
    for line in [
        "reqSession: 7\n",
        "reqDN: uid=u,dc=ex\n",
        "reqMethod: SIMPLE\n",
        "reqVersion: 3\n",
    ] {
        assert!(entries.contains(line), "{entries}");
    }
    assert!(!entries.contains("wrong"), "{entries}");
    assert_eq!(found(&mut site, "(reqType=extended*)"), [""; 0]);
}
