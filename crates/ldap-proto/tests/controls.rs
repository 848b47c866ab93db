//! Controls and extended operations: round trips, criticality rules, slapd's diagnostics.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code: clippy.toml exempts test functions, not their helpers"
)]

use std::borrow::Cow;

use ironbark_ber::Writer;
use ironbark_ldap_proto::{
    DecodeLimits, EncodeControl, ExtendedRequest, Fault, LdapResult, List, MessageId, Operation, PartialAttribute,
    RawControl, Request, RequestMessage, ResponseMessage, SearchEntryWriter,
    controls::{
        AssertionControl, Control, ControlKind, ControlPolicy, ControlSet, ControlValue, Criticality,
        DereferenceRequest, DereferenceResponse, DereferenceResult, DereferenceSpecification, Descriptor, DomainScope,
        DontUseCopy, LazyCommit, ListTarget, ManageDsaIt, MatchedValues, NoOp, OverlayControl, OverlayNumber,
        OverlayRow, PagedResults, PermissiveModify, PostRead, PreRead, PreReadResponse, ProxiedAuthorization, REGISTRY,
        RelaxRules, RequestControl, RequestControls, SearchOptions, SessionTracking, SortKey, SortKeys, SortResponse,
        Subentries, TreeDelete, ValueRule, VirtualListView, VirtualListViewResponse, account_usability,
        descriptor::texts, find,
    },
    encode_result,
    extended::{cancel, password_modify, who_am_i},
    message::encode_request,
};
use ironbark_model::{Filter, ResultCode, filter::Assertion};

fn limits() -> DecodeLimits {
    DecodeLimits::default()
}

fn request(operation: Operation) -> Request<'static> {
    let empty = |identifier, content: &'static [u8]| {
        let mut out = vec![2, 1, 1, identifier, u8::try_from(content.len()).unwrap()];
        out.extend_from_slice(content);
        let mut message = vec![0x30, u8::try_from(out.len()).unwrap()];
        message.extend(out);
        let bytes: &'static [u8] = message.leak();
        RequestMessage::decode(bytes, &limits()).unwrap().operation
    };
    match operation {
        Operation::Bind => empty(0x60, &[2, 1, 3, 4, 0, 0x80, 0]),
        Operation::Unbind => Request::Unbind,
        Operation::Search => empty(
            0x63,
            &[4, 0, 10, 1, 0, 10, 1, 0, 2, 1, 0, 2, 1, 0, 1, 1, 0, 0xa0, 0, 0x30, 0],
        ),
        Operation::Modify => empty(0x66, &[4, 0, 0x30, 0]),
        Operation::Add => empty(0x68, &[4, 0, 0x30, 0]),
        Operation::Delete => Request::Delete(b""),
        Operation::ModifyDn => empty(0x6c, &[4, 0, 4, 0, 1, 1, 0]),
        Operation::Compare => empty(0x6e, &[4, 0, 0x30, 4, 4, 0, 4, 0]),
        Operation::Abandon => Request::Abandon(MessageId::UNSOLICITED),
        Operation::Extended => Request::Extended(who_am_i::request()),
    }
}

/// Sends controls with a request and decodes them. The bytes are leaked so that results can be compared.
fn sent(operation: Operation, controls: &[&dyn EncodeControl]) -> Result<RequestControls<'static>, Fault> {
    sent_under(operation, controls, ControlPolicy::default())
}

fn sent_under(
    operation: Operation,
    controls: &[&dyn EncodeControl],
    policy: ControlPolicy<'_>,
) -> Result<RequestControls<'static>, Fault> {
    let mut out = Vec::new();
    let request = request(operation);
    encode_request(&mut out, MessageId::new(1).unwrap(), &request, controls);
    let bytes: &'static [u8] = out.leak();
    let message = RequestMessage::decode(bytes, &limits()).unwrap();
    RequestControls::decode(&message.controls, &message.operation, &policy, &limits())
}

fn raw(oid: &'static str, critical: bool, value: Option<&'static [u8]>) -> RawControl<'static> {
    RawControl {
        oid: oid.as_bytes(),
        critical,
        value,
    }
}

fn equality() -> Filter<'static> {
    Filter::Equality(Assertion {
        attribute: Cow::Borrowed(b"sn"),
        value: Cow::Borrowed(b"x"),
    })
}

#[test]
fn search_controls_come_back() {
    let names: [&[u8]; 2] = [b"uid", b"cn"];
    let keys = [
        SortKey {
            attribute: b"sn",
            ordering_rule: Some(b"2.5.13.3"),
            reverse: true,
        },
        SortKey {
            attribute: b"cn",
            ordering_rule: None,
            reverse: false,
        },
    ];
    let specifications = [DereferenceSpecification {
        attribute: b"member",
        attributes: List::new(&names),
    }];
    let assertion = Control::critical(AssertionControl(equality()));
    let matched = Control::critical(MatchedValues(vec![equality(), Filter::Present(Cow::Borrowed(b"cn"))]));
    let paged = Control::optional(PagedResults {
        size: 2_147_483_647,
        cookie: b"c",
    });
    let sort = Control::optional(SortKeys(List::new(&keys)));
    let subentries = Control::critical(Subentries { visible: true });
    let proxied = Control::critical(ProxiedAuthorization(b"dn:cn=a"));
    let tracking = Control::optional(SessionTracking {
        source_ip: b"10.0.0.1",
        source_name: b"",
        format_oid: b"1.3.6.1.4.1.21008.108.63.1.3",
        identifier: b"jdoe",
    });
    let dereference = Control::optional(DereferenceRequest(List::new(&specifications)));
    let found = sent(
        Operation::Search,
        &[
            &assertion,
            &matched,
            &paged,
            &sort,
            &subentries,
            &proxied,
            &tracking,
            &dereference,
        ],
    )
    .unwrap();
    let expected = RequestControls {
        assertion: Some(assertion),
        matched_values: Some(matched),
        paged_results: Some(paged),
        server_side_sort: Some(sort),
        subentries: Some(subentries),
        proxied_authorization: Some(proxied),
        session_tracking: Some(tracking),
        dereference: Some(dereference),
        ..RequestControls::default()
    };
    assert_eq!(found, expected);
    assert_eq!(found.session_tracking.unwrap().value.format_name(), b"USERNAME");
}

#[test]
fn controls_without_a_value_come_back() {
    let domain_scope = Control::optional(DomainScope);
    let copy = Control::critical(DontUseCopy);
    let lazy = Control::optional(LazyCommit);
    let manage = Control::critical(ManageDsaIt);
    let no_op = Control::critical(NoOp);
    let found = sent(Operation::Search, &[&domain_scope, &copy, &lazy, &manage, &no_op]).unwrap();
    let expected = RequestControls {
        domain_scope: Some(domain_scope),
        dont_use_copy: Some(copy),
        lazy_commit: Some(lazy),
        manage_dsa_it: Some(manage),
        no_op: Some(no_op),
        ..RequestControls::default()
    };
    assert_eq!(found, expected);
}

#[test]
fn update_controls_come_back() {
    let names: [&[u8]; 2] = [b"*", b"+"];
    let pre = Control::critical(PreRead(List::new(&names)));
    let post = Control::optional(PostRead(List::default()));
    let permissive = Control::critical(PermissiveModify);
    let relax = Control::critical(RelaxRules);
    let found = sent(Operation::Modify, &[&pre, &post, &permissive, &relax]).unwrap();
    assert_eq!(found.pre_read, Some(pre));
    assert_eq!(found.post_read, Some(post));
    assert_eq!(found.permissive_modify, Some(permissive));
    assert_eq!(found.relax_rules, Some(relax));
    let tree = Control::critical(TreeDelete);
    assert_eq!(sent(Operation::Delete, &[&tree]).unwrap().tree_delete, Some(tree));
    let options = Control::critical(SearchOptions { flags: 1 });
    let found = sent(Operation::Search, &[&options]).unwrap();
    assert!(found.search_options.unwrap().value.domain_scope());
}

#[test]
fn unknown_controls_are_ignored_unless_critical() {
    assert_eq!(
        sent(Operation::Search, &[&raw("1.2.3", false, Some(b"?"))]),
        Ok(RequestControls::default())
    );
    assert_eq!(
        sent(Operation::Search, &[&raw("1.2.3", true, None)]),
        Err(Fault::refused(
            ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
            "critical extension is not recognized"
        ))
    );
    assert!(sent(Operation::Unbind, &[&raw("1.2.3", true, None)]).is_ok());
    assert_eq!(
        sent(Operation::Search, &[&raw("", false, None)])
            .unwrap_err()
            .diagnostic,
        "OID field is empty"
    );
}

/// RFC 4511 §4.1.11, for every control and operation of the registry.
#[test]
fn inappropriate_controls_are_ignored_unless_critical() {
    for row in REGISTRY.iter().map(|row| row.descriptor) {
        for operation in Operation::ALL {
            let extended = (operation == Operation::Extended).then_some(who_am_i::OID.as_bytes());
            if row.applies_to(operation, extended) || operation == Operation::Unbind {
                continue;
            }
            // Not even the value is checked.
            assert_eq!(
                sent(operation, &[&raw(row.oid, false, Some(b"junk"))]),
                Ok(RequestControls::default()),
                "{} {operation:?}",
                row.name
            );
            assert_eq!(
                sent(operation, &[&raw(row.oid, true, Some(b"junk"))]).unwrap_err(),
                Fault::refused(
                    ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
                    "critical extension is unavailable"
                )
            );
        }
    }
}

/// For every row: duplicates, forbidden values, missing values, malformed values.
#[test]
fn value_rules_hold() {
    for row in REGISTRY.iter().map(|row| row.descriptor) {
        let operation = row.operations[0];
        let is_critical = matches!(row.criticality, Criticality::MustBeTrue { .. });
        let refused = |value: Option<&'static [u8]>| {
            sent(operation, &[&raw(row.oid, is_critical, value)]).map_err(|fault| fault.diagnostic)
        };
        match row.value {
            ValueRule::Absent => {
                assert!(refused(None).is_ok());
                assert_eq!(refused(Some(b"")), Err(row.texts.not_absent));
                assert_eq!(refused(Some(b"x")), Err(row.texts.not_absent));
            }
            ValueRule::AbsentOrEmpty => {
                assert!(refused(None).is_ok());
                assert!(refused(Some(b"")).is_ok());
                assert_eq!(refused(Some(b"x")), Err(row.texts.not_absent));
            }
            ValueRule::Present => assert_eq!(refused(None), Err(row.texts.absent)),
            ValueRule::NotEmpty => {
                assert_eq!(refused(None), Err(row.texts.absent));
                assert_eq!(refused(Some(b"")), Err(row.texts.empty));
                assert!(refused(Some(b"\x30\x05junk")).is_err(), "{}", row.name);
            }
        }
        // slapd accepts the account usability control twice.
        if row.value == ValueRule::Absent && row.oid != account_usability::DESCRIPTOR.oid {
            let twice = raw(row.oid, false, None);
            let fault = sent(operation, &[&twice, &twice]).unwrap_err();
            assert_eq!(
                (fault.code, fault.diagnostic),
                (ResultCode::PROTOCOL_ERROR, row.texts.duplicate)
            );
        }
    }
}

#[test]
fn criticality_rules_hold() {
    let tracking = Control::critical(SessionTracking {
        source_ip: b"",
        source_name: b"",
        format_oid: b"1.2",
        identifier: b"",
    });
    assert_eq!(
        sent(Operation::Search, &[&tracking]).unwrap_err().diagnostic,
        "sessionTracking criticality is TRUE"
    );
    let proxied = Control::optional(ProxiedAuthorization(b""));
    assert!(sent(Operation::Search, &[&proxied]).is_ok());
    let strict = ControlPolicy {
        must_be_critical: ControlSet::NONE.with(ControlKind::ProxiedAuthorization),
        ..ControlPolicy::default()
    };
    assert_eq!(
        sent_under(Operation::Search, &[&proxied], strict)
            .unwrap_err()
            .diagnostic,
        "proxied authorization criticality of FALSE not allowed"
    );
}

#[test]
fn a_control_that_is_switched_off_is_not_recognized() {
    let policy = ControlPolicy {
        available: ControlSet::ALL.without(ControlKind::Dereference),
        ..ControlPolicy::default()
    };
    let control = raw("1.3.6.1.4.1.4203.666.5.16", true, Some(b"junk"));
    let fault = sent_under(Operation::Search, &[&control], policy).unwrap_err();
    assert_eq!(fault.diagnostic, "critical extension is not recognized");
}

#[test]
fn malformed_values_have_slapds_texts() {
    let diagnostic = |operation, oid, value| sent(operation, &[&raw(oid, true, Some(value))]).unwrap_err().diagnostic;
    for (oid, value, text) in [
        (
            "1.2.840.113556.1.4.319",
            &b"\x30\x00"[..],
            "paged results control could not be decoded",
        ),
        (
            "1.2.840.113556.1.4.319",
            b"\x30\x05\x02\x01\xff\x04\x00",
            "paged results control size invalid",
        ),
        (
            "1.2.840.113556.1.4.473",
            b"\x30\x00",
            "serverSort control: decoding error",
        ),
        ("1.3.6.1.1.12", b"\xa3\x00", "error decoding filter"),
        (
            "1.2.826.0.1.3344810.2.3",
            b"\xa3\x00",
            "error decoding vrFilter, expect SEQUENCE tag",
        ),
        (
            "1.3.6.1.4.1.4203.1.10.1",
            b"\x01\x02\x00\x00",
            "subentries control value encoding is bogus",
        ),
        (
            "1.2.840.113556.1.4.1340",
            b"\x30\x00",
            "searchOptions control decoding error",
        ),
        (
            "1.2.840.113556.1.4.1340",
            b"\x30\x03\x02\x01\x02",
            "searchOptions contained unrecognized flag",
        ),
        (
            "1.3.6.1.4.1.4203.666.5.16",
            b"\x30\x07\x30\x05\x04\x01\x61\x30\x00",
            "Dereference control: derefSpec decoding error",
        ),
    ] {
        assert_eq!(diagnostic(Operation::Search, oid, value), text);
    }
    assert_eq!(
        diagnostic(Operation::Modify, "1.3.6.1.1.13.1", b"\x30\x02\x02\x00"),
        "preread control: decoding error"
    );
    let session = |value| {
        sent(
            Operation::Search,
            &[&raw("1.3.6.1.4.1.21008.108.63.1", false, Some(value))],
        )
    };
    assert_eq!(
        session(b"\x30\x0a\x04\x00\x04\x00\x04\x021.\x04\x00")
            .unwrap_err()
            .diagnostic,
        "sessionTracking.formatOID invalid"
    );
}

#[test]
fn response_controls_come_back() {
    let values: [&[u8]; 1] = [b"jdoe"];
    let attributes = [PartialAttribute {
        description: b"uid",
        values: List::new(&values),
    }];
    let results = [
        DereferenceResult {
            attribute: b"member",
            value: b"cn=a",
            attributes: List::new(&attributes),
        },
        DereferenceResult {
            attribute: b"member",
            value: b"cn=b",
            attributes: List::default(),
        },
    ];
    let sort = SortResponse {
        code: ResultCode::NO_SUCH_ATTRIBUTE,
        attribute: Some(b"sn"),
    };
    let dereference = DereferenceResponse(List::new(&results));
    let mut entry = Vec::new();
    let mut writer = SearchEntryWriter::begin_value(&mut entry, b"cn=a");
    writer.attribute(b"uid", values);
    writer.finish(&[]);
    let mut out = Vec::new();
    encode_result(
        &mut out,
        MessageId::new(1).unwrap(),
        Operation::Modify,
        &LdapResult::new(ResultCode::SUCCESS),
        &[
            &Control::optional(sort),
            &Control::optional(dereference),
            &Control::optional(PreReadResponse(&entry)),
            &Control::optional(PagedResults { size: 3, cookie: b"c" }),
        ],
    );
    let message = ResponseMessage::decode(&out, &limits()).unwrap();
    let value = |oid| find(&message.controls, oid).and_then(|control| control.value).unwrap();
    assert_eq!(SortResponse::decode_value(value("1.2.840.113556.1.4.474")), Ok(sort));
    assert_eq!(
        DereferenceResponse::decode_value(value("1.3.6.1.4.1.4203.666.5.16")),
        Ok(dereference)
    );
    assert_eq!(
        PagedResults::decode_value(value("1.2.840.113556.1.4.319"))
            .unwrap()
            .size,
        3
    );
    let read = PreReadResponse(value("1.3.6.1.1.13.1")).entry().unwrap();
    assert_eq!((read.dn, read.attributes), (&b"cn=a"[..], List::new(&attributes)));
}

/// RFC 3062 §2.
#[test]
fn password_modify_has_optional_fields() {
    use password_modify::PasswordModifyRequest as Modify;
    for request in [
        Modify::default(),
        Modify {
            user_identity: Some(b"cn=a"),
            ..Modify::default()
        },
        Modify {
            user_identity: Some(b""),
            old_password: Some(b"o"),
            new_password: Some(b"n"),
        },
    ] {
        let mut value = Vec::new();
        request.encode(&mut value);
        assert_eq!(Modify::decode(Some(&value)), Ok(request));
    }
    assert_eq!(Modify::decode(None), Ok(Modify::default()));
    for (value, text) in [
        (&b""[..], "empty request data field"),
        (b"\x30\x02\x83\x00", "data decoding error"),
        (b"\x30\x02\x81\x00", "old password value is empty"),
        (b"\x30\x02\x82\x00", "new password value is empty"),
    ] {
        assert_eq!(Modify::decode(Some(value)).unwrap_err().diagnostic, text);
    }
    let mut value = Vec::new();
    password_modify::encode_generated_password(&mut value, b"secret");
    assert_eq!(
        password_modify::decode_generated_password(&value),
        Ok(Some(&b"secret"[..]))
    );
}

/// RFC 3909 §2.1.
#[test]
fn cancel_names_a_message() {
    let id = MessageId::new(70_000).unwrap();
    let mut value = Vec::new();
    cancel::encode_request(&mut value, id);
    assert_eq!(cancel::decode_request(Some(&value)), Ok(id));
    for (value, text) in [
        (None, "no message ID supplied"),
        (Some(&b""[..]), "empty request data field"),
        (Some(b"\x30\x00"), "message ID parse failed"),
        (Some(b"\x30\x03\x02\x01\xff"), "message ID invalid"),
    ] {
        assert_eq!(cancel::decode_request(value).unwrap_err().diagnostic, text);
    }
}

#[test]
fn extended_requests_take_the_controls_of_their_own_list() {
    let proxied = Control::critical(ProxiedAuthorization(b"dn:cn=a"));
    assert!(
        sent(Operation::Extended, &[&proxied])
            .unwrap()
            .proxied_authorization
            .is_some()
    );
    let cancel = Request::Extended(ExtendedRequest {
        name: cancel::OID.as_bytes(),
        value: None,
    });
    let mut out = Vec::new();
    encode_request(&mut out, MessageId::new(1).unwrap(), &cancel, &[&proxied]);
    let message = RequestMessage::decode(&out, &limits()).unwrap();
    let policy = ControlPolicy::default();
    let fault = RequestControls::decode(&message.controls, &message.operation, &policy, &limits()).unwrap_err();
    assert_eq!(fault.code, ResultCode::UNAVAILABLE_CRITICAL_EXTENSION);
}

#[test]
fn list_views_come_back() {
    const MOST: u32 = 2_147_483_647;
    let targets = [
        ListTarget::Offset {
            offset: MOST,
            content_count: MOST,
        },
        ListTarget::Offset {
            offset: 0,
            content_count: 0,
        },
        ListTarget::Value(b"Ann"),
        ListTarget::Value(b""),
    ];
    for target in targets {
        for context_id in [None, Some(&b""[..]), Some(b"context!")] {
            let view = Control::critical(VirtualListView {
                before: 128,
                after: MOST,
                target,
                context_id,
            });
            assert_eq!(sent(Operation::Search, &[&view]).unwrap().virtual_list_view, Some(view));
        }
    }
}

#[test]
fn what_libldap_sends_for_a_list_view_is_read() {
    let read = |value| {
        let view = raw("2.16.840.1.113730.3.4.9", false, Some(value));
        sent(Operation::Search, &[&view]).map(|controls| controls.virtual_list_view.unwrap().value)
    };
    assert_eq!(
        read(b"\x30\x0e\x02\x01\x00\x02\x01\x13\xa0\x06\x02\x01\x01\x02\x01\x00"),
        Ok(VirtualListView {
            before: 0,
            after: 19,
            target: ListTarget::Offset {
                offset: 1,
                content_count: 0
            },
            context_id: None,
        })
    );
    assert_eq!(
        read(b"\x30\x0c\x02\x01\x09\x02\x01\x0a\x81\x01B\x04\x01x"),
        Ok(VirtualListView {
            before: 9,
            after: 10,
            target: ListTarget::Value(b"B"),
            context_id: Some(b"x"),
        })
    );
    for (value, what) in [
        (&b"\x30\x00"[..], "nothing"),
        (b"\x02\x01\x00", "no sequence"),
        (b"\x30\x03\x02\x01\x00", "no count behind"),
        (b"\x30\x06\x02\x01\x00\x02\x01\x00", "no target"),
        (
            b"\x30\x0b\x02\x01\x00\x02\x01\x00\xa0\x03\x02\x01\x01",
            "half an offset",
        ),
        (
            b"\x30\x0e\x02\x01\xff\x02\x01\x00\xa0\x06\x02\x01\x01\x02\x01\x00",
            "negative before",
        ),
        (
            b"\x30\x0e\x02\x01\x00\x02\x01\x80\xa0\x06\x02\x01\x01\x02\x01\x00",
            "negative behind",
        ),
        (
            b"\x30\x0e\x02\x01\x00\x02\x01\x00\xa0\x06\x02\x01\xff\x02\x01\x00",
            "negative offset",
        ),
        (
            b"\x30\x0e\x02\x01\x00\x02\x01\x00\xa0\x06\x02\x01\x01\x02\x01\xff",
            "negative count",
        ),
        (
            b"\x30\x12\x02\x05\x00\x80\x00\x00\x00\x02\x01\x00\xa0\x06\x02\x01\x01\x02\x01\x00",
            "2^31",
        ),
        (
            b"\x30\x0e\x02\x01\x00\x02\x01\x00\x80\x06\x02\x01\x01\x02\x01\x00",
            "another choice",
        ),
    ] {
        let fault = read(value).unwrap_err();
        assert_eq!(fault.code, ResultCode::PROTOCOL_ERROR, "{what}");
        assert_eq!(fault.diagnostic, "vlv control decoding error", "{what}");
    }
}

#[test]
fn what_became_of_a_list_view_comes_back() {
    for context_id in [None, Some(&b"context!"[..])] {
        let response = VirtualListViewResponse {
            target_position: 78_525,
            content_count: 2_147_483_647,
            code: ResultCode::OFFSET_RANGE_ERROR,
            context_id,
        };
        let mut out = Vec::new();
        let result = LdapResult::new(ResultCode::VIRTUAL_LIST_VIEW_ERROR);
        let control = Control::optional(response);
        encode_result(
            &mut out,
            MessageId::new(1).unwrap(),
            Operation::Search,
            &result,
            &[&control],
        );
        let message = ResponseMessage::decode(&out, &limits()).unwrap();
        let value = find(&message.controls, "2.16.840.1.113730.3.4.10").and_then(|control| control.value);
        assert_eq!(VirtualListViewResponse::decode_value(value.unwrap()), Ok(response));
    }
    assert!(VirtualListViewResponse::decode_value(b"\x30\x09\x02\x01\xff\x02\x01\x00\x0a\x01\x00").is_err());
}

#[test]
fn the_number_of_sort_keys_is_limited() {
    let key = SortKey {
        attribute: b"cn",
        ordering_rule: None,
        reverse: false,
    };
    let keys = vec![key; limits().selected_attributes + 1];
    let decoded = |keys: &[SortKey<'_>]| {
        let keys = Control::optional(SortKeys(List::new(keys)));
        sent(Operation::Search, &[&keys]).map(|_| ())
    };
    assert_eq!(decoded(&keys[1..]), Ok(()));
    assert_eq!(decoded(&keys), Err(Fault::TOO_MANY));
    assert_eq!(
        decoded(&[]).map_err(|fault| fault.code),
        Err(ironbark_model::ResultCode::PROTOCOL_ERROR)
    );
}

/// A control that only an overlay knows, with a number as its value.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Numbered(u8);

impl ControlValue for Numbered {
    const OID: &'static str = NUMBERED.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.raw(&[self.0]);
    }
}

impl RequestControl<'_> for Numbered {
    const DESCRIPTOR: &'static Descriptor = &NUMBERED;

    fn decode(value: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        match value {
            [number] => Ok(Self(*number)),
            _ => Err(NUMBERED.malformed()),
        }
    }
}

const NUMBERED: Descriptor = Descriptor {
    oid: "1.3.6.1.4.1.99999.1",
    name: "numbered",
    operations: &[Operation::Search],
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::NotEmpty,
    advertised: true,
    texts: texts!("numbered control"),
};

#[test]
fn a_control_of_an_overlay_is_obeyed_where_the_policy_has_it() {
    static CONTROL: OverlayControl = OverlayControl::of::<Numbered>();
    let kind = ControlKind::OfOverlay(OverlayNumber::new(63).unwrap());
    assert_eq!(OverlayNumber::new(64), None);
    let rows = [OverlayRow {
        kind,
        control: &CONTROL,
    }];
    let policy = ControlPolicy {
        of_overlays: &rows,
        ..ControlPolicy::default()
    };
    let sent = |controls: &[&dyn EncodeControl]| sent_under(Operation::Search, controls, policy);
    let mut read = sent(&[&Control::critical(Numbered(7))]).unwrap();
    assert_eq!(read.decoded::<Numbered>(), Some(Control::critical(Numbered(7))));
    assert!(read.present().contains(kind) && read.critical().contains(kind) && ControlSet::OF_OVERLAYS.contains(kind));
    read.remove(ControlSet::NONE.with(kind));
    assert_eq!(read, RequestControls::default());
    let read = sent(&[&Control::optional(Numbered(7)), &Control::critical(ManageDsaIt)]).unwrap();
    assert!(read.sent(&NUMBERED).is_some_and(|sent| !sent.critical) && !read.critical().contains(kind));

    let twice = Control::optional(Numbered(7));
    for (controls, text) in [
        (&[&twice as &dyn EncodeControl, &twice][..], NUMBERED.texts.duplicate),
        (&[&raw(NUMBERED.oid, false, None)], NUMBERED.texts.absent),
        (&[&raw(NUMBERED.oid, false, Some(b""))], NUMBERED.texts.empty),
        (&[&raw(NUMBERED.oid, false, Some(b"xx"))], NUMBERED.texts.malformed),
    ] {
        let fault = sent(controls).unwrap_err();
        assert_eq!((fault.code, fault.diagnostic), (ResultCode::PROTOCOL_ERROR, text));
    }
    let unavailable = |operation, policy| {
        let refused = sent_under(operation, &[&Control::critical(Numbered(7))], policy);
        assert_eq!(
            sent_under(operation, &[&Control::optional(Numbered(7))], policy),
            Ok(RequestControls::default())
        );
        refused.unwrap_err().diagnostic
    };
    assert_eq!(
        unavailable(Operation::Modify, policy),
        "critical extension is unavailable"
    );
    let without = unavailable(Operation::Search, ControlPolicy::default());
    assert_eq!(without, "critical extension is not recognized");
}
