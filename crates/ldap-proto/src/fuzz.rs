//! Entry points of the fuzz targets in `/fuzz`; the smoke test calls the same functions.

use ironbark_ber::{Header, Reader, Tlvs, Writer};

use crate::{
    DecodeLimits, IntermediateResponse, Request, RequestMessage, Response, ResponseMessage, SyncInfo,
    controls::{
        AccountUsability, AssertionControl, ControlPolicy, ControlValue, DereferenceRequest, DereferenceResponse,
        DirSyncResponse, MatchedValues, PagedResults, PasswordPolicyResponse, PostRead, PostReadResponse, PreRead,
        PreReadResponse, ProxiedAuthorization, RequestControl, RequestControls, SearchOptions, SessionTracking,
        SortKeys, SortResponse, Subentries, SyncDone, SyncRequest, SyncState, ValueSort, VirtualListView,
        VirtualListViewResponse,
    },
    extended::{
        cancel,
        password_modify::{self, PasswordModifyRequest},
        refresh::{self, RefreshRequest},
        replica_digest::{ReplicaDigest, ReplicaDigestRequest},
        start_tls,
        verify_credentials::{VerifyCredentialsRequest, VerifyCredentialsResponse},
        who_am_i,
    },
    frame,
    response::sync_info,
};

/// Decodes `data` as a request and as a response with all their parts. Checks that a decoded message encodes to the
/// same message.
///
/// # Panics
/// When an encoded message does not decode to the original: that is the property under test.
pub fn ldap_message(data: &[u8]) {
    let limits = DecodeLimits::default();
    let _ = frame(data, 1 << 18);
    if let Ok(message) = RequestMessage::decode(data, &limits) {
        let controls = RequestControls::decode(
            &message.controls,
            &message.operation,
            &ControlPolicy::default(),
            &limits,
        );
        if let Ok(controls) = controls {
            assert_eq!(controls, controls.clone(), "controls compare by value");
        }
        if let Request::Extended(request) = message.operation {
            let _ = password_modify::PasswordModifyRequest::decode(request.value);
            let _ = ReplicaDigestRequest::decode(request.value);
            let _ = cancel::decode_request(request.value);
            let _ = RefreshRequest::decode(request.value);
            verify_credentials_request(request.value, &limits);
        }
        let mut out = Vec::new();
        message.encode(&mut out);
        assert_eq!(
            RequestMessage::decode(&out, &limits),
            Ok(message),
            "a request came back changed"
        );
    }
    if let Ok(message) = ResponseMessage::decode(data, &limits) {
        for control in message.controls {
            let value = control.value.unwrap_or_default();
            let _ = PagedResults::decode_value(value);
            let _ = SortResponse::decode_value(value);
            let _ = VirtualListViewResponse::decode_value(value);
            let _ = DereferenceResponse::decode_value(value);
            let _ = PreReadResponse(value).entry();
            let _ = PostReadResponse(value).entry();
        }
        if let Response::Extended(response) = message.operation {
            let _ = password_modify::decode_generated_password(response.value.unwrap_or_default());
            let _ = refresh::decode_response(response.value.unwrap_or_default());
            let _ = ReplicaDigest::decode(response.value.unwrap_or_default());
            verify_credentials_response(response.value.unwrap_or_default());
        }
        let mut out = Vec::new();
        message.encode(&mut out);
        assert_eq!(
            ResponseMessage::decode(&out, &limits),
            Ok(message),
            "a response came back changed"
        );
    }
}

/// Decodes a value as that of one kind of control: the first octet chooses the kind.
macro_rules! control_values {
    ($choice:expr, $value:expr, $limits:expr, $($number:literal => $kind:ident),+ $(,)?) => {
        match $choice {
            $($number => {
                if let Ok(control) = $kind::decode($value, $limits) {
                    let mut again = Vec::new();
                    control.write_value(&mut Writer::new(&mut again));
                    assert_eq!($kind::decode(&again, $limits), Ok(control), "a control came back changed");
                }
            })+
            _ => {}
        }
    };
}

/// Decodes `data` as the value of a control or extended operation. The first octet chooses which.
///
/// # Panics
/// When an encoded value does not decode to the original: that is the property under test.
pub fn control(data: &[u8]) {
    let Some((choice, value)) = data.split_first() else {
        return;
    };
    let limits = DecodeLimits::default();
    control_values!(choice % 29, value, &limits,
        0 => AssertionControl,
        1 => PreRead,
        2 => PostRead,
        3 => MatchedValues,
        4 => PagedResults,
        5 => SortKeys,
        6 => SearchOptions,
        7 => Subentries,
        8 => ProxiedAuthorization,
        9 => SessionTracking,
        10 => DereferenceRequest,
        20 => ValueSort,
        21 => VirtualListView,
        23 => SyncRequest,
    );
    match choice % 29 {
        11 => _ = PasswordPolicyResponse::decode(value),
        12 => _ = AccountUsability::decode(value),
        13 => password_modify_request(value),
        14 => _ = cancel::decode_request(Some(value)),
        15 => _ = start_tls::decode_request(Some(value)),
        16 => _ = who_am_i::decode_request(Some(value)),
        17 => _ = password_modify::decode_generated_password(value),
        18 => _ = SortResponse::decode_value(value),
        19 => _ = DereferenceResponse::decode_value(value),
        22 => _ = VirtualListViewResponse::decode_value(value),
        24 => sync_message(value),
        25 => _ = (SyncState::decode_value(value), SyncDone::decode_value(value)),
        26 => _ = DirSyncResponse::decode_value(value),
        27 => verify_credentials_request(Some(value), &limits),
        28 => verify_credentials_response(value),
        _ => {}
    }
}

fn sync_message(value: &[u8]) {
    let response = IntermediateResponse {
        name: Some(sync_info::OID.as_bytes()),
        value: Some(value),
    };
    if let Ok(Some(SyncInfo::IdSet { uuids, .. })) = SyncInfo::of(&response) {
        assert!(uuids.iter().count() <= value.len() / 16, "more UUIDs than octets");
    }
}

fn password_modify_request(value: &[u8]) {
    if let Ok(request) = PasswordModifyRequest::decode(Some(value)) {
        let mut again = Vec::new();
        request.encode(&mut again);
        let again = PasswordModifyRequest::decode(Some(&again));
        assert_eq!(again, Ok(request), "a password modify request came back changed");
    }
}

fn verify_credentials_request(value: Option<&[u8]>, limits: &DecodeLimits) {
    if let Ok(request) = VerifyCredentialsRequest::decode(value, limits) {
        let mut again = Vec::new();
        request.encode(&mut again);
        let again = VerifyCredentialsRequest::decode(Some(&again), limits);
        assert_eq!(again, Ok(request), "a verify credentials request came back changed");
    }
}

fn verify_credentials_response(value: &[u8]) {
    if let Ok(response) = VerifyCredentialsResponse::decode(value) {
        let mut again = Vec::new();
        response.encode(&mut again);
        let again = VerifyCredentialsResponse::decode(&again);
        assert_eq!(again, Ok(response), "a verify credentials response came back changed");
    }
}

/// Reads `data` as nested elements, as for certificates, and as each primitive type.
pub fn ber(data: &[u8]) {
    let _ = Header::parse(data);
    let mut levels = vec![Tlvs::new(data)];
    while let Some(mut level) = levels.pop() {
        let Some(Ok(tlv)) = level.next() else { continue };
        levels.push(level);
        if tlv.constructed {
            levels.push(tlv.children());
        }
        let identifier = tlv.encoded.first().copied().unwrap_or_default();
        let _ = Reader::new(tlv.encoded).integer_i64(identifier);
        let _ = Reader::new(tlv.encoded).integer_i32(identifier);
        let _ = Reader::new(tlv.encoded).boolean_of(identifier);
    }
}
