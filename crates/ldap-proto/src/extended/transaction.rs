//! Transactions (RFC 5805): start, end, and the notice that one was aborted. There is one at most on a connection, so
//! its identifier is empty, as in slapd.

use ironbark_ber::{BerError, Reader, Writer, tags};

use super::descriptor::{ExtendedDescriptor, ExtendedOperation};
use crate::{EncodeControl, Fault, MessageId, envelope::write_control};

/// OID of the request that starts a transaction.
pub const START: &str = "1.3.6.1.1.21.1";

/// OID of the request that ends one.
pub const END: &str = "1.3.6.1.1.21.3";

/// OID of the notice that one was aborted.
pub const ABORTED_NOTICE: &str = "1.3.6.1.1.21.4";

/// A request to end a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndRequest<'a> {
    /// Whether its updates are made.
    pub commit: bool,
    /// The identifier.
    pub identifier: &'a [u8],
}

impl<'a> EndRequest<'a> {
    /// Decodes the value of a request.
    ///
    /// # Errors
    /// `protocolError`.
    pub fn decode(value: Option<&'a [u8]>) -> Result<Self, Fault> {
        match value {
            None => Err(Fault::protocol("request data expected")),
            Some([]) => Err(Fault::protocol("empty request data")),
            Some(value) => Self::read(value).map_err(|_| Fault::protocol("request data decoding error")),
        }
    }

    fn read(value: &'a [u8]) -> Result<Self, BerError> {
        let mut outer = Reader::new(value);
        let mut content = outer.sequence()?;
        outer.finish()?;
        let commit = match content.peek() {
            Some(tags::BOOLEAN) => content.boolean()?,
            _ => true,
        };
        let identifier = content.octet_string()?;
        content.finish()?;
        Ok(Self { commit, identifier })
    }

    /// Appends the value of a request.
    pub fn encode(&self, out: &mut Vec<u8>) {
        Writer::new(out).constructed(tags::SEQUENCE, |writer| {
            if !self.commit {
                writer.boolean(false);
            }
            writer.octet_string(self.identifier);
        });
    }
}

/// The controls that belong to the response of one update.
pub struct UpdateControls<'c> {
    /// Message ID of the update.
    pub message_id: MessageId,
    /// The controls.
    pub controls: Vec<&'c dyn EncodeControl>,
}

/// Appends the value of the response to an end request: the update that was refused, and controls of updates. Without
/// either the response has no value.
pub fn encode_end_response(out: &mut Vec<u8>, refused: Option<MessageId>, updates: &[UpdateControls<'_>]) {
    Writer::new(out).constructed(tags::SEQUENCE, |writer| {
        if let Some(id) = refused {
            writer.integer(i64::from(id.value()));
        }
        if updates.is_empty() {
            return;
        }
        writer.constructed(tags::SEQUENCE, |writer| {
            for update in updates {
                writer.constructed(tags::SEQUENCE, |writer| {
                    writer.integer(i64::from(update.message_id.value()));
                    writer.constructed(tags::SEQUENCE, |writer| {
                        for control in &update.controls {
                            write_control(writer, *control);
                        }
                    });
                });
            }
        });
    });
}

/// The update that was refused, from the value of a response to an end request.
///
/// # Errors
/// `protocolError`.
pub fn decode_refused(value: &[u8]) -> Result<Option<MessageId>, Fault> {
    let mut content = Reader::new(value).sequence()?;
    Ok(match content.peek() {
        Some(tags::INTEGER) => MessageId::new(content.integer()?),
        _ => None,
    })
}

/// Row of the registry.
pub const START_DESCRIPTOR: ExtendedDescriptor = ExtendedDescriptor {
    operation: ExtendedOperation::StartTransaction,
    oid: START,
    name: "start transaction",
    advertised: true,
    writes: false,
};

/// Row of the registry.
pub const END_DESCRIPTOR: ExtendedDescriptor = ExtendedDescriptor {
    operation: ExtendedOperation::EndTransaction,
    oid: END,
    name: "end transaction",
    advertised: true,
    writes: false,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controls::{Control, PreReadResponse};

    #[test]
    fn requests_and_responses_come_back_and_what_is_malformed_is_refused() {
        for commit in [true, false] {
            let request = EndRequest {
                commit,
                identifier: b"",
            };
            let mut value = Vec::new();
            request.encode(&mut value);
            assert_eq!(EndRequest::decode(Some(&value)), Ok(request));
            for length in 0..value.len() {
                assert!(EndRequest::decode(value.get(..length)).is_err(), "{length}");
            }
        }
        assert!(EndRequest::decode(None).is_err());
        let (id, mut value) = (MessageId::new(7).unwrap(), Vec::new());
        let control = Control::optional(PreReadResponse(b"entry"));
        let update = UpdateControls {
            message_id: id,
            controls: vec![&control],
        };
        encode_end_response(&mut value, Some(id), &[update]);
        assert_eq!(decode_refused(&value), Ok(Some(id)));
        value.clear();
        encode_end_response(&mut value, None, &[]);
        assert_eq!(decode_refused(&value), Ok(None));
    }
}
