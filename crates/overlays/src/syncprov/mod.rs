//! slapo-syncprov(5): consumers get the content of the database, and then each change (RFC 4533).

mod rows;
mod settings;

use std::sync::Arc;

use ironbark_config::overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor};
use ironbark_directory::overlay::{Overlay, SyncProvider};
use ironbark_ldap_proto::controls::{ControlKind, ControlSet};

use self::settings::SyncprovConfig;
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "syncprov",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcSyncProvConfig"],
            oid: "3.1.1",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<SyncprovConfig>,
        schema: "",
        introduction: "The overlay adds the content synchronization control (RFC 4533): a consumer gets the content of \
            a search once, and then each change. The database keeps its changes in a log (256 MiB; see `changelog-size` \
            and `changelog-age`), also over restarts. A consumer that was away gets what has changed since, if the log \
            still has it; otherwise it gets what is newer than its cookie, and the UUIDs of all other entries. Access \
            rules and limits hold as for any search.",
    },
    make: |config, _| {
        let settings: &SyncprovConfig = config.settings()?;
        Ok(Overlay {
            provider: Some(Arc::new(SyncProvider {
                no_present: settings.no_present,
                reload_hint: settings.reload_hint,
            })),
            controls: ControlSet::NONE.with(ControlKind::SyncRequest),
            ..Overlay::new("syncprov")
        })
    },
};
