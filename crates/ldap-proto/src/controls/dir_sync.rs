//! DirSync (MS-ADTS §3.1.1.3.4.1.3): what has changed in a naming context of Active Directory since a cookie. Only the
//! consumer is here: this server has no such changes to tell.

use ironbark_ber::{BerError, Reader, Writer, tags};

use super::ControlValue;
use crate::Fault;

/// OID of the control.
pub const OID: &str = "1.2.840.113556.1.4.841";

/// The request: asks for what has changed since a cookie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirSyncRequest<'a> {
    /// Whether only the values of linked attributes are to be sent that were added or deleted.
    pub incremental_values: bool,
    /// What the provider gave with the changes before. Empty: everything is asked for.
    pub cookie: &'a [u8],
}

/// What comes with the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirSyncResponse<'a> {
    /// Whether there is more to ask for, with the new cookie.
    pub has_more: bool,
    /// The new cookie.
    pub cookie: &'a [u8],
}

/// Extended names (MS-ADTS §3.1.1.3.4.1.5): each name has the GUID of its entry before it, in hexadecimal octets
/// (`<GUID=...>;<SID=...>;CN=...`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExtendedNames;

/// Show deleted objects (MS-ADTS §3.1.1.3.4.1.14).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ShowDeleted;

/// Show deleted objects of which little is left (MS-ADTS §3.1.1.3.4.1.25).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ShowRecycled;

/// `LDAP_DIRSYNC_INCREMENTAL_VALUES`: the sign bit of the flags.
const INCREMENTAL_VALUES: i32 = i32::MIN;

impl<'a> DirSyncResponse<'a> {
    /// Decodes the value's content octets.
    ///
    /// # Errors
    /// They are no such value.
    pub fn decode_value(value: &'a [u8]) -> Result<Self, Fault> {
        read(value).map_err(|_| Fault::protocol("DirSync control could not be decoded"))
    }
}

fn read(value: &[u8]) -> Result<DirSyncResponse<'_>, BerError> {
    let mut content = Reader::new(value).sequence()?;
    let more = content.integer()?;
    // The number of attributes has no meaning.
    content.integer()?;
    Ok(DirSyncResponse {
        has_more: more != 0,
        cookie: content.octet_string()?,
    })
}

impl ControlValue for DirSyncRequest<'_> {
    const OID: &'static str = OID;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            let flags = if self.incremental_values { INCREMENTAL_VALUES } else { 0 };
            writer.integer(i64::from(flags));
            // The provider decides how much it sends at once.
            writer.integer(0);
            writer.octet_string(self.cookie);
        });
    }
}

impl ControlValue for DirSyncResponse<'_> {
    const OID: &'static str = OID;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            writer.integer(i64::from(self.has_more));
            writer.integer(0);
            writer.octet_string(self.cookie);
        });
    }
}

impl ControlValue for ExtendedNames {
    const OID: &'static str = "1.2.840.113556.1.4.529";
    const HAS_VALUE: bool = false;

    fn write_value(&self, _: &mut Writer<'_>) {}
}

impl ControlValue for ShowDeleted {
    const OID: &'static str = "1.2.840.113556.1.4.417";
    const HAS_VALUE: bool = false;

    fn write_value(&self, _: &mut Writer<'_>) {}
}

impl ControlValue for ShowRecycled {
    const OID: &'static str = "1.2.840.113556.1.4.2064";
    const HAS_VALUE: bool = false;

    fn write_value(&self, _: &mut Writer<'_>) {}
}
