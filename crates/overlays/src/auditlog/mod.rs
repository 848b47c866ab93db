//! slapo-auditlog(5): the changes of a database, appended to a file as LDIF.
//!
//! The file is opened for each operation, so that it may be rotated at any time, or be a pipe.

mod record;
mod rows;
mod settings;

use std::{
    fs::OpenOptions,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    sync::Arc,
};

use ironbark_config::overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor};
use ironbark_directory::overlay::{AfterCommit, CommitHooks, Overlay};
use ironbark_model::Schema;
use ironbark_store::ChangeRecord;

pub use settings::AuditlogConfig;

use crate::row::Row;

/// What there is to know of it.
pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "auditlog",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcAuditlogConfig"],
            oid: "3.15.1",
        }),
        settings: rows::ROWS,
        fresh: AnySettings::of::<AuditlogConfig>,
        schema: "",
        introduction: "",
    },
    make: |config, schema| Ok(make(config.settings()?, schema)),
};

/// The overlay.
pub struct Auditlog {
    settings: AuditlogConfig,
    schema: Arc<Schema>,
}

impl Auditlog {
    /// From its settings. The file is not opened yet.
    pub fn new(settings: &AuditlogConfig, schema: &Arc<Schema>) -> Self {
        Self {
            settings: settings.clone(),
            schema: Arc::clone(schema),
        }
    }

    fn append(&self, text: &[u8]) -> io::Result<()> {
        let Some(path) = &self.settings.file else {
            return Ok(());
        };
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o666);
        if self.settings.non_blocking {
            options.custom_flags(libc::O_NONBLOCK);
        }
        options.open(path)?.write_all(text)
    }
}

/// The overlay; without a file it does nothing.
fn make(settings: &AuditlogConfig, schema: &Arc<Schema>) -> Overlay {
    let is_used = settings.file.is_some();
    Overlay {
        commits: is_used.then(|| Arc::new(Auditlog::new(settings, schema)) as _),
        ..Overlay::new("auditlog")
    }
}

impl CommitHooks for Auditlog {
    fn after_commit(&self, _: &ChangeRecord, context: &AfterCommit<'_>) {
        let mut text = Vec::new();
        for asked in context.asked {
            record::write(&self.schema, asked, context, &mut text);
        }
        if text.is_empty() {
            return;
        }
        if let Err(error) = self.append(&text) {
            // The change stands: it is committed. A pipe that nobody reads is no fault when the file may not block.
            tracing::warn!(target: "any", "auditlog: writing the changes: {error}");
        }
    }
}
