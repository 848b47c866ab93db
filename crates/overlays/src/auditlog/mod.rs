//! slapo-auditlog(5): the changes of a database, appended to a file as LDIF.
//!
//! The file is opened for each group of changes, so it may be rotated at any time, or be a pipe. The overlay follows
//! the log of changes. Its notes say which file it wrote to, and how long the file was after the last counted change.
//! Text behind that place was written just before the process ended: when the overlay begins again, it does not write
//! changes found there again, and it cuts off an incomplete one. Where changes are missing, the file says so.

mod place;
mod record;
mod rows;
mod settings;

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ironbark_config::overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor};
use ironbark_directory::overlay::{Changes, Follower, Overlay};

pub use settings::AuditlogConfig;

use self::place::Place;
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
        controls: &[],
        fresh: AnySettings::of::<AuditlogConfig>,
        schema: "",
        introduction: "",
    },
    make: |config, _| Ok(make(config.settings()?)),
};

/// The overlay.
struct Auditlog {
    path: PathBuf,
    non_blocking: bool,
}

/// Held while a file is written: several databases may write to the same file.
static WRITING: Mutex<()> = Mutex::new(());

fn writing() -> MutexGuard<'static, ()> {
    WRITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The overlay; without a file it does nothing.
fn make(settings: &AuditlogConfig) -> Overlay {
    let follower = settings.file.as_ref().map(|file| {
        Arc::new(Auditlog {
            path: file.into(),
            non_blocking: settings.non_blocking,
        }) as _
    });
    Overlay {
        follower,
        ..Overlay::new("auditlog")
    }
}

impl Auditlog {
    fn open(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o666);
        if self.non_blocking {
            options.custom_flags(libc::O_NONBLOCK);
        }
        options.open(&self.path)
    }

    /// Where the file ends now; if there is no file yet, the beginning.
    fn place(&self) -> Place {
        std::fs::metadata(&self.path).map_or(Place::default(), |found| Place::of(&found))
    }

    /// Appends a text, whole or not at all.
    fn append(&self, text: &[u8]) -> io::Result<Place> {
        let _writing = writing();
        let file = match self.open() {
            // If writing may not block, a pipe without a reader is no fault.
            Err(error) if self.non_blocking && error.raw_os_error() == Some(libc::ENXIO) => {
                tracing::warn!(target: "any", "auditlog: writing the changes: {error}");
                return Ok(Place::default());
            }
            opened => opened?,
        };
        place::append(&file, text)
    }
}

impl Follower for Auditlog {
    fn name(&self) -> String {
        format!("auditlog {}", self.path.display())
    }

    fn begin(&self) -> Vec<u8> {
        self.place().notes()
    }

    fn resume(&self, notes: &[u8], changes: Changes<'_>) -> io::Result<usize> {
        let _writing = writing();
        let texts = changes
            .records
            .iter()
            .map(|record| record::text(record, changes.suffix));
        place::taken(&self.path, Place::from_notes(notes), texts)
    }

    fn take(&self, changes: Changes<'_>) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        for record in changes.records {
            text.extend(record::text(record, changes.suffix));
        }
        if text.is_empty() {
            return Ok(self.place().notes());
        }
        Ok(self.append(&text)?.notes())
    }

    fn missed(&self, changes: Changes<'_>) -> io::Result<()> {
        // What was before its beginning is not missing.
        if changes.begun.is_some() {
            return Ok(());
        }
        let now = changes.directory.clock().now().unix_seconds();
        self.append(&record::gap(now, changes.suffix)).map(drop)
    }
}
