//! slapo-sssvlv(5): limits of sorted searches. Sorting itself is always there.

use std::sync::Arc;

use ironbark_config::overlay::SssvlvConfig;
use ironbark_directory::overlay::{Overlay, SortLimits};

/// The overlay.
pub fn make(settings: &SssvlvConfig) -> Overlay {
    Overlay {
        sort_limits: Some(Arc::new(SortLimits {
            max_keys: settings.max_keys,
            max: settings.max,
            max_per_connection: settings.max_per_connection,
            under_way: Arc::default(),
        })),
        ..Overlay::new("sssvlv")
    }
}
