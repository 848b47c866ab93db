//! Settings of slapo-auditlog(5).

use std::path::PathBuf;

use ironbark_config::overlay::OverlaySettings;

/// Where changes are written as LDIF.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AuditlogConfig {
    /// `auditlog`; `None`: nothing is written.
    pub file: Option<PathBuf>,
    /// `auditlognonblocking`: a named pipe without a reader does not hold up the server.
    pub non_blocking: bool,
}

impl OverlaySettings for AuditlogConfig {
    fn needs_entries(&self) -> bool {
        false
    }
}
