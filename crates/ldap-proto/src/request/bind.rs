//! Bind (RFC 4511 §4.2).

use std::fmt;

use ironbark_ber::{Reader, Tag, Writer, tags};

use crate::Fault;

/// A bind request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BindRequest<'a> {
    /// Protocol version; 3 for LDAPv3. Other numbers decode too, so that the server can answer that it does not support
    /// them.
    pub version: i32,
    /// Name to bind as; empty for anonymous and SASL binds.
    pub name: &'a [u8],
    /// How the client proves who it is.
    pub authentication: Authentication<'a>,
}

/// The `AuthenticationChoice`. Its debug form hides secrets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Authentication<'a> {
    /// A password in clear; empty for anonymous and unauthenticated binds.
    Simple(&'a [u8]),
    /// One step of a SASL exchange.
    Sasl {
        /// Mechanism; an empty name ends an exchange under way.
        mechanism: &'a [u8],
        /// Credentials; absent is not the same as empty (RFC 4513 §5.2.1).
        credentials: Option<&'a [u8]>,
    },
    /// An unknown choice, such as the Kerberos ones of LDAPv2. The answer is `authMethodNotSupported`.
    Other {
        /// Identifier octet of the choice.
        identifier: u8,
    },
}

impl<'a> BindRequest<'a> {
    pub(crate) fn decode(mut content: Reader<'a>) -> Result<Self, Fault> {
        let version = content.integer()?;
        let name = content.octet_string()?;
        let authentication = Authentication::read(&mut content)?;
        Ok(Self {
            version,
            name,
            authentication,
        })
    }

    pub(crate) fn write_content(&self, writer: &mut Writer<'_>) {
        writer.integer(i64::from(self.version));
        writer.octet_string(self.name);
        self.authentication.write(writer);
    }
}

impl<'a> Authentication<'a> {
    pub(crate) fn read(content: &mut Reader<'a>) -> Result<Self, Fault> {
        let (identifier, mut choice) = content.nested_any()?;
        Ok(match identifier {
            SIMPLE => Self::Simple(choice.remaining()),
            SASL => Self::Sasl {
                mechanism: choice.octet_string()?,
                credentials: choice.optional(tags::OCTET_STRING)?,
            },
            // No protocol version has a choice whose tag number takes several octets.
            _ if Tag::from_identifier(identifier).is_none() => return Err(Fault::malformed("decoding error")),
            identifier => Self::Other { identifier },
        })
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        match *self {
            Self::Simple(password) => writer.element(SIMPLE, password),
            Self::Sasl { mechanism, credentials } => writer.constructed(SASL, |writer| {
                writer.octet_string(mechanism);
                if let Some(credentials) = credentials {
                    writer.octet_string(credentials);
                }
            }),
            Self::Other { identifier } => writer.element(identifier, &[]),
        }
    }
}

impl fmt::Debug for Authentication<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simple(_) => f.write_str("Simple"),
            Self::Sasl { mechanism, .. } => write!(f, "Sasl({})", String::from_utf8_lossy(mechanism)),
            Self::Other { identifier } => write!(f, "Other({identifier:#x})"),
        }
    }
}

const SIMPLE: u8 = tags::context(0);
const SASL: u8 = tags::context_constructed(3);
