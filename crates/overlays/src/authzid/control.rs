//! Authorization identity (RFC 3829): the response of a bind says which identity the connection has.

use ironbark_ber::Writer;
use ironbark_ldap_proto::{
    DecodeLimits, Fault, Operation,
    controls::{ControlValue, Criticality, Descriptor, RequestControl, ValueRule, descriptor::texts},
};

/// The request: return [`AuthorizationIdentity`] with a success.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AuthorizationIdentityRequest;

/// The control of a response: an `authzId` (RFC 4513 §5.2.1.8), empty for an anonymous client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuthorizationIdentity(pub String);

impl ControlValue for AuthorizationIdentityRequest {
    const OID: &'static str = DESCRIPTOR.oid;
    const HAS_VALUE: bool = false;

    fn write_value(&self, _: &mut Writer<'_>) {}
}

impl RequestControl<'_> for AuthorizationIdentityRequest {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(_: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Ok(Self)
    }
}

impl ControlValue for AuthorizationIdentity {
    const OID: &'static str = "2.16.840.1.113730.3.4.15";

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.raw(self.0.as_bytes());
    }
}

/// Its description. The root DSE shows it; slapd hides it.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "2.16.840.1.113730.3.4.16",
    name: "authorization identity",
    operations: &[Operation::Bind],
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::Absent,
    advertised: true,
    texts: texts!("authzid control"),
};
