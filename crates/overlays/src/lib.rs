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
pub fn make(config: &OverlayConfig, schema: &Arc<Schema>) -> Result<Arc<dyn Overlay>, String> {
    match &config.settings {
        OverlaySettings::Memberof(settings) => Ok(Arc::new(memberof::Memberof::new(settings, schema)?)),
        OverlaySettings::Auditlog(settings) => Ok(Arc::new(auditlog::Auditlog::new(settings, schema))),
        OverlaySettings::Refint(settings) => Ok(Arc::new(refint::Refint::new(settings, schema)?)),
        OverlaySettings::Unique(settings) => Ok(Arc::new(unique::Unique::new(settings, schema)?)),
        OverlaySettings::Ppolicy(settings) => Ok(Arc::new(ppolicy::Ppolicy::new(settings, schema)?)),
        OverlaySettings::Sssvlv(_) => Ok(Arc::new(sssvlv::Sssvlv)),
    }
}
