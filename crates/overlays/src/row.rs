//! The row of an overlay.

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{OverlayConfig, OverlayDescriptor},
};
use ironbark_directory::overlay::Overlay;
use ironbark_model::Schema;

/// An overlay: how it is configured, and how it is made.
#[derive(Debug)]
pub struct Row {
    /// How it is configured.
    pub descriptor: OverlayDescriptor,
    /// Makes it from its configuration. Fails if a setting names something that the schema lacks.
    pub make: fn(&OverlayConfig, &Arc<Schema>) -> Result<Overlay, SettingError>,
}
