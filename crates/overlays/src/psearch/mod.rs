//! Persistent searches (draft-ietf-ldapext-psearch-03), as other directory servers offer them.

use ironbark_config::{
    DatabaseConfig, SettingError,
    overlay::{AnySettings, Occurrence, OverlayDescriptor, OverlaySettings},
};
use ironbark_directory::overlay::Overlay;
use ironbark_ldap_proto::controls::{ControlKind, ControlSet};

use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "psearch",
        modules: &[],
        occurrence: Occurrence::Once,
        class: None,
        settings: &[],
        controls: &[],
        fresh: AnySettings::of::<PsearchConfig>,
        schema: "",
        introduction: "The overlay adds persistent search and entry change notification \
            (draft-ietf-ldapext-psearch-03), as 389 Directory Server and others have them: a search stays, and sends \
            each entry that answers it when it is added, modified, renamed or deleted. Changes come from the log of \
            the database (256 MiB; see `changelog-size` and `changelog-age`). Access rules hold as for any search; of \
            a deleted entry they are asked about the entry as it was. The overlay has no settings. See \
            docs/changes.md.",
    },
    make: |_, _| {
        Ok(Overlay {
            controls: ControlSet::NONE.with(ControlKind::PersistentSearch),
            ..Overlay::new("psearch")
        })
    },
};

/// The overlay has no settings of its own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct PsearchConfig;

impl OverlaySettings for PsearchConfig {
    fn keeps_changes(&self) -> bool {
        true
    }

    fn check(&self, database: &DatabaseConfig, _: &mut Vec<String>) -> Result<(), SettingError> {
        if database.kind.is_stored() {
            return Ok(());
        }
        Err(SettingError::Unavailable(format!(
            "overlay psearch needs a database with a log of changes; {} has none",
            database.kind.name
        )))
    }
}
