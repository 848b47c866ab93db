//! Persistent searches (draft-ietf-ldapext-psearch-03), as other directory servers offer them.

mod control;
mod refusal;

use std::sync::Arc;

use ironbark_config::{
    DatabaseConfig, SettingError,
    overlay::{AnySettings, Occurrence, OverlayDescriptor, OverlaySettings},
};
use ironbark_directory::{
    OperationError, ResponseControl,
    overlay::{EntryChangeKind, NoticeHooks, Notices, Overlay},
};
use ironbark_ldap_proto::controls::{OverlayControl, RequestControls};

use self::refusal::PsearchRefusal;
use crate::Row;

pub use control::{CHANGE_OID, ChangeType, ChangeTypes, DESCRIPTOR, EntryChange, PersistentSearch};

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "psearch",
        modules: &[],
        occurrence: Occurrence::Once,
        class: None,
        settings: &[],
        controls: &[DESCRIPTOR.oid],
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
            own_controls: const { &[OverlayControl::of::<PersistentSearch>()] },
            notices: Some(Arc::new(Psearch)),
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

/// The overlay.
struct Psearch;

impl NoticeHooks for Psearch {
    fn begin(&self, controls: &RequestControls<'_>) -> Result<Option<Box<dyn Notices>>, OperationError> {
        let Some(asked) = controls.decoded::<PersistentSearch>() else {
            return Ok(None);
        };
        if controls.sync_request.is_some() {
            return Err(PsearchRefusal::Synchronizes.into());
        }
        if controls.paged_results.is_some() {
            return Err(PsearchRefusal::Paged.into());
        }
        Ok(Some(Box::new(asked.value)))
    }
}

impl Notices for PersistentSearch {
    fn sends_present(&self) -> bool {
        !self.changes_only
    }

    fn wants(&self, change: EntryChangeKind) -> bool {
        self.changes.contains(change.into())
    }

    fn control(&self, change: EntryChangeKind, former_name: Option<&str>) -> Option<ResponseControl> {
        self.notifies.then(|| {
            ResponseControl::new(&EntryChange {
                change: change.into(),
                previous_dn: former_name.map(str::as_bytes),
            })
        })
    }

    fn falls_behind(&self) -> OperationError {
        PsearchRefusal::Behind.into()
    }
}

impl From<EntryChangeKind> for ChangeType {
    fn from(change: EntryChangeKind) -> Self {
        match change {
            EntryChangeKind::Add => Self::Add,
            EntryChangeKind::Delete => Self::Delete,
            EntryChangeKind::Modify => Self::Modify,
            EntryChangeKind::Rename => Self::ModDn,
        }
    }
}
