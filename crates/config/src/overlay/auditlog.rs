//! Settings of slapo-auditlog(5).

use std::path::PathBuf;

/// Where changes are written as LDIF.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AuditlogConfig {
    /// `auditlog`; `None`: nothing is written.
    pub file: Option<PathBuf>,
    /// `auditlognonblocking`: a named pipe without a reader does not hold up the server.
    pub non_blocking: bool,
}
