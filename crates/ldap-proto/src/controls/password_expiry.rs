//! Netscape's controls of a bind response: the password has expired, or will expire. Their values are digits, not BER.

use ironbark_ber::Writer;

use super::ControlValue;

/// The password has expired, or must be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PasswordExpired;

/// The password will expire after this many seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PasswordExpiring(pub i64);

impl ControlValue for PasswordExpired {
    const OID: &'static str = "2.16.840.1.113730.3.4.4";

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.raw(b"0");
    }
}

impl ControlValue for PasswordExpiring {
    const OID: &'static str = "2.16.840.1.113730.3.4.5";

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.raw(self.0.to_string().as_bytes());
    }
}
