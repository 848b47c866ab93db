//! The parts around an operation (RFC 4511 §4.1.1): the message ID before it, the controls after it.

use ironbark_ber::{BerError, Reader, Writer, tags};

use crate::{List, MessageId, list::Element};

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

/// The operation of a message as it is encoded, with identifier and length, without message ID and controls (RFC 4511
/// §4.1.1). `None`: this is no message.
pub fn operation_of(message: &[u8]) -> Option<&[u8]> {
    let mut parts = Reader::new(message).sequence().ok()?;
    parts.integer().ok()?;
    Some(parts.read_any().ok()?.encoded)
}

/// Appends a message with an operation that is already encoded, as [`operation_of`] gives it.
pub fn encode_around(out: &mut Vec<u8>, id: MessageId, operation: &[u8], controls: &[&dyn EncodeControl]) {
    encode_message(out, id, controls, |writer| writer.raw(operation));
}

/// Appends a message. `operation` writes its operation.
pub(crate) fn encode_message(
    out: &mut Vec<u8>,
    id: MessageId,
    controls: &[&dyn EncodeControl],
    operation: impl FnOnce(&mut Writer<'_>),
) {
    encode_with(out, id, controls, &RawControls::default(), operation);
}

pub(crate) fn encode_with(
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

pub(crate) fn write_control(writer: &mut Writer<'_>, control: &dyn EncodeControl) {
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
    fn read(reader: &mut Reader<'a>) -> Result<Self, BerError> {
        let mut content = reader.sequence()?;
        let oid = content.octet_string()?;
        let critical = content.peek() == Some(tags::BOOLEAN) && content.boolean()?;
        let value = content.optional(tags::OCTET_STRING)?;
        content.finish()?;
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

pub(crate) const CONTROLS: u8 = tags::context_constructed(0);
