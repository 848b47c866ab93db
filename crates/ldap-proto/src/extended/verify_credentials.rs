//! Verify Credentials (OpenLDAP's module vc; libldap's `ldap_verify_credentials`). There is no specification. The form
//! is that of libldap's comment: a bind request, and its response, as values of an extended operation.

use std::fmt;

use ironbark_ber::{Reader, Writer, tags};
use ironbark_model::ResultCode;

use super::descriptor::{ExtendedDescriptor, ExtendedOperation};
use crate::{Authentication, DecodeLimits, Fault, List, Operation, RawControls, operation_of};

/// OID of the request; the response has no name.
pub const OID: &str = "1.3.6.1.4.1.4203.666.6.5";

/// A request: `SEQUENCE { cookie [0] OCTET STRING OPTIONAL, name LDAPDN, authentication AuthenticationChoice, controls
/// [2] Controls OPTIONAL }`. Its debug form hides secrets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct VerifyCredentialsRequest<'a> {
    /// Continues a SASL negotiation: the cookie of the response before.
    pub cookie: Option<&'a [u8]>,
    /// The name, as in a bind.
    pub name: &'a [u8],
    /// The credentials, as in a bind.
    pub authentication: Authentication<'a>,
    /// Controls of the bind.
    pub controls: RawControls<'a>,
}

impl<'a> VerifyCredentialsRequest<'a> {
    /// Decodes the value of a request.
    ///
    /// # Errors
    /// `protocolError`, also for a cookie with a simple bind; `adminLimitExceeded`: too many controls.
    pub fn decode(value: Option<&'a [u8]>, limits: &DecodeLimits) -> Result<Self, Fault> {
        let value = value.filter(|value| !value.is_empty());
        let value = value.ok_or(Fault::protocol("empty request data field in VerifyCredentials exop"))?;
        let mut outer = Reader::new(value);
        let mut content = outer.sequence().map_err(|_| MALFORMED)?;
        outer.finish().map_err(|_| MALFORMED)?;
        let cookie = content.optional(COOKIE).map_err(|_| MALFORMED)?;
        let name = content.octet_string().map_err(|_| MALFORMED)?;
        let authentication = Authentication::read(&mut content).map_err(|_| MALFORMED)?;
        let controls = read_controls(&mut content, limits.controls)?;
        content.finish().map_err(|_| MALFORMED)?;
        if cookie.is_some() && !matches!(authentication, Authentication::Sasl { .. }) {
            return Err(Fault::protocol("a cookie continues SASL negotiations only"));
        }
        Ok(Self {
            cookie,
            name,
            authentication,
            controls,
        })
    }

    /// Appends the value of a request.
    pub fn encode(&self, out: &mut Vec<u8>) {
        Writer::new(out).constructed(tags::SEQUENCE, |writer| {
            if let Some(cookie) = self.cookie {
                writer.element(COOKIE, cookie);
            }
            writer.octet_string(self.name);
            self.authentication.write(writer);
            write_controls(writer, &self.controls);
        });
    }
}

/// A response: `SEQUENCE { resultCode INTEGER, diagnosticMessage LDAPString, cookie [0] OCTET STRING OPTIONAL,
/// serverSaslCreds [1] OCTET STRING OPTIONAL, controls [2] Controls OPTIONAL }`. libldap's comment calls the result
/// code an enumeration; slapd writes an integer, and libldap reads it.
#[derive(Clone, Copy, PartialEq)]
pub struct VerifyCredentialsResponse<'a> {
    /// The result of the bind; `saslBindInProgress` asks for the next step.
    pub code: ResultCode,
    /// Text for people; UTF-8.
    pub diagnostic_message: &'a [u8],
    /// What the next step of a SASL negotiation sends back.
    pub cookie: Option<&'a [u8]>,
    /// The SASL mechanism's data for the client.
    pub server_sasl_credentials: Option<&'a [u8]>,
    /// Controls of the bind's response.
    pub controls: RawControls<'a>,
}

impl<'a> VerifyCredentialsResponse<'a> {
    /// Decodes the value of a response.
    ///
    /// # Errors
    /// `protocolError`.
    pub fn decode(value: &'a [u8]) -> Result<Self, Fault> {
        let mut outer = Reader::new(value);
        let mut content = outer.sequence()?;
        outer.finish()?;
        let code = u32::try_from(content.integer()?).map_err(|_| MALFORMED)?;
        let response = Self {
            code: ResultCode(code),
            diagnostic_message: content.octet_string()?,
            cookie: content.optional(COOKIE)?,
            server_sasl_credentials: content.optional(SERVER_SASL_CREDENTIALS)?,
            controls: read_controls(&mut content, usize::MAX)?,
        };
        content.finish()?;
        Ok(response)
    }

    /// Appends the value of a response.
    pub fn encode(&self, out: &mut Vec<u8>) {
        Writer::new(out).constructed(tags::SEQUENCE, |writer| {
            writer.integer(i64::from(self.code.0));
            writer.octet_string(self.diagnostic_message);
            if let Some(cookie) = self.cookie {
                writer.element(COOKIE, cookie);
            }
            if let Some(credentials) = self.server_sasl_credentials {
                writer.element(SERVER_SASL_CREDENTIALS, credentials);
            }
            write_controls(writer, &self.controls);
        });
    }
}

impl fmt::Debug for VerifyCredentialsResponse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifyCredentialsResponse")
            .field("code", &self.code)
            .field("diagnostic_message", &String::from_utf8_lossy(self.diagnostic_message))
            .finish_non_exhaustive()
    }
}

/// Whether a whole message is such a request, by its OID alone.
pub fn is_request(message: &[u8]) -> bool {
    let name = || {
        let operation = operation_of(message)?;
        let mut content = Reader::new(operation).nested(Operation::Extended.request_tag()).ok()?;
        content.element(REQUEST_NAME).ok()
    };
    name() == Some(OID.as_bytes())
}

/// Row of the registry.
pub const DESCRIPTOR: ExtendedDescriptor = ExtendedDescriptor {
    operation: ExtendedOperation::VerifyCredentials,
    oid: OID,
    name: "verify credentials",
    // slapd hides it.
    advertised: true,
    writes: false,
};

fn read_controls<'a>(content: &mut Reader<'a>, limit: usize) -> Result<RawControls<'a>, Fault> {
    if content.peek() != Some(CONTROLS) {
        return Ok(RawControls::default());
    }
    let encoded = content.nested(CONTROLS).map_err(|_| MALFORMED)?;
    let controls = List::decode(encoded, limit).map_err(|_| MALFORMED)?;
    controls.ok_or(Fault::TOO_MANY)
}

fn write_controls(writer: &mut Writer<'_>, controls: &RawControls<'_>) {
    if !controls.is_empty() {
        controls.write(writer, CONTROLS);
    }
}

const MALFORMED: Fault = Fault::protocol("data decoding error");
const REQUEST_NAME: u8 = tags::context(0);
const COOKIE: u8 = tags::context(0);
const SERVER_SASL_CREDENTIALS: u8 = tags::context(1);
const CONTROLS: u8 = tags::context_constructed(2);

#[cfg(test)]
mod tests;
