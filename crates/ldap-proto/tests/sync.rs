//! Content synchronization (RFC 4533): every message comes back as it was sent, and others are refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

use ironbark_ldap_proto::{
    DecodeLimits, EncodeControl, IntermediateResponse, MessageId, Response, ResponseMessage, SearchEntryWriter,
    SyncInfo, Uuids,
    controls::{
        Control, ControlValue, DirSyncRequest, DirSyncResponse, EntryState, RequestControl, SyncDone, SyncRequest,
        SyncState,
    },
    encode_around, encode_sync_info, operation_of,
    response::sync_info,
};
use ironbark_model::ResultCode;

fn value_of(control: &impl ControlValue) -> Vec<u8> {
    let mut out = Vec::new();
    control.write_value(&mut ironbark_ber::Writer::new(&mut out));
    out
}

#[test]
fn a_request_comes_back() {
    let limits = DecodeLimits::default();
    for persists in [false, true] {
        for cookie in [None, Some(&b""[..]), Some(&b"rid=001,sid=002"[..])] {
            for reload_hint in [false, true] {
                let request = SyncRequest {
                    persists,
                    cookie,
                    reload_hint,
                };
                assert_eq!(SyncRequest::decode(&value_of(&request), &limits), Ok(request));
            }
        }
    }
    // As OpenLDAP's ldapsearch sends it: the hint is there though it is the default.
    let plain = SyncRequest::decode(b"\x30\x06\x0a\x01\x03\x01\x01\x00", &limits).unwrap();
    assert!(plain.persists && !plain.reload_hint && plain.cookie.is_none());
}

#[test]
fn a_malformed_request_is_a_protocol_error() {
    let modes = [
        &b"\x30\x03\x0a\x01\x00"[..],
        b"\x30\x03\x0a\x01\x02",
        b"\x30\x03\x0a\x01\x04",
    ];
    for value in modes
        .into_iter()
        .chain([&b"\x30\x00"[..], b"", b"\x30\x06\x0a\x01\x01\x04\x05a"])
    {
        let fault = SyncRequest::decode(value, &DecodeLimits::default()).unwrap_err();
        assert_eq!(fault.code, ResultCode::PROTOCOL_ERROR);
        assert_eq!(fault.diagnostic, "Sync control : decoding error");
    }
}

#[test]
fn states_and_ends_come_back() {
    for state in [
        EntryState::Present,
        EntryState::Add,
        EntryState::Modify,
        EntryState::Delete,
    ] {
        for cookie in [None, Some(&b"rid=001"[..])] {
            let sent = SyncState {
                state,
                uuid: *b"0123456789abcdef",
                cookie,
            };
            assert_eq!(SyncState::decode_value(&value_of(&sent)), Ok(sent));
        }
    }
    for cookie in [None, Some(&b"rid=001"[..])] {
        for refresh_deletes in [false, true] {
            let sent = SyncDone {
                cookie,
                refresh_deletes,
            };
            assert_eq!(SyncDone::decode_value(&value_of(&sent)), Ok(sent));
        }
    }
    let short = b"\x30\x08\x0a\x01\x01\x04\x03abc";
    assert!(SyncState::decode_value(short).is_err(), "a UUID has 16 octets");
    assert!(SyncState::decode_value(b"\x30\x15\x0a\x01\x09\x04\x100123456789abcdef").is_err());
}

#[test]
fn messages_between_entries_come_back() {
    let uuids = [*b"0123456789abcdef", [7; 16]];
    let mut sent = vec![SyncInfo::NewCookie(b"rid=001")];
    for cookie in [None, Some(&b"rid=001"[..])] {
        for flag in [false, true] {
            sent.push(SyncInfo::RefreshDelete { cookie, done: flag });
            sent.push(SyncInfo::RefreshPresent { cookie, done: flag });
            sent.push(SyncInfo::IdSet {
                cookie,
                deletes: flag,
                uuids: Uuids::Plain(&uuids),
            });
        }
    }
    for info in sent {
        let mut out = Vec::new();
        encode_sync_info(&mut out, MessageId::new(2).unwrap(), &info);
        let message = ResponseMessage::decode(&out, &DecodeLimits::default()).unwrap();
        let Response::Intermediate(response) = message.operation else {
            unreachable!("it is an intermediate response")
        };
        let found = SyncInfo::of(&response).unwrap().unwrap();
        if let (
            SyncInfo::IdSet {
                uuids: one,
                cookie,
                deletes,
            },
            SyncInfo::IdSet {
                uuids: two,
                cookie: c,
                deletes: d,
            },
        ) = (found, info)
        {
            assert_eq!(
                (one.iter().collect::<Vec<_>>(), cookie, deletes),
                (two.iter().collect(), c, d)
            );
        } else {
            assert_eq!(found, info);
        }
    }
}

#[test]
fn other_messages_are_not_taken_for_sync_info() {
    let of = |name: Option<&'static [u8]>, value: Option<&'static [u8]>| {
        SyncInfo::of(&IntermediateResponse { name, value }).map(|found| found.is_some())
    };
    let name = Some(sync_info::OID.as_bytes());
    assert_eq!(of(Some(b"1.2.3"), Some(b"\x80\x00")), Ok(false));
    assert_eq!(of(None, None), Ok(false));
    assert_eq!(of(name, Some(b"\xa1\x00")), Ok(true));
    for value in [
        None,
        Some(&b""[..]),
        Some(b"\x84\x00"),
        Some(b"\xa3\x00"),
        Some(b"\xa3\x06\x31\x04\x04\x02ab"),
    ] {
        assert!(of(name, value).is_err());
    }
}

/// An entry is encoded once for several consumers.
#[test]
fn an_encoded_operation_goes_into_another_message() {
    let state = Control::optional(SyncState {
        state: EntryState::Modify,
        uuid: [7; 16],
        cookie: Some(b"rid=001"),
    });
    let encoded = |id: i32, controls: &[&dyn EncodeControl]| {
        let mut out = Vec::new();
        let mut writer = SearchEntryWriter::begin(&mut out, MessageId::new(id).unwrap(), b"cn=a");
        writer.attribute(b"cn", [&b"a"[..]]);
        writer.finish(controls);
        out
    };
    let (plain, other) = (encoded(3, &[]), encoded(100_000, &[&state]));
    let operation = operation_of(&plain).expect("a message");
    let mut around = Vec::new();
    encode_around(&mut around, MessageId::new(100_000).unwrap(), operation, &[&state]);
    assert_eq!(around, other);
    for length in 0..plain.len() {
        assert_eq!(operation_of(&plain[..length]), None, "{length}");
    }
}

#[test]
fn dir_sync_is_asked_as_active_directory_reads_it() {
    let all = DirSyncRequest {
        incremental_values: true,
        cookie: b"",
    };
    // OpenLDAP sends the flag as the negative number that it is in 32 bits, and so does Windows.
    assert_eq!(value_of(&all), b"\x30\x0b\x02\x04\x80\x00\x00\x00\x02\x01\x00\x04\x00");
    let whole_values = DirSyncRequest {
        incremental_values: false,
        cookie: b"c",
    };
    assert_eq!(value_of(&whole_values), b"\x30\x09\x02\x01\x00\x02\x01\x00\x04\x01c");
    for has_more in [false, true] {
        let sent = DirSyncResponse {
            has_more,
            cookie: b"cookie",
        };
        assert_eq!(DirSyncResponse::decode_value(&value_of(&sent)), Ok(sent));
    }
    for value in [
        &b""[..],
        b"\x30\x00",
        b"\x30\x06\x02\x01\x00\x02\x01\x00",
        b"\x30\x09\x02\x01\x00\x02\x01\x00\x04\x05c",
    ] {
        assert!(DirSyncResponse::decode_value(value).is_err(), "{value:?}");
    }
}
