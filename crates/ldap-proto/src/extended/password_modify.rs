//! Password modify (RFC 3062).

use ironbark_ber::{BerError, Reader, Writer, tags};
use ironbark_model::ResultCode;

use super::descriptor::{ExtendedDescriptor, ExtendedOperation};
use crate::Fault;

/// OID of the request; the response has no name.
pub const OID: &str = "1.3.6.1.4.1.4203.1.11.1";

/// A password modify request. Its debug form hides the passwords.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct PasswordModifyRequest<'a> {
    /// The user whose password changes; absent for the user of the session.
    pub user_identity: Option<&'a [u8]>,
    /// The password that is replaced.
    pub old_password: Option<&'a [u8]>,
    /// The new password; absent when the server must generate one.
    pub new_password: Option<&'a [u8]>,
}

impl<'a> PasswordModifyRequest<'a> {
    /// Decodes the value of a request. An absent value has no fields.
    pub fn decode(value: Option<&'a [u8]>) -> Result<Self, Fault> {
        let request = match value {
            None => return Ok(Self::default()),
            Some([]) => return Err(Fault::protocol("empty request data field")),
            Some(value) => Self::read(value).map_err(|_| Fault::protocol("data decoding error"))?,
        };
        let refused = |text| Err(Fault::refused(ResultCode::UNWILLING_TO_PERFORM, text));
        match request {
            Self {
                old_password: Some([]), ..
            } => refused("old password value is empty"),
            Self {
                new_password: Some([]), ..
            } => refused("new password value is empty"),
            request => Ok(request),
        }
    }

    fn read(value: &'a [u8]) -> Result<Self, BerError> {
        let mut outer = Reader::new(value);
        let mut content = outer.sequence()?;
        outer.finish()?;
        let request = Self {
            user_identity: content.optional(USER_IDENTITY)?,
            old_password: content.optional(OLD_PASSWORD)?,
            new_password: content.optional(NEW_PASSWORD)?,
        };
        content.finish()?;
        Ok(request)
    }

    /// Appends the value of a request.
    pub fn encode(&self, out: &mut Vec<u8>) {
        Writer::new(out).constructed(tags::SEQUENCE, |writer| {
            let fields = [
                (USER_IDENTITY, self.user_identity),
                (OLD_PASSWORD, self.old_password),
                (NEW_PASSWORD, self.new_password),
            ];
            for (identifier, field) in fields {
                if let Some(field) = field {
                    writer.element(identifier, field);
                }
            }
        });
    }
}

impl std::fmt::Debug for PasswordModifyRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PasswordModifyRequest")
            .field("user_identity", &self.user_identity.map(String::from_utf8_lossy))
            .finish_non_exhaustive()
    }
}

/// Appends the value of a response, with the password that the server generated.
pub fn encode_generated_password(out: &mut Vec<u8>, password: &[u8]) {
    Writer::new(out).constructed(tags::SEQUENCE, |writer| writer.element(GENERATED_PASSWORD, password));
}

/// The password that the server generated, from the value of a response.
pub fn decode_generated_password(value: &[u8]) -> Result<Option<&[u8]>, Fault> {
    Ok(Reader::new(value).sequence()?.optional(GENERATED_PASSWORD)?)
}

/// Row of the registry.
pub const DESCRIPTOR: ExtendedDescriptor = ExtendedDescriptor {
    operation: ExtendedOperation::PasswordModify,
    oid: OID,
    name: "password modify",
    advertised: true,
    writes: true,
};

const USER_IDENTITY: u8 = tags::context(0);
const OLD_PASSWORD: u8 = tags::context(1);
const NEW_PASSWORD: u8 = tags::context(2);
const GENERATED_PASSWORD: u8 = tags::context(0);
