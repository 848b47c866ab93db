//! Tests of the encoding of Verify Credentials.

use super::*;
use crate::{ExtendedRequest, MessageId, RawControl, Request, message::encode_request};

/// An authorization identity request, critical, without a value.
const CONTROL: RawControl<'_> = RawControl {
    oid: b"2.16.840.1.113730.3.4.16",
    critical: true,
    value: None,
};

fn requests<'a>(controls: &'a [RawControl<'a>]) -> [VerifyCredentialsRequest<'a>; 3] {
    let simple = VerifyCredentialsRequest {
        cookie: None,
        name: b"cn=a,dc=ex",
        authentication: Authentication::Simple(b"secret"),
        controls: List::new(controls),
    };
    let first = VerifyCredentialsRequest {
        name: b"",
        authentication: Authentication::Sasl {
            mechanism: b"PLAIN",
            credentials: None,
        },
        ..simple
    };
    let next = VerifyCredentialsRequest {
        cookie: Some(b"12345678"),
        authentication: Authentication::Sasl {
            mechanism: b"SCRAM-SHA-256",
            credentials: Some(b"c=biws"),
        },
        ..first
    };
    [simple, first, next]
}

#[test]
fn requests_come_back_and_what_is_cut_or_longer_is_refused() {
    let limits = DecodeLimits::default();
    for controls in [&[][..], &[CONTROL], &[CONTROL, CONTROL]] {
        for request in requests(controls) {
            let mut value = Vec::new();
            request.encode(&mut value);
            assert_eq!(VerifyCredentialsRequest::decode(Some(&value), &limits), Ok(request));
            for length in 0..value.len() {
                let cut = VerifyCredentialsRequest::decode(value.get(..length), &limits);
                assert_eq!(cut.unwrap_err().code, ResultCode::PROTOCOL_ERROR, "{length}");
            }
            value.push(0);
            assert!(VerifyCredentialsRequest::decode(Some(&value), &limits).is_err());
        }
    }
    assert!(VerifyCredentialsRequest::decode(None, &limits).is_err());
}

/// As libldap's `ber_printf` writes them: `{stO}` and `{tOst{sON}t{{sbN}N}}`.
#[test]
fn octets_of_a_request_are_those_of_libldap() {
    let [simple, _, _] = requests(&[]);
    let mut value = Vec::new();
    simple.encode(&mut value);
    assert_eq!(value, b"\x30\x14\x04\x0acn=a,dc=ex\x80\x06secret");
    let controls = [RawControl { oid: b"1.2", ..CONTROL }];
    let [_, _, next] = requests(&controls);
    let mut value = Vec::new();
    next.encode(&mut value);
    let expected = b"\x30\x31\x80\x0812345678\x04\x00\xa3\x17\x04\x0dSCRAM-SHA-256\x04\x06c=biws\
        \xa2\x0a\x30\x08\x04\x031.2\x01\x01\xff";
    assert_eq!(value, expected);
}

#[test]
fn a_cookie_belongs_to_sasl_and_controls_are_counted() {
    let limits = DecodeLimits {
        controls: 1,
        ..DecodeLimits::default()
    };
    let controls = [CONTROL, CONTROL];
    let [simple, _, _] = requests(&controls);
    let mut value = Vec::new();
    simple.encode(&mut value);
    let refused = VerifyCredentialsRequest::decode(Some(&value), &limits);
    assert_eq!(refused, Err(Fault::TOO_MANY));
    let mut value = Vec::new();
    VerifyCredentialsRequest {
        cookie: Some(b""),
        controls: RawControls::default(),
        ..simple
    }
    .encode(&mut value);
    let refused = VerifyCredentialsRequest::decode(Some(&value), &limits);
    assert_eq!(refused.unwrap_err().code, ResultCode::PROTOCOL_ERROR);
}

#[test]
fn responses_come_back() {
    let controls = [CONTROL];
    for (cookie, credentials, controls) in [
        (None, None, &[][..]),
        (Some(&b"12345678"[..]), Some(&b""[..]), &controls[..]),
        (None, Some(&b"v=x"[..]), &[]),
    ] {
        let response = VerifyCredentialsResponse {
            code: ResultCode::INVALID_CREDENTIALS,
            diagnostic_message: b"text",
            cookie,
            server_sasl_credentials: credentials,
            controls: List::new(controls),
        };
        let mut value = Vec::new();
        response.encode(&mut value);
        assert_eq!(VerifyCredentialsResponse::decode(&value), Ok(response));
        for length in 0..value.len() {
            assert!(VerifyCredentialsResponse::decode(value.get(..length).unwrap()).is_err());
        }
    }
}

#[test]
fn no_debug_form_has_a_secret() {
    for request in requests(&[]) {
        let text = format!("{request:?}");
        assert!(!text.contains("secret") && !text.contains("biws"), "{text}");
    }
}

#[test]
fn a_message_is_known_by_its_oid() {
    let of = |name: &str| {
        let mut message = Vec::new();
        let request = ExtendedRequest {
            name: name.as_bytes(),
            value: Some(b"x"),
        };
        let id = MessageId::new(70_000).unwrap();
        encode_request(&mut message, id, &Request::Extended(request), &[]);
        is_request(&message)
    };
    assert!(of(OID));
    assert!(!of("1.3.6.1.4.1.4203.666.6.4") && !of("1.3.6.1.4.1.4203.666.6.55") && !of(""));
    let mut unbind = Vec::new();
    encode_request(&mut unbind, MessageId::new(1).unwrap(), &Request::Unbind, &[]);
    assert!(!is_request(&unbind) && !is_request(&[]) && !is_request(&[0x30, 0xff]));
}
