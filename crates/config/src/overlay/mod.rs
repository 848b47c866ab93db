//! Overlays: their descriptions from other crates, and the settings of the overlays in a configuration.

mod check;
mod descriptor;
mod fields;
mod settings;

pub use check::{is_indexed, missing_indexes};
pub use descriptor::{Occurrence, OverlayClass, OverlayConfig, OverlayDescriptor};
pub use fields::{OverlayGetter, OverlaySetter};
pub use settings::{AnySettings, OverlaySettings};

pub(crate) use check::check;
