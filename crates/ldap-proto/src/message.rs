//! Messages (RFC 4511 §4.1.1): message ID, operation, controls.

use ironbark_ber::Reader;

use crate::{
    DecodeError, DecodeLimits, Fault, List, Operation, Request, Response,
    envelope::{CONTROLS, EncodeControl, RawControls, encode_message, encode_with},
    operation::MessageId,
};

/// A message.
#[derive(Clone, PartialEq, Debug)]
pub struct Message<'a, T> {
    /// ID.
    pub id: MessageId,
    /// The request or the response.
    pub operation: T,
    /// The controls as they came in; [`crate::controls::RequestControls::decode`] interprets them.
    pub controls: RawControls<'a>,
}

/// A message from a client.
pub type RequestMessage<'a> = Message<'a, Request<'a>>;
/// A message from a server.
pub type ResponseMessage<'a> = Message<'a, Response<'a>>;
/// Message ID, identifier octet and content of the operation, and the rest after the operation.
type Envelope<'a> = (MessageId, u8, Reader<'a>, Reader<'a>);

fn envelope(bytes: &[u8]) -> Result<Envelope<'_>, Fault> {
    let mut outer = Reader::new(bytes);
    let mut content = outer.sequence()?;
    outer.finish()?;
    let before = content;
    let id = MessageId::new(content.integer()?).ok_or(before.error(ironbark_ber::ErrorKind::BadInteger))?;
    let (identifier, operation) = content.nested_any()?;
    Ok((id, identifier, operation, content))
}

/// The controls after the operation. Other elements there are ignored: `LDAPMessage` is extensible (RFC 4511 §4).
fn controls<'a>(mut rest: Reader<'a>, limits: &DecodeLimits) -> Result<RawControls<'a>, Fault> {
    let mut found = RawControls::default();
    while !rest.is_empty() {
        if rest.peek() == Some(CONTROLS) {
            let content = rest.nested(CONTROLS).map_err(Fault::from)?;
            found = List::decode(content, limits.controls)
                .map_err(|error| Fault::from(error).worded("decoding controls error"))?
                .ok_or(Fault::TOO_MANY)?;
        } else {
            rest.skip()
                .map_err(|error| Fault::from(error).worded("unexpected data in PDU"))?;
        }
    }
    Ok(found)
}

impl<'a> RequestMessage<'a> {
    /// Decodes one whole message, as [`crate::frame()`] delimits it.
    pub fn decode(bytes: &'a [u8], limits: &DecodeLimits) -> Result<Self, DecodeError> {
        let (id, identifier, content, rest) = envelope(bytes).map_err(|fault| DecodeError::Envelope { fault })?;
        let operation = Operation::from_request_tag(identifier).ok_or(DecodeError::Envelope {
            fault: Fault::malformed("unknown LDAP request"),
        })?;
        let failed = |fault| DecodeError::Operation { id, operation, fault };
        Ok(Self {
            id,
            operation: Request::decode(operation, content, limits).map_err(failed)?,
            controls: controls(rest, limits).map_err(failed)?,
        })
    }

    /// Appends the message with its own controls.
    pub fn encode(&self, out: &mut Vec<u8>) {
        encode_with(out, self.id, &[], &self.controls, |writer| self.operation.write(writer));
    }
}

impl<'a> ResponseMessage<'a> {
    /// Decodes one whole message, as [`crate::frame()`] delimits it.
    pub fn decode(bytes: &'a [u8], limits: &DecodeLimits) -> Result<Self, Fault> {
        let (id, identifier, content, rest) = envelope(bytes)?;
        Ok(Self {
            id,
            operation: Response::decode(identifier, content)?,
            controls: controls(rest, limits)?,
        })
    }

    /// Appends the message with its own controls.
    pub fn encode(&self, out: &mut Vec<u8>) {
        encode_with(out, self.id, &[], &self.controls, |writer| self.operation.write(writer));
    }
}

/// Appends a request.
pub fn encode_request(out: &mut Vec<u8>, id: MessageId, request: &Request<'_>, controls: &[&dyn EncodeControl]) {
    encode_message(out, id, controls, |writer| request.write(writer));
}
