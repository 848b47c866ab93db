//! Overlays, one folder each, and the factory that makes them from their configuration.
//!
//! Invariants: an overlay never sees a connection; what it changes are effects of the change record of the operation
//! that it follows.

pub mod auditlog;
pub mod memberof;
pub mod ppolicy;
pub mod refint;
pub mod sssvlv;
pub mod unique;

use std::sync::Arc;

use ironbark_config::overlay::{OverlayConfig, OverlaySettings};
use ironbark_directory::overlay::Overlay;
use ironbark_model::Schema;

/// Makes an overlay.
///
/// # Errors
/// A setting names what the schema does not have.
pub fn make(config: &OverlayConfig, schema: &Arc<Schema>) -> Result<Overlay, String> {
    match &config.settings {
        OverlaySettings::Memberof(settings) => memberof::make(settings, schema),
        OverlaySettings::Auditlog(settings) => Ok(auditlog::make(settings, schema)),
        OverlaySettings::Refint(settings) => refint::make(settings, schema),
        OverlaySettings::Unique(settings) => unique::make(settings, schema),
        OverlaySettings::Ppolicy(settings) => ppolicy::make(settings, schema),
        OverlaySettings::Sssvlv(settings) => Ok(sssvlv::make(settings)),
    }
}
