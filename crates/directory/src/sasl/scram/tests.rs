//! SCRAM: the examples of the RFCs, and invalid messages.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ironbark_ldap_proto::controls::ControlSet;

use super::*;
use crate::request::{
    context::RequestKind,
    identity::{Peer, Strength, TlsChannel},
    stop::{Restriction, Sequence, StopFlag},
};

fn origin(channel: Option<TlsChannel>) -> RequestContext {
    let peer = Peer {
        name: "".into(),
        socket_name: "".into(),
        listener_url: "".into(),
        domain: None,
        address: None,
        credentials: None,
    };
    RequestContext {
        connection: 1,
        operation: 0,
        message_id: 1,
        identity: Arc::default(),
        restriction: Restriction::default(),
        peer: Arc::new(peer),
        strength: Strength::default(),
        request: RequestKind::of(ironbark_ldap_proto::Operation::Bind),
        channel: channel.map(Arc::new),
        critical_controls: ControlSet::NONE,
        dropped_controls: ControlSet::NONE,
        bound_version: None,
        stop: StopFlag::default(),
        sequence: Sequence::default(),
        arrived_micros: 0,
        received_micros: 0,
        taken_micros: 0,
        tracked: None,
        responses: None,
        bound: None,
        pdu: None,
        verification: None,
    }
}

fn terms(hash: Hash, origin: &RequestContext) -> Terms<'_> {
    let is_binding_offered = origin.channel.is_some();
    Terms {
        hash,
        binding: Binding::Unbound,
        is_binding_offered,
        origin,
    }
}

fn cleartext(salt: &str) -> (Secret, Vec<u8>) {
    (
        Secret::Cleartext(vec![b"wrong".to_vec(), b"pencil".to_vec()]),
        STANDARD.decode(salt).unwrap(),
    )
}

/// The server's first message, and its final one if the client's is right.
fn negotiate(begun: StepResult<Option<Box<Exchange>>, Box<Proof>>, last: &str) -> (String, Option<String>) {
    let Ok(Step::Challenge(challenge, Some(exchange))) = begun else {
        panic!("no challenge")
    };
    let answer = match exchange.step(Some(last.as_bytes())) {
        Ok(Step::Claim(Claim { proof, .. })) => proof.answer(),
        _ => None,
    };
    let text = |octets: Vec<u8>| String::from_utf8(octets).unwrap();
    (text(challenge), answer.map(text))
}

/// RFC 5802 §5.
#[test]
fn the_example_of_scram_sha_1() {
    let origin = origin(None);
    let begun = begin(
        terms(Hash::Sha1, &origin),
        Some(b"n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL"),
        "3rfcNHYJY1ZVvWVs7j",
        |user| {
            assert_eq!(user, "user");
            Ok(cleartext("QSXCR+Q6sek8bf92"))
        },
    );
    let last = "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=";
    let (challenge, answer) = negotiate(begun, last);
    assert_eq!(
        challenge,
        "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096"
    );
    assert_eq!(answer.unwrap(), "v=rmF9pqV8S7suAoZWja4dJRkFsKQ=");
}

const SHA256_FIRST: &[u8] = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
const SHA256_NONCE: &str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
const SHA256_SALT: &str = "W22ZaJ0SNY7soEsUEjb6gQ==";
const SHA256_LAST: &str =
    "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
const SHA256_ANSWER: &str = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

/// RFC 7677 §3, of a password in the clear and of stored keys.
#[test]
fn the_example_of_scram_sha_256() {
    let origin = origin(None);
    let salt = STANDARD.decode(SHA256_SALT).unwrap();
    let keys = Keys::derive(Hash::Sha256, b"pencil", &salt, 4096);
    for secret in [cleartext(SHA256_SALT), (Secret::Keys(keys), b"another".to_vec())] {
        let begun = begin(terms(Hash::Sha256, &origin), Some(SHA256_FIRST), SHA256_NONCE, |_| {
            Ok(secret)
        });
        let (challenge, answer) = negotiate(begun, SHA256_LAST);
        assert_eq!(
            challenge,
            format!("r=rOprNGfwEbeRWgbNEkqO{SHA256_NONCE},s={SHA256_SALT},i=4096")
        );
        assert_eq!(answer.unwrap(), SHA256_ANSWER);
    }
}

#[test]
fn what_is_not_proven_is_not_answered() {
    let origin = origin(None);
    let refused = |secret: (Secret, Vec<u8>), last: &str| {
        let begun = begin(terms(Hash::Sha256, &origin), Some(SHA256_FIRST), SHA256_NONCE, |_| {
            Ok(secret)
        });
        negotiate(begun, last).1.is_none()
    };
    assert!(refused(
        (Secret::Nothing, STANDARD.decode(SHA256_SALT).unwrap()),
        SHA256_LAST
    ));
    let other = Secret::Cleartext(vec![b"pen".to_vec()]);
    assert!(refused((other, STANDARD.decode(SHA256_SALT).unwrap()), SHA256_LAST));
    for last in [
        SHA256_LAST.replace("k0,", "k1,"),
        SHA256_LAST.replace("biws", "eSws"),
        SHA256_LAST.replace(",p=d", ",p=e"),
        SHA256_LAST.replace(",p=dHzb", ",p="),
        SHA256_LAST.replace(",p=", ",x=1,p="),
        String::new(),
    ] {
        assert!(refused(cleartext(SHA256_SALT), &last), "{last}");
    }
}

#[test]
fn the_binding_must_be_that_of_the_channel() {
    let channel = TlsChannel {
        subject: None,
        endpoint: Some(b"hash".to_vec()),
        exporter: Some([7; 32]),
    };
    let (bound, unbound) = (origin(Some(channel)), origin(None));
    let data = |binding, origin: &'static str, flag| {
        let origin = if origin == "bound" { &bound } else { &unbound };
        let terms = Terms {
            binding,
            ..terms(Hash::Sha1, origin)
        };
        binding_data(terms, flag).ok()
    };
    let endpoint = Flag::Bound("tls-server-end-point");
    assert_eq!(data(Binding::Bound, "bound", endpoint).unwrap(), b"hash");
    assert_eq!(
        data(Binding::Bound, "bound", Flag::Bound("tls-exporter")).unwrap(),
        [7; 32]
    );
    assert_eq!(
        data(Binding::Bound, "bound", Flag::Bound("ldap")).unwrap(),
        b"tls-server-end-point:hash"
    );
    assert_eq!(data(Binding::Unbound, "bound", Flag::Unable).unwrap(), b"");
    assert_eq!(data(Binding::Unbound, "unbound", Flag::NotOffered).unwrap(), b"");
    for (binding, origin, flag) in [
        (Binding::Bound, "bound", Flag::Unable),
        (Binding::Bound, "bound", Flag::NotOffered),
        (Binding::Bound, "bound", Flag::Bound("tls-unique")),
        (Binding::Bound, "unbound", endpoint),
        (Binding::Unbound, "unbound", endpoint),
        // An attacker has changed the list of mechanisms.
        (Binding::Unbound, "bound", Flag::NotOffered),
    ] {
        assert_eq!(data(binding, origin, flag), None, "{binding:?} {origin} {flag:?}");
    }
}
