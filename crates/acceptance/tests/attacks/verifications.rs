//! Verify Credentials (module vc): guesses, forged identities, negotiations that are left.

use std::{io::Write as _, net::Shutdown, net::TcpStream};

use ironbark_testkit::{Credentials, Server};

use crate::attacks::process::memory;
use crate::attacks::site::{ANN, BOB, BOSS, NOBODY, run, site_with, user};
use crate::attacks::wire::{self, connect, element, read_message, result_code};

const OID: &[u8] = b"1.3.6.1.4.1.4203.666.6.5";
const WHO_AM_I: &[u8] = b"1.3.6.1.4.1.4203.1.11.3";
const MAPPING: &str = "sasl-secprops none\nauthz-regexp uid=([^,]*),cn=[^,]*,cn=auth \
    uid=$1,ou=people,dc=example,dc=com";

fn module(global: &str, lines: &str) -> Server {
    site_with(&format!("moduleload vc\n{global}"), lines)
}

pub(crate) fn extended(id: u32, oid: &[u8], value: Option<&[u8]>) -> Vec<u8> {
    let value = value.map_or_else(Vec::new, |value| element(0x81, value));
    let request = element(0x77, &[element(0x80, oid), value].concat());
    element(0x30, &[element(0x02, &id.to_be_bytes()), request].concat())
}

/// A request to verify a name and a password.
pub(crate) fn simple(id: u32, name: &str, password: &[u8]) -> Vec<u8> {
    let bind = [element(0x04, name.as_bytes()), element(0x80, password)].concat();
    extended(id, OID, Some(&element(0x30, &bind)))
}

/// One step by SASL.
pub(crate) fn sasl(cookie: Option<&[u8]>, mechanism: &str, message: Option<&[u8]>) -> Vec<u8> {
    let cookie = cookie.map_or_else(Vec::new, |cookie| element(0x80, cookie));
    let message = message.map_or_else(Vec::new, |message| element(0x04, message));
    let choice = element(0xa3, &[element(0x04, mechanism.as_bytes()), message].concat());
    extended(
        1,
        OID,
        Some(&element(0x30, &[cookie, element(0x04, b""), choice].concat())),
    )
}

/// Sends one request; the result code of its answer, and the whole answer.
#[track_caller]
fn ask(stream: &mut TcpStream, request: &[u8]) -> (u8, Vec<u8>) {
    stream.write_all(request).unwrap();
    let (_, tag, content) = read_message(stream).unwrap();
    assert_eq!(tag, wire::EXTENDED_RESPONSE);
    (result_code(&content), content)
}

/// The identity of a connection; empty for anonymous.
#[track_caller]
fn who(stream: &mut TcpStream) -> String {
    let (code, content) = ask(stream, &extended(9, WHO_AM_I, None));
    assert_eq!(code, 0);
    let start = content.windows(3).position(|octets| octets == b"dn:");
    start.map_or_else(String::new, |start| {
        String::from_utf8_lossy(&content[start..]).into_owned()
    })
}

/// The cookie of an answer: sixteen octets behind its header.
fn cookie(content: &[u8]) -> Vec<u8> {
    let start = content.windows(2).position(|octets| octets == [0x80, 16]).unwrap() + 2;
    content[start..start + 16].to_vec()
}

#[test]
fn a_verification_gives_its_connection_no_name() {
    let server = module(MAPPING, "");
    let mut stranger = connect(&server);
    let mut named = connect(&server);
    wire::bind(&mut named);
    let root = who(&mut named);
    assert!(root.starts_with("dn:cn=Manager"), "{root}");
    for (stream, name) in [(&mut stranger, String::new()), (&mut named, root)] {
        for password in [&b"bossspass"[..], b"wrong"] {
            let expected = if password == b"wrong" { 49 } else { 0 };
            assert_eq!(ask(stream, &simple(1, BOSS, password)).0, expected);
            assert_eq!(who(stream), name);
        }
        assert_eq!(ask(stream, &sasl(None, "PLAIN", Some(b"\0boss\0bossspass"))).0, 0);
        assert_eq!(who(stream), name);
        let (code, first) = ask(stream, &sasl(None, "LOGIN", None));
        assert_eq!((code, who(stream)), (14, name.clone()));
        let (code, second) = ask(stream, &sasl(Some(&cookie(&first)), "LOGIN", Some(b"boss")));
        assert_eq!((code, who(stream)), (14, name.clone()));
        let (code, _) = ask(stream, &sasl(Some(&cookie(&second)), "LOGIN", Some(b"bossspass")));
        assert_eq!((code, who(stream)), (0, name));
    }
    // Nor what only the boss may see.
    stranger
        .write_all(&wire::search(2, "ou=hidden,dc=example,dc=com", 0, &wire::everything()))
        .unwrap();
    let (_, tag, content) = read_message(&mut stranger).unwrap();
    assert_eq!((tag, result_code(&content)), (wire::SEARCH_DONE, 32));
}

#[test]
fn only_credentials_are_verified() {
    let server = module(&format!("allow bind_anon_cred bind_anon_dn\n{MAPPING}"), "");
    let mut stream = connect(&server);
    for (name, password) in [
        ("", &b""[..]),
        (ANN, b""),
        ("", b"annspass"),
        ("cn=Manager,dc=example,dc=com", b""),
    ] {
        assert_eq!(ask(&mut stream, &simple(1, name, password)).0, 48, "{name}");
    }
    for mechanism in ["ANONYMOUS", "anonymous", "EXTERNAL"] {
        assert_eq!(ask(&mut stream, &sasl(None, mechanism, Some(b""))).0, 48, "{mechanism}");
    }
    // The same on the local socket, where EXTERNAL would know the user.
    let value = element(
        0x30,
        &[element(0x04, b""), element(0xa3, &element(0x04, b"EXTERNAL"))].concat(),
    );
    let script = format!(
        "import ldap, ldap.extop, os\n\
         class Request(ldap.extop.ExtendedRequest):\n    def encodedRequestValue(self): return bytes({value:?})\n\
         l = ldap.initialize(os.environ['LDAPI_URL'])\n\
         try: l.extop_s(Request('{}', None))\n\
         except ldap.INAPPROPRIATE_AUTH: print('refused')\n\
         print(repr(l.whoami_s()))\n",
        String::from_utf8_lossy(OID)
    );
    let told = server.python(&script).unwrap().success().unwrap().stdout;
    assert_eq!(told, "refused\n''\n");
}

#[test]
fn a_password_is_not_confirmed_where_binds_are_refused() {
    let rows = [
        ("", "overlay denyop\ndenyop bind", 53),
        (
            "",
            "overlay retcode\nretcode-parent \"cn=RetCodes,dc=example,dc=com\"",
            53,
        ),
        ("disallow bind_simple", "", 53),
        ("", "security simple_bind=128", 13),
        ("", "restrict bind", 53),
    ];
    for (global, lines, expected) in rows {
        let server = module(global, lines);
        let mut stream = connect(&server);
        let mut answers = Vec::new();
        for password in [&b"annspass"[..], b"wrong"] {
            let (code, content) = ask(&mut stream, &simple(1, ANN, password));
            assert_eq!(code, expected, "{global}{lines}");
            answers.push(content);
        }
        assert_eq!(answers[0], answers[1], "{global}{lines}");
    }
    // A hidden password, a missing one, a missing entry.
    let server = module("", "");
    let mut stream = connect(&server);
    let told = |stream: &mut TcpStream, name| ask(stream, &simple(1, name, b"wrong"));
    let wrong = told(&mut stream, ANN);
    assert_eq!(wrong.0, 49);
    for name in [
        "cn=secret,ou=hidden,dc=example,dc=com",
        "cn=nothing,ou=hidden,dc=example,dc=com",
        "ou=people,dc=example,dc=com",
    ] {
        assert_eq!(told(&mut stream, name), wrong, "{name}");
    }
}

#[test]
fn guesses_are_delayed_and_refused_as_those_of_binds() {
    let server = module("bind-failure-limit 4/600\ndatabase monitor", "");
    let mut stream = connect(&server);
    // All at once: each waits for the one before.
    let guesses: Vec<u8> = (1..=6).flat_map(|id| simple(id, ANN, b"wrong")).collect();
    stream.write_all(&guesses).unwrap();
    let codes: Vec<u8> = (0..6)
        .map(|_| result_code(&read_message(&mut stream).unwrap().2))
        .collect();
    assert_eq!(codes, [49, 49, 49, 49, 51, 51]);
    assert_eq!(ask(&mut connect(&server), &simple(1, ANN, b"annspass")).0, 51);
    assert_eq!(run(&server, &user(ANN), "ldapwhoami", &[], "").code(), Some(51));
    // On the local socket, which has no address.
    let url = server.ldapi_url();
    let arguments = [
        "-x",
        "-H",
        &url,
        "-b",
        "cn=Monitor",
        "(cn=Delayed Binds)",
        "monitorCounter",
    ];
    let counted = server.client_with("ldapsearch", &[], &arguments, "").unwrap().stdout;
    assert!(counted.contains("monitorCounter: 1\n"), "{counted}");
}

#[test]
fn an_account_is_locked_by_wrong_verifications() {
    let policy = "overlay ppolicy\nppolicy_default \"uid=bob,ou=people,dc=example,dc=com\"";
    let server = module("", policy);
    let change = format!(
        "dn: {BOB}\nchangetype: modify\nadd: objectClass\nobjectClass: pwdPolicy\n-\n\
         add: pwdAttribute\npwdAttribute: userPassword\n-\nadd: pwdLockout\npwdLockout: TRUE\n-\n\
         add: pwdMaxFailure\npwdMaxFailure: 3\n"
    );
    let changed = run(&server, &Credentials::ROOT, "ldapmodify", &[], &change);
    assert_eq!(changed.code(), Some(0), "{}", changed.stderr);
    // Each on a connection that is gone before the answer, and the last one to see.
    for _ in 0..3 {
        let mut stream = connect(&server);
        assert_eq!(ask(&mut stream, &simple(1, ANN, b"wrong")).0, 49);
        stream.write_all(&simple(2, ANN, b"wrong")).unwrap();
        stream.shutdown(Shutdown::Both).unwrap();
    }
    assert_eq!(ask(&mut connect(&server), &simple(1, ANN, b"annspass")).0, 49);
    assert_eq!(run(&server, &user(ANN), "ldapwhoami", &[], "").code(), Some(49));
    assert_eq!(run(&server, &NOBODY, "ldapwhoami", &[], "").code(), Some(0));
}

#[test]
fn negotiations_that_are_left_cost_nothing() {
    const KEPT: usize = 8 << 20;
    let server = module(MAPPING, "");
    let begin = |stream: &mut TcpStream| {
        let (code, content) = ask(stream, &sasl(None, "DIGEST-MD5", None));
        assert_eq!(code, 14);
        cookie(&content)
    };
    let mut stream = connect(&server);
    begin(&mut stream);
    let before = memory(&server);
    let cookies: Vec<Vec<u8>> = (0..20_000).map(|_| begin(&mut stream)).collect();
    let kept = memory(&server).saturating_sub(before);
    assert!(kept < KEPT, "{kept} octets are kept");
    // One is kept, for its cookie, on its connection.
    let last = cookies.last().unwrap();
    assert_eq!(
        ask(&mut connect(&server), &sasl(Some(last), "DIGEST-MD5", Some(b"x"))).0,
        2
    );
    assert_eq!(
        ask(&mut stream, &sasl(Some(&cookies[0]), "DIGEST-MD5", Some(b"x"))).0,
        2
    );
    assert_eq!(
        ask(&mut stream, &sasl(Some(last), "DIGEST-MD5", Some(b"x"))).0,
        2,
        "the wrong cookie has ended it"
    );
    let long = vec![0xff; 70_000];
    for forged in [&b""[..], b"0", &[0; 16], &long] {
        assert_eq!(ask(&mut stream, &sasl(Some(forged), "LOGIN", Some(b"ann"))).0, 2);
    }
    let login = begin(&mut stream);
    assert_eq!(ask(&mut stream, &simple(1, ANN, b"annspass")).0, 0);
    assert_eq!(ask(&mut stream, &sasl(Some(&login), "DIGEST-MD5", Some(b"x"))).0, 2);
}

#[test]
fn whatever_is_sent_to_be_verified_is_answered_or_refused() {
    let server = module(MAPPING, "");
    let mut stream = connect(&server);
    let long = vec![b'a'; 200_000];
    for request in [
        extended(1, OID, None),
        extended(1, OID, Some(b"")),
        extended(1, OID, Some(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff])),
        extended(1, OID, Some(&element(0x30, &element(0x80, &long)))),
        extended(1, OID, Some(&[0x30; 5_000])),
    ] {
        assert_eq!(ask(&mut stream, &request).0, 2);
    }
    assert_eq!(ask(&mut stream, &simple(1, ANN, &long)).0, 49);
    for mechanism in ["PLAIN", "LOGIN", "CRAM-MD5", "DIGEST-MD5", "SCRAM-SHA-256", "X", ""] {
        for message in [&b""[..], b"\0", b"\0\0\0\0", b"n,,n==,r=x", b"\xff\xfe", &long] {
            let (code, _) = ask(&mut stream, &sasl(None, mechanism, Some(message)));
            assert!([7, 14, 49, 80].contains(&code), "{mechanism} {message:?}: {code}");
        }
    }
    let many: Vec<u8> = (0..65).flat_map(|_| element(0x30, &element(0x04, b"1.2"))).collect();
    let bind = [element(0x04, ANN.as_bytes()), element(0x80, b"annspass")].concat();
    let with = |controls: &[u8]| {
        let value = element(0x30, &[bind.clone(), element(0xa2, controls)].concat());
        extended(1, OID, Some(&value))
    };
    assert_eq!(ask(&mut stream, &with(&many)).0, 11);
    let critical = element(0x30, &[element(0x04, b"1.2"), vec![1, 1, 0xff]].concat());
    assert_eq!(ask(&mut stream, &with(&critical)).0, 12);
    assert_eq!(ask(&mut stream, &with(&many[..many.len() / 65])).0, 0);
    assert_eq!(who(&mut stream), "");
}
