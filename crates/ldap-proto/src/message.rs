//! The message envelope (RFC 4511 §4.1.1): message ID, operation, controls.

use ironbark_ber::{Error, Reader, Writer, tags};

use crate::{DecodeError, DecodeLimits, Fault, List, Request, Response, list::Element};

/// The ID of a message: 0 to 2^31-1; 0 is for unsolicited notifications only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct MessageId(i32);

impl MessageId {
    /// The ID of unsolicited notifications.
    pub const UNSOLICITED: Self = Self(0);

    /// `None` for negative numbers.
    pub const fn new(id: i32) -> Option<Self> {
        if id < 0 { None } else { Some(Self(id)) }
    }

    /// The number.
    pub const fn value(self) -> i32 {
        self.0
    }
}

impl std::fmt::Display for MessageId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A message.
#[derive(Clone, PartialEq, Debug)]
pub struct Message<'a, T> {
    /// ID.
    pub id: MessageId,
    /// What is asked or answered.
    pub operation: T,
    /// The controls as they came in; [`crate::controls::RequestControls::decode`] interprets them.
    pub controls: RawControls<'a>,
}

/// A message from a client.
pub type RequestMessage<'a> = Message<'a, Request<'a>>;
/// A message from a server.
pub type ResponseMessage<'a> = Message<'a, Response<'a>>;
/// The controls of a message.
pub type RawControls<'a> = List<'a, RawControl<'a>>;

/// A control as it is encoded (RFC 4511 §4.1.11).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RawControl<'a> {
    /// OID of the control.
    pub oid: &'a [u8],
    /// Criticality.
    pub critical: bool,
    /// Value.
    pub value: Option<&'a [u8]>,
}

/// A control that can be attached to a message.
pub trait EncodeControl {
    /// OID of the control.
    fn oid(&self) -> &[u8];
    /// Criticality; always false for controls of responses.
    fn critical(&self) -> bool {
        false
    }
    /// Whether the control has a value.
    fn has_value(&self) -> bool {
        true
    }
    /// Appends the value's content octets.
    fn write_value(&self, writer: &mut Writer<'_>);
}

/// The kinds of request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// RFC 4511 §4.2.
    Bind,
    /// RFC 4511 §4.3.
    Unbind,
    /// RFC 4511 §4.5.
    Search,
    /// RFC 4511 §4.6.
    Modify,
    /// RFC 4511 §4.7.
    Add,
    /// RFC 4511 §4.8.
    Delete,
    /// RFC 4511 §4.9.
    ModifyDn,
    /// RFC 4511 §4.10.
    Compare,
    /// RFC 4511 §4.11.
    Abandon,
    /// RFC 4511 §4.12.
    Extended,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Bind,
        Self::Unbind,
        Self::Search,
        Self::Modify,
        Self::Add,
        Self::Delete,
        Self::ModifyDn,
        Self::Compare,
        Self::Abandon,
        Self::Extended,
    ];

    /// Identifier octet of the request.
    pub const fn request_tag(self) -> u8 {
        match self {
            Self::Bind => tags::application_constructed(0),
            Self::Unbind => tags::application(2),
            Self::Search => tags::application_constructed(3),
            Self::Modify => tags::application_constructed(6),
            Self::Add => tags::application_constructed(8),
            Self::Delete => tags::application(10),
            Self::ModifyDn => tags::application_constructed(12),
            Self::Compare => tags::application_constructed(14),
            Self::Abandon => tags::application(16),
            Self::Extended => tags::application_constructed(23),
        }
    }

    /// Identifier octet of the final response; `None` for unbind and abandon, which have none.
    pub const fn response_tag(self) -> Option<u8> {
        match self {
            Self::Bind => Some(tags::application_constructed(1)),
            Self::Search => Some(tags::application_constructed(5)),
            Self::Modify => Some(tags::application_constructed(7)),
            Self::Add => Some(tags::application_constructed(9)),
            Self::Delete => Some(tags::application_constructed(11)),
            Self::ModifyDn => Some(tags::application_constructed(13)),
            Self::Compare => Some(tags::application_constructed(15)),
            Self::Extended => Some(tags::application_constructed(24)),
            Self::Unbind | Self::Abandon => None,
        }
    }

    /// The operation whose request has this identifier octet.
    pub const fn from_request_tag(identifier: u8) -> Option<Self> {
        Some(match identifier {
            0x60 => Self::Bind,
            0x42 => Self::Unbind,
            0x63 => Self::Search,
            0x66 => Self::Modify,
            0x68 => Self::Add,
            0x4a => Self::Delete,
            0x6c => Self::ModifyDn,
            0x6e => Self::Compare,
            0x50 => Self::Abandon,
            0x77 => Self::Extended,
            _ => return None,
        })
    }
}

/// Message ID, identifier octet and content of the operation, what follows the operation.
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

/// The controls behind the operation. Other elements there are ignored: `LDAPMessage` is extensible (RFC 4511 §4).
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

/// Appends a message whose operation `operation` writes.
pub(crate) fn encode_message(
    out: &mut Vec<u8>,
    id: MessageId,
    controls: &[&dyn EncodeControl],
    operation: impl FnOnce(&mut Writer<'_>),
) {
    encode_with(out, id, controls, &RawControls::default(), operation);
}

fn encode_with(
    out: &mut Vec<u8>,
    id: MessageId,
    controls: &[&dyn EncodeControl],
    raw: &RawControls<'_>,
    operation: impl FnOnce(&mut Writer<'_>),
) {
    let mut writer = Writer::new(out);
    writer.constructed(tags::SEQUENCE, |writer| {
        writer.integer(i64::from(id.value()));
        operation(writer);
        write_controls(writer, controls, raw);
    });
}

/// Appends `[0] Controls`, or nothing when there are none.
pub(crate) fn write_controls(writer: &mut Writer<'_>, controls: &[&dyn EncodeControl], raw: &RawControls<'_>) {
    if controls.is_empty() && raw.is_empty() {
        return;
    }
    writer.constructed(CONTROLS, |writer| {
        for control in controls {
            write_control(writer, *control);
        }
        raw.write_elements(writer);
    });
}

fn write_control(writer: &mut Writer<'_>, control: &dyn EncodeControl) {
    writer.constructed(tags::SEQUENCE, |writer| {
        writer.octet_string(control.oid());
        if control.critical() {
            writer.boolean(true);
        }
        if control.has_value() {
            writer.constructed(tags::OCTET_STRING, |writer| control.write_value(writer));
        }
    });
}

impl<'a> Element<'a> for RawControl<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let mut content = reader.sequence()?;
        let oid = content.octet_string()?;
        let critical = content.peek() == Some(tags::BOOLEAN) && content.boolean()?;
        let value = content.optional(tags::OCTET_STRING)?;
        Ok(Self { oid, critical, value })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        write_control(writer, self);
    }
}

impl EncodeControl for RawControl<'_> {
    fn oid(&self) -> &[u8] {
        self.oid
    }
    fn critical(&self) -> bool {
        self.critical
    }
    fn has_value(&self) -> bool {
        self.value.is_some()
    }
    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.raw(self.value.unwrap_or_default());
    }
}

const CONTROLS: u8 = tags::context_constructed(0);
