//! slapo-sssvlv(5): limits of sorted searches. Sorting itself is always there.

mod rows;
mod settings;

use std::sync::Arc;

use ironbark_config::overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor};
use ironbark_directory::overlay::{Overlay, SortLimits};

pub use settings::SssvlvConfig;

use crate::row::Row;

/// What there is to know of it.
pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "sssvlv",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcSssVlvConfig"],
            oid: "3.21.1",
        }),
        settings: rows::ROWS,
        fresh: AnySettings::of::<SssvlvConfig>,
        schema: "",
        introduction: "The server side sorting control (RFC 2891) is always offered, with and without this overlay, and with paged results, too. The \
                   overlay bounds it by the settings below. The virtual list view control is not built yet: a search with it is answered as one \
                   with any unknown control, and the log says so of each database (or all) that has the overlay.",
    },
    make: |config, _| Ok(make(config.settings()?)),
};

/// The overlay.
fn make(settings: &SssvlvConfig) -> Overlay {
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
