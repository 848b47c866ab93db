//! The controls that rules may name.

use ironbark_config::Registry;
use ironbark_ldap_proto::controls::{ControlKind, OverlayNumber, lookup};

/// The control with this OID; those of overlays count whether a database has the overlay or not. `None`: there is none.
pub(crate) fn control_kind(registry: &Registry, oid: &str) -> Option<ControlKind> {
    if let Some(row) = lookup(oid.as_bytes()) {
        return Some(row.kind);
    }
    let number = registry.overlay_control(oid).and_then(OverlayNumber::new)?;
    Some(ControlKind::OfOverlay(number))
}
