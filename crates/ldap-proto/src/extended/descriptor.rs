//! The description of an extended operation.

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
    /// RFC 5805: start of a transaction.
    StartTransaction,
    /// RFC 5805: its end.
    EndTransaction,
    /// Of this project: sums by which replicas are compared.
    ReplicaDigest,
    /// OpenLDAP's: a bind beside the session. It exists only with module vc.
    VerifyCredentials,
    /// An operation that its overlay executes. It exists only with the overlay.
    OfOverlay,
}

/// The description of an extended operation: one row of the registry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExtendedDescriptor {
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
