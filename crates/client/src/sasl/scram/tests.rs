//! SCRAM: the examples of the RFCs, and servers that lie.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::*;

fn settings() -> BindSettings {
    BindSettings {
        authentication_id: "user".to_owned(),
        credentials: Secret(b"pencil".to_vec()),
        ..BindSettings::default()
    }
}

const NONCE_SHA1: &str = "fyko+d2lbbFgONRv9qkxdawL";
const FIRST_SHA1: &[u8] = b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096";
const LAST_SHA1: &[u8] = b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=";

fn sha1() -> Scram {
    Scram::new(Hash::Sha1, &settings(), Binding::None, NONCE_SHA1.to_owned())
}

/// RFC 5802 §5.
#[test]
fn the_example_with_sha_1() {
    let mut scram = sha1();
    let first = scram.begin().unwrap().unwrap();
    assert_eq!(first, b"n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL");
    let last = scram.step(FIRST_SHA1).unwrap();
    let expected = "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=";
    assert_eq!(String::from_utf8(last).unwrap(), expected);
    assert_eq!(scram.end(Some(LAST_SHA1)), Ok(()));
}

/// RFC 7677 §3.
#[test]
fn the_example_with_sha_256() {
    let nonce = "rOprNGfwEbeRWgbNEkqO".to_owned();
    let mut scram = Scram::new(Hash::Sha256, &settings(), Binding::None, nonce);
    let first = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
    let last = String::from_utf8(scram.step(first).unwrap()).unwrap();
    assert!(
        last.ends_with(",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="),
        "{last}"
    );
    let signature = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";
    assert_eq!(scram.step(signature), Ok(Vec::new()));
    assert_eq!(scram.end(None), Ok(()));
}

#[test]
fn binding_and_names_are_in_the_first_message_and_repeated_in_the_last() {
    let settings = BindSettings {
        authentication_id: "a=b,c".to_owned(),
        authorization_id: "u:d,e".to_owned(),
        ..settings()
    };
    let binding = Binding::Bound {
        kind: BindingType::ServerEndPoint,
        data: b"hash".to_vec(),
    };
    let mut scram = Scram::new(Hash::Sha1, &settings, binding, "abc".to_owned());
    let first = String::from_utf8(scram.begin().unwrap().unwrap()).unwrap();
    assert_eq!(first, "p=tls-server-end-point,a=u:d=2Ce,n=a=3Db=2Cc,r=abc");
    let last = scram.step(b"r=abcd,s=AAAA,i=4096").unwrap();
    let expected = STANDARD.encode(b"p=tls-server-end-point,a=u:d=2Ce,hash");
    assert!(
        String::from_utf8(last)
            .unwrap()
            .starts_with(&format!("c={expected},r=abcd,p="))
    );
    let mut scram = Scram::new(Hash::Sha1, &settings, Binding::NotOffered, "abc".to_owned());
    assert!(scram.begin().unwrap().unwrap().starts_with(b"y,a="));
}

#[test]
fn a_server_that_does_not_prove_itself_is_refused() {
    assert_eq!(sha1().end(None), Err(SaslFailure::unproven()));
    let answered = || {
        let mut scram = sha1();
        scram.step(FIRST_SHA1).unwrap();
        scram
    };
    assert_eq!(answered().end(None), Err(SaslFailure::unproven()));
    for wrong in [&b""[..], b"v=", b"v=AAAA", b"v=rmF9pqV8S7suAoZWja4dJRkFsKR=", b"\xff"] {
        assert_eq!(answered().end(Some(wrong)), Err(SaslFailure::impostor()), "{wrong:?}");
        assert_eq!(answered().step(wrong), Err(SaslFailure::impostor()), "{wrong:?}");
    }
    assert!(
        answered()
            .step(b"e=other-error")
            .is_err_and(|why| why.0.contains("other-error"))
    );
    let mut proven = answered();
    proven.step(LAST_SHA1).unwrap();
    assert!(proven.step(LAST_SHA1).is_err());
}

#[test]
fn first_messages_that_are_malformed_weak_or_costly_are_refused() {
    let long = format!("r={NONCE_SHA1}x,s={},i=4096", "A".repeat(4_096));
    for text in [
        "",
        "r=other,s=QSXCR+Q6sek8bf92,i=4096",
        // Nothing of the server's own.
        "r=fyko+d2lbbFgONRv9qkxdawL,s=QSXCR+Q6sek8bf92,i=4096",
        "r=fyko+d2lbbFgONRv9qkxdawLx,s=?,i=4096",
        "r=fyko+d2lbbFgONRv9qkxdawLx,s=,i=4096",
        "r=fyko+d2lbbFgONRv9qkxdawLx,s=QSXCR+Q6sek8bf92,i=4095",
        "r=fyko+d2lbbFgONRv9qkxdawLx,s=QSXCR+Q6sek8bf92,i=4294967295",
        "r=fyko+d2lbbFgONRv9qkxdawLx,s=QSXCR+Q6sek8bf92,i=-1",
        "r=fyko+d2lbbFgONRv9qkxdawLx,s=QSXCR+Q6sek8bf92",
        "m=x,r=fyko+d2lbbFgONRv9qkxdawLx,s=QSXCR+Q6sek8bf92,i=4096",
        &long,
    ] {
        assert!(sha1().step(text.as_bytes()).is_err(), "{text}");
    }
    assert!(sha1().step(b"\xff").is_err());
}
