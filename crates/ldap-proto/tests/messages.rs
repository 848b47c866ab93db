//! Messages: round trips, truncation, limits, slapd's diagnostics.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code: clippy.toml exempts test functions, not their helpers"
)]

use std::borrow::Cow;

use ironbark_ldap_proto::{
    AddRequest, Authentication, BindRequest, CompareRequest, DecodeError, DecodeLimits, DerefAliases, EncodeControl,
    ExtendedRequest, Fault, LdapResult, List, MessageId, ModifyChange, ModifyDnRequest, ModifyOperation, ModifyRequest,
    Operation, PartialAttribute, RawControls, Request, RequestMessage, Response, ResponseMessage, Scope,
    SearchEntryWriter, SearchRequest, encode_notice_of_disconnection, encode_result, encode_search_reference, frame,
    message::encode_request,
};
use ironbark_model::{Filter, ResultCode, filter::Assertion};
use proptest::prelude::*;

const LIMITS: DecodeLimits = DecodeLimits {
    filter_depth: 1000,
    filter_elements: 65_536,
    selected_attributes: 16_384,
    attributes: 65_536,
    controls: 64,
};

fn id(number: i32) -> MessageId {
    MessageId::new(number).unwrap()
}

fn encoded(request: &Request<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    encode_request(&mut out, id(7), request, &[]);
    assert_eq!(frame(&out, usize::MAX), Ok(Some(out.len())));
    out
}

fn fault_of(bytes: &[u8]) -> Fault {
    *RequestMessage::decode(bytes, &LIMITS).unwrap_err().fault()
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..20)
}

fn assertion() -> impl Strategy<Value = Assertion<'static>> {
    (bytes(), bytes()).prop_map(|(attribute, value)| Assertion {
        attribute: Cow::Owned(attribute),
        value: Cow::Owned(value),
    })
}

fn filter() -> impl Strategy<Value = Filter<'static>> {
    let parts = (
        bytes(),
        proptest::option::of(bytes()),
        proptest::collection::vec(bytes(), 0..3),
        proptest::option::of(bytes()),
    )
        .prop_filter("a substring filter has parts", |(_, initial, any, last)| {
            initial.is_some() || !any.is_empty() || last.is_some()
        });
    let leaf = prop_oneof![
        assertion().prop_map(Filter::Equality),
        assertion().prop_map(Filter::GreaterOrEqual),
        assertion().prop_map(Filter::LessOrEqual),
        assertion().prop_map(Filter::Approx),
        bytes().prop_map(|attribute| Filter::Present(Cow::Owned(attribute))),
        parts.prop_map(|(attribute, initial, any, last)| Filter::Substrings {
            attribute: Cow::Owned(attribute),
            initial: initial.map(Cow::Owned),
            any: any.into_iter().map(Cow::Owned).collect(),
            r#final: last.map(Cow::Owned),
        }),
        (bytes(), proptest::option::of(bytes()), bytes(), any::<bool>()).prop_map(
            |(rule, attribute, value, dn_attributes)| Filter::Extensible {
                rule: Some(Cow::Owned(rule)),
                attribute: attribute.map(Cow::Owned),
                value: Cow::Owned(value),
                dn_attributes,
            }
        ),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Filter::And),
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Filter::Or),
            inner.prop_map(|child| Filter::Not(Box::new(child))),
        ]
    })
}

proptest! {
    #[test]
    fn search_requests_come_back(base in bytes(), filter in filter(), names in proptest::collection::vec(bytes(), 0..5),
                                 scope in 0..4i32, deref in 0..4i32, size in 0..=0x7fff_ffffu32, types_only: bool) {
        let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let request = Request::Search(SearchRequest {
            base: &base,
            scope: Scope::from_number(scope).unwrap(),
            deref_aliases: DerefAliases::from_number(deref).unwrap(),
            size_limit: size,
            time_limit: size / 2,
            types_only,
            filter,
            attributes: List::new(&names),
        });
        let out = encoded(&request);
        let message = RequestMessage::decode(&out, &LIMITS).unwrap();
        prop_assert_eq!(&message.operation, &request);
        let mut again = Vec::new();
        message.encode(&mut again);
        prop_assert_eq!(again, out);
    }

    #[test]
    fn truncated_messages_are_refused(filter in filter(), value in bytes()) {
        let request = Request::Search(SearchRequest {
            base: &value,
            scope: Scope::BaseObject,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit: 0,
            types_only: false,
            filter,
            attributes: List::default(),
        });
        let out = encoded(&request);
        for end in 0..out.len() {
            prop_assert!(RequestMessage::decode(&out[..end], &LIMITS).is_err());
            prop_assert_eq!(frame(&out[..end], usize::MAX), Ok(None));
        }
    }

    #[test]
    fn entries_written_piecewise_decode_to_what_was_written(
        dn in bytes(),
        attributes in proptest::collection::vec((bytes(), proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..6)), 0..6),
    ) {
        let mut out = b"kept".to_vec();
        let mut writer = SearchEntryWriter::begin(&mut out, id(300), &dn);
        for (index, (name, values)) in attributes.iter().enumerate() {
            match index % 3 {
                0 => writer.attribute(name, values.iter().map(Vec::as_slice)),
                1 => {
                    let mut ready = Vec::new();
                    for value in values {
                        ironbark_ber::Writer::new(&mut ready).octet_string(value);
                    }
                    let mut attribute = ironbark_ber::Writer::new(writer.attributes());
                    attribute.constructed(0x30, |attribute| {
                        attribute.octet_string(name);
                        attribute.element(0x31, &ready);
                    });
                }
                _ => {
                    let mark = writer.begin_attribute(name);
                    for value in values {
                        writer.value(value);
                    }
                    prop_assert!(writer.end_attribute(mark));
                }
            }
        }
        writer.finish(&[]);
        prop_assert!(out.starts_with(b"kept"));
        let message = ResponseMessage::decode(&out[4..], &LIMITS).unwrap();
        let Response::SearchEntry(entry) = message.operation else { panic!("{message:?}") };
        prop_assert_eq!(entry.dn, &dn[..]);
        let found: Vec<(Vec<u8>, Vec<Vec<u8>>)> = entry
            .attributes
            .iter()
            .map(|attribute| (attribute.description.to_vec(), attribute.values.iter().map(<[u8]>::to_vec).collect()))
            .collect();
        prop_assert_eq!(found, attributes);
        let mut again = Vec::new();
        message.encode(&mut again);
        prop_assert_eq!(&again[..], &out[4..], "the writer uses the shortest lengths");
    }

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        ironbark_ldap_proto::fuzz::ldap_message(&bytes);
        ironbark_ldap_proto::fuzz::ber(&bytes);
    }
}

#[test]
fn every_request_comes_back() {
    let values: [&[u8]; 2] = [b"a", b""];
    let attributes = [PartialAttribute {
        description: b"cn",
        values: List::new(&values),
    }];
    let change = |operation, values| ModifyChange {
        operation,
        attribute: b"uidNumber",
        values,
    };
    let changes = [
        change(ModifyOperation::Add, List::new(&values)),
        change(ModifyOperation::Delete, List::default()),
        change(ModifyOperation::Replace, List::default()),
        change(ModifyOperation::Increment, List::new(&values[..1])),
    ];
    let requests = [
        Request::Bind(BindRequest {
            version: 3,
            name: b"cn=a",
            authentication: Authentication::Simple(b"secret"),
        }),
        Request::Bind(BindRequest {
            version: 3,
            name: b"",
            authentication: Authentication::Sasl {
                mechanism: b"EXTERNAL",
                credentials: Some(b""),
            },
        }),
        Request::Bind(BindRequest {
            version: 2,
            name: b"",
            authentication: Authentication::Other { identifier: 0x81 },
        }),
        Request::Unbind,
        Request::Modify(ModifyRequest {
            object: b"cn=a",
            changes: List::new(&changes),
        }),
        Request::Add(AddRequest {
            entry: b"cn=a",
            attributes: List::new(&attributes),
        }),
        Request::Delete(b"cn=a"),
        Request::ModifyDn(ModifyDnRequest {
            entry: b"cn=a,dc=x",
            new_rdn: b"cn=b",
            delete_old_rdn: true,
            new_superior: Some(b"dc=y"),
        }),
        Request::Compare(CompareRequest {
            entry: b"cn=a",
            attribute: b"sn",
            value: b"b",
        }),
        Request::Abandon(id(2_147_483_647)),
        Request::Extended(ExtendedRequest {
            name: b"1.3.6.1.4.1.4203.1.11.3",
            value: None,
        }),
    ];
    for request in requests {
        let out = encoded(&request);
        let message = RequestMessage::decode(&out, &LIMITS).unwrap();
        assert_eq!(message.operation, request);
        assert_eq!(message.id, id(7));
        assert!(message.controls.is_empty());
    }
}

#[test]
fn every_result_comes_back() {
    let uris: [&[u8]; 1] = [b"ldap://h/"];
    let result = LdapResult {
        code: ResultCode::REFERRAL,
        matched_dn: b"dc=x",
        diagnostic_message: b"elsewhere",
        referrals: List::new(&uris),
    };
    for operation in Operation::ALL {
        let mut out = Vec::new();
        encode_result(&mut out, id(9), operation, &result, &[]);
        if operation.response_tag().is_none() {
            assert!(out.is_empty());
            continue;
        }
        let message = ResponseMessage::decode(&out, &LIMITS).unwrap();
        let found = match message.operation {
            Response::Bind(response) => response.result,
            Response::Extended(response) => response.result,
            Response::Done(found, result) => {
                assert_eq!(found, operation);
                result
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(found, result);
    }
    let mut out = Vec::new();
    encode_search_reference(&mut out, id(9), &List::new(&uris), &[]);
    let message = ResponseMessage::decode(&out, &LIMITS).unwrap();
    assert_eq!(message.operation, Response::SearchReference(List::new(&uris)));
}

/// RFC 4511 §5.1 and the octets that ldapsearch(1) really sends.
#[test]
fn known_encodings() {
    let search = encoded(&Request::Search(SearchRequest {
        base: b"",
        scope: Scope::BaseObject,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit: 0,
        types_only: false,
        filter: Filter::Present(Cow::Borrowed(b"objectClass")),
        attributes: List::default(),
    }));
    let expected = b"\x30\x25\x02\x01\x07\x63\x20\x04\x00\x0a\x01\x00\x0a\x01\x00\x02\x01\x00\x02\x01\x00\x01\x01\x00\x87\x0bobjectClass\x30\x00";
    assert_eq!(search, expected);
    let mut out = Vec::new();
    encode_notice_of_disconnection(&mut out, ResultCode::PROTOCOL_ERROR, "");
    assert_eq!(
        out,
        b"\x30\x24\x02\x01\x00\x78\x1f\x0a\x01\x02\x04\x00\x04\x00\x8a\x161.3.6.1.4.1.1466.20036"
    );
}

#[test]
fn diagnostics_are_slapds() {
    let search = |scope: u8, deref: u8, size: u8, time: u8, rest: &[u8]| {
        let mut body = vec![4, 0, 10, 1, scope, 10, 1, deref, 2, 1, size, 2, 1, time, 1, 1, 0];
        body.extend_from_slice(rest);
        message(0x63, &body)
    };
    let change = |number: u8, values: &[u8]| {
        let mut attribute = vec![4, 1, b'a', 0x31, u8::try_from(values.len()).unwrap()];
        attribute.extend_from_slice(values);
        let mut change = vec![10, 1, number];
        change.extend(element(0x30, &attribute));
        let mut body = vec![4, 0];
        body.extend(element(0x30, &element(0x30, &change)));
        message(0x66, &body)
    };
    let present = [0x87, 1, b'a', 0x30, 0];
    for (bytes, text, disconnect) in [
        (search(4, 0, 0, 0, &present), "invalid scope", false),
        (search(0, 4, 0, 0, &present), "invalid deref", false),
        (search(0, 0, 0xff, 0, &present), "invalid size limit", false),
        (search(0, 0, 0, 0xff, &present), "invalid time limit", false),
        (
            search(0, 0, 0, 0, &[0xa3, 3, 4, 1, b'a']),
            "error decoding filter",
            true,
        ),
        (search(0, 0, 0, 0, &[0xa2, 0, 0x30, 0]), "error decoding filter", true),
        (search(0, 0, 0, 0, &[0x87, 1, b'a']), "decoding attrs error", true),
        (
            search(0, 0, 0, 0, &[0x87, 1, b'a', 0x30, 2, 2, 0]),
            "decoding attrs error",
            true,
        ),
        (change(0, &[]), "modify/add operation requires values", false),
        (change(3, &[]), "modify/increment operation requires value", false),
        (
            change(3, &[4, 1, b'1', 4, 1, b'2']),
            "modify/increment operation requires single value",
            false,
        ),
        (change(4, &[]), "unrecognized modify operation", false),
        (change(0, &[2, 0]), "decoding modlist error", false),
        (
            message(0x68, &[4, 0, 0x30, 7, 0x30, 5, 4, 1, b'a', 0x31, 0]),
            "no values for attribute type",
            false,
        ),
        (message(0x42, &[0]), "decoding error", true),
        (message(0x50, &[]), "decoding error", true),
        (message(0x50, &[0xff]), "decoding error", true),
        (message(0x65, &[]), "unknown LDAP request", true),
    ] {
        let fault = fault_of(&bytes);
        assert_eq!((fault.diagnostic, fault.disconnect), (text, disconnect), "{bytes:x?}");
        assert_eq!(fault.code, ResultCode::PROTOCOL_ERROR);
    }
}

fn element(identifier: u8, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    ironbark_ber::Writer::new(&mut out).element(identifier, content);
    out
}

fn message(identifier: u8, operation: &[u8]) -> Vec<u8> {
    let mut content = vec![2, 1, 1];
    content.extend(element(identifier, operation));
    element(0x30, &content)
}

#[test]
fn the_message_id_is_known_once_the_operation_is() {
    let bad = message(0x60, &[2, 1, 3]);
    assert_eq!(
        RequestMessage::decode(&bad, &LIMITS).unwrap_err().message_id(),
        Some(id(1))
    );
    for unknown in [&[0x30, 3, 2, 1, 0xff][..], &[0x30, 5, 2, 1, 1, 0x65, 0], &[0x30, 0]] {
        let error = RequestMessage::decode(unknown, &LIMITS).unwrap_err();
        assert!(matches!(error, DecodeError::Envelope { .. }), "{error:?}");
    }
}

/// RFC 4511 §4: where the ASN.1 has `...`, unknown elements are ignored.
#[test]
fn unknown_elements_are_ignored_where_sequences_are_extensible() {
    let compare = message(0x6e, &[4, 0, 0x30, 6, 4, 1, b'a', 4, 1, b'b']);
    let mut extended = vec![2, 1, 1];
    extended.extend(element(0x6e, &[4, 0, 0x30, 6, 4, 1, b'a', 4, 1, b'b', 0x8f, 1, 0]));
    extended.extend([0x9f, 0x81, 0x01, 0]);
    let extended = element(0x30, &extended);
    assert_eq!(
        RequestMessage::decode(&compare, &LIMITS),
        RequestMessage::decode(&extended, &LIMITS)
    );
    assert!(RequestMessage::decode(&extended, &LIMITS).is_ok());
}

/// RFC 4511 §4.5.1.7.
#[test]
fn an_unknown_filter_choice_is_the_presence_of_nothing() {
    let mut body = vec![4, 0, 10, 1, 0, 10, 1, 0, 2, 1, 0, 2, 1, 0, 1, 1, 0];
    body.extend([0xa0, 5, 0x8f, 0, 0x87, 1, b'a', 0x30, 0]);
    let bytes = message(0x63, &body);
    let Request::Search(search) = RequestMessage::decode(&bytes, &LIMITS).unwrap().operation else {
        panic!()
    };
    let present = |name| Filter::Present(Cow::Borrowed(name));
    assert_eq!(search.filter, Filter::And(vec![present(b""), present(b"a")]));
}

fn nested_filter(depth: usize) -> Vec<u8> {
    let mut filter = vec![0x87, 1, b'a'];
    for _ in 0..depth {
        filter = element(0xa2, &filter);
    }
    let mut body = vec![4, 0, 10, 1, 0, 10, 1, 0, 2, 1, 0, 2, 1, 0, 1, 1, 0];
    body.extend(filter);
    body.extend([0x30, 0]);
    message(0x63, &body)
}

#[test]
fn the_filter_depth_is_limited() {
    assert!(RequestMessage::decode(&nested_filter(1000), &LIMITS).is_ok());
    let fault = fault_of(&nested_filter(1001));
    assert_eq!(fault, Fault::FILTER_TOO_DEEP);
    let generous = DecodeLimits {
        filter_depth: usize::MAX,
        ..LIMITS
    };
    let deepest = nested_filter(DecodeLimits::MAX_FILTER_DEPTH);
    let message = RequestMessage::decode(&deepest, &generous).unwrap();
    drop(message);
    let error = RequestMessage::decode(&nested_filter(DecodeLimits::MAX_FILTER_DEPTH + 1), &generous).unwrap_err();
    assert_eq!(*error.fault(), Fault::FILTER_TOO_DEEP);
}

#[test]
fn counts_are_limited() {
    let limits = DecodeLimits {
        filter_elements: 4,
        selected_attributes: 2,
        controls: 1,
        ..LIMITS
    };
    let search = |count: usize, names: usize, controls: usize| {
        let names: Vec<&[u8]> = vec![b"cn"; names];
        let control = ironbark_ldap_proto::RawControl {
            oid: b"1.2.3",
            critical: false,
            value: None,
        };
        let controls: Vec<&dyn EncodeControl> = vec![&control; controls];
        let request = Request::Search(SearchRequest {
            base: b"",
            scope: Scope::BaseObject,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit: 0,
            types_only: false,
            filter: Filter::And(vec![Filter::Present(Cow::Borrowed(b"cn")); count]),
            attributes: List::new(&names),
        });
        let mut out = Vec::new();
        encode_request(&mut out, id(1), &request, &controls);
        RequestMessage::decode(&out, &limits)
            .map(|_| ())
            .map_err(|error| *error.fault())
    };
    assert_eq!(search(3, 2, 1), Ok(()));
    assert_eq!(search(4, 2, 1), Err(Fault::FILTER_TOO_BIG));
    assert_eq!(search(3, 3, 1), Err(Fault::TOO_MANY));
    assert_eq!(search(3, 2, 2), Err(Fault::TOO_MANY));
}

#[test]
fn an_entry_that_is_not_finished_is_taken_back() {
    let mut out = b"kept".to_vec();
    let mut writer = SearchEntryWriter::begin(&mut out, id(1), b"cn=a");
    writer.attribute_type(b"cn");
    let mark = writer.begin_attribute(b"sn");
    assert!(!writer.end_attribute(mark), "an attribute without values is taken back");
    assert!(writer.length() > 0);
    drop(writer);
    assert_eq!(out, b"kept");
}

#[test]
fn raw_controls_come_back_in_order() {
    let request = Request::Unbind;
    let control = |oid, critical, value| ironbark_ldap_proto::RawControl { oid, critical, value };
    let sent = [
        control(&b"1.2"[..], true, None),
        control(b"1.3", false, Some(&b"value"[..])),
    ];
    let controls: Vec<&dyn EncodeControl> = sent.iter().map(|control| control as &dyn EncodeControl).collect();
    let mut out = Vec::new();
    encode_request(&mut out, id(1), &request, &controls);
    let message = RequestMessage::decode(&out, &LIMITS).unwrap();
    assert_eq!(message.controls, RawControls::new(&sent));
}

#[test]
fn secrets_are_not_in_the_debug_form() {
    let request = Request::Bind(BindRequest {
        version: 3,
        name: b"cn=a",
        authentication: Authentication::Simple(b"hunter2"),
    });
    let out = encoded(&request);
    let text = format!("{:?}", RequestMessage::decode(&out, &LIMITS));
    // Octets print as numbers: h, u, n.
    assert!(!text.contains("104, 117, 110"), "{text}");
}
