//! slapo-sssvlv(5): limits of sorted searches, and the virtual list view. Sorting itself is always there.

mod rows;
mod settings;

use std::sync::Arc;

use ironbark_config::overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor};
use ironbark_directory::overlay::{Overlay, SortLimits};
use ironbark_ldap_proto::controls::{ControlKind, ControlSet};

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
        controls: &[],
        fresh: AnySettings::of::<SssvlvConfig>,
        schema: "",
        introduction: "The server side sorting control (RFC 2891) is always offered, with and without this overlay, \
            also with paged results. The overlay limits it by the settings below, and adds the virtual list view \
            control (draft-ietf-ldapext-ldapv3-vlv-09). A sorted search with that control gets the entries around a \
            position, or around the first entry that is not before a value; the answer has the position and the number \
            of entries. Entries that the client may not see do not count. Each request sorts anew, so a list is as it \
            is at that time. No context ID is given. A view counts as a sorted search until it is answered.",
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
        controls: ControlSet::NONE.with(ControlKind::VirtualListView),
        ..Overlay::new("sssvlv")
    }
}
