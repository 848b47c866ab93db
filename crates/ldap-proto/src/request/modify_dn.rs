//! Modify DN (RFC 4511 §4.9).

use ironbark_ber::{Reader, Writer, tags};

use crate::Fault;

/// A modify DN request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModifyDnRequest<'a> {
    /// Name of the entry.
    pub entry: &'a [u8],
    /// Its new RDN.
    pub new_rdn: &'a [u8],
    /// Whether the values of the old RDN leave the entry.
    pub delete_old_rdn: bool,
    /// Its new superior, if it moves.
    pub new_superior: Option<&'a [u8]>,
}

impl<'a> ModifyDnRequest<'a> {
    pub(crate) fn decode(mut content: Reader<'a>) -> Result<Self, Fault> {
        Ok(Self {
            entry: content.octet_string()?,
            new_rdn: content.octet_string()?,
            delete_old_rdn: content.boolean()?,
            new_superior: content.optional(NEW_SUPERIOR)?,
        })
    }

    pub(crate) fn write_content(&self, writer: &mut Writer<'_>) {
        writer.octet_string(self.entry);
        writer.octet_string(self.new_rdn);
        writer.boolean(self.delete_old_rdn);
        if let Some(new_superior) = self.new_superior {
            writer.element(NEW_SUPERIOR, new_superior);
        }
    }
}

const NEW_SUPERIOR: u8 = tags::context(0);
