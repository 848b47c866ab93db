//! Extended operations (RFC 4511 §4.12), one file each, both directions, and their registry.

pub mod cancel;
pub mod password_modify;
pub mod start_tls;
pub mod who_am_i;

/// The extended operations that are known here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExtendedOperation {
    /// RFC 4511 §4.14.
    StartTls,
    /// RFC 4532.
    WhoAmI,
    /// RFC 3062.
    PasswordModify,
    /// RFC 3909.
    Cancel,
}

/// One row of the registry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// Which operation.
    pub operation: ExtendedOperation,
    /// OID of the request.
    pub oid: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Whether the root DSE lists it in `supportedExtension`; StartTLS only where TLS is configured.
    pub advertised: bool,
    /// Whether it may change entries.
    pub writes: bool,
}

/// The row of an extended operation; `None` is answered with `protocolError`, "unsupported extended operation".
pub fn lookup(oid: &[u8]) -> Option<&'static Descriptor> {
    REGISTRY.iter().find(|row| row.oid.as_bytes() == oid)
}

/// All extended operations.
pub static REGISTRY: [Descriptor; 4] = [
    start_tls::DESCRIPTOR,
    password_modify::DESCRIPTOR,
    who_am_i::DESCRIPTOR,
    cancel::DESCRIPTOR,
];
