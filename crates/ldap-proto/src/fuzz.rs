//! Entry points of the fuzz targets in `/fuzz`; the smoke test calls the same functions.

use ironbark_ber::{Header, Reader, Tlvs};

use crate::{
    DecodeLimits, Request, RequestMessage, Response, ResponseMessage,
    controls::{
        ControlPolicy, DereferenceResponse, PagedResults, PostReadResponse, PreReadResponse, RequestControls,
        SortResponse,
    },
    extended::{cancel, password_modify},
    frame,
};

/// Decodes `data` as a request and as a response with everything in it, and checks that what decodes also encodes to the same message.
///
/// # Panics
/// When an encoded message does not decode to what it was encoded from: that is the property under test.
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
            let _ = cancel::decode_request(request.value);
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
            let _ = DereferenceResponse::decode_value(value);
            let _ = PreReadResponse(value).entry();
            let _ = PostReadResponse(value).entry();
        }
        if let Response::Extended(response) = message.operation {
            let _ = password_modify::decode_generated_password(response.value.unwrap_or_default());
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

/// Walks `data` as nested elements, as certificates are read, and reads it as each primitive type.
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
