//! slapo-accesslog(5): the operations on a database, as entries of another database.
//!
//! Changes are taken from the log of changes of the database ([`render`]) and become entries by an errand in the
//! database of the log ([`append`]), which knows what it has taken. A write is answered when that is committed.

mod append;
mod clerk;
mod events;
mod former;
mod purge;
mod render;
mod rows;
mod settings;

use std::{io, sync::Arc};

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    Configuration, Directory, NamingContext, OperationError,
    overlay::{Changes, Errand, Follower, Overlay},
};
use ironbark_model::{Dn, Entry, Schema};
use ironbark_store::{ChangeRecord, RecordedEffect, change::TextAttribute};

use self::{
    append::{Append, LogChange},
    clerk::Clerk,
    former::Former,
    render::LoggedOperation,
    settings::{AccesslogConfig, Operations},
};
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "accesslog",
        modules: &[],
        occurrence: Occurrence::Many,
        class: Some(OverlayClass {
            names: &["olcAccessLogConfig"],
            oid: "3.4.1",
        }),
        settings: rows::ROWS,
        fresh: AnySettings::of::<AccesslogConfig>,
        schema: include_str!("audit.schema"),
        introduction: "The overlay logs operations on its database as entries of another database, which clients can \
            search, and which consumers with `syncdata=accesslog` follow. The entries hold all values that were \
            written, passwords included: let few read them, by `access` rules of the database of the log. If its disk \
            is full, changes are still made and answered; they are kept in the log of changes, up to its size, until \
            they can be written.",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// The overlay.
struct Accesslog {
    settings: AccesslogConfig,
    log_db: Dn,
    schema: Arc<Schema>,
    /// `logold`.
    former: Option<Arc<Former>>,
    clerk: Clerk,
}

fn make(settings: &AccesslogConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let Some(log_db) = settings.log_db.clone() else {
        return Err("accesslog: \"logdb <suffix>\" missing or invalid".into());
    };
    let former = Former::of(settings, schema)?.map(Arc::new);
    let accesslog = Arc::new(Accesslog {
        settings: settings.clone(),
        clerk: Clerk::new(log_db.clone(), settings.purge, settings.purge_batch),
        log_db,
        schema: Arc::clone(schema),
        former: former.clone(),
    });
    let bases = settings.bases.iter().map(|base| base.operations);
    let operations = bases.fold(settings.operations, Operations::with);
    let hears = !settings.success || !operations.is_writes();
    let hears_session = operations.contains(Operations::UNBIND) || operations.contains(Operations::ABANDON);
    Ok(Overlay {
        effects: former.map(|former| former as _),
        responses: hears.then(|| Arc::clone(&accesslog) as _),
        unbinds: hears_session.then(|| Arc::clone(&accesslog) as _),
        follower: Some(accesslog),
        ..Overlay::new("accesslog")
    })
}

impl Accesslog {
    /// Whether an operation is logged.
    fn logs(&self, operation: &LoggedOperation) -> bool {
        self.settings.operations.contains(operation.operation)
            || self.is_below_base(operation.operation, operation.dn.as_deref())
    }

    fn is_below_base(&self, operation: Operations, dn: Option<&str>) -> bool {
        let mut bases = self
            .settings
            .bases
            .iter()
            .filter(|base| base.operations.contains(operation))
            .peekable();
        if bases.peek().is_none() {
            return false;
        }
        let name = Dn::parse(&self.schema, dn.unwrap_or_default().as_bytes()).unwrap_or_default();
        bases.any(|base| name.is_within(&base.base))
    }

    fn change(&self, record: &ChangeRecord) -> LogChange {
        let mut operations = render::operations(record);
        operations.retain(|operation| self.logs(operation));
        LogChange {
            // Of cn=config each change is told once.
            position: Some(record.position).filter(|position| position.sequence != 0),
            csn: Some((record.csn, record.via)),
            cookie: record.cookie.clone(),
            operations,
        }
    }

    /// Writes to the database of the log, and waits for the commit.
    fn append(&self, changes: Changes<'_>, is_complete: bool) -> io::Result<()> {
        let configuration = changes.directory.configuration();
        let log = context_of(&configuration, &self.log_db)?;
        let source = configuration.contexts.iter().find(|context| {
            context
                .suffixes()
                .first()
                .is_some_and(|suffix| suffix.pretty() == changes.suffix)
        });
        let of_tree = source.and_then(|source| source.tree_vector(&configuration));
        let vector = source
            .and_then(|source| source.database())
            .map(|database| database.snapshot()?.view().context_vector())
            .transpose()
            .map_err(io::Error::other)?;
        let errand = Append {
            suffix: self.log_db.clone(),
            vector: of_tree.or(vector.flatten()).unwrap_or_default(),
            is_complete,
            changes: changes.records.iter().map(|record| self.change(record)).collect(),
        };
        run(changes.directory, log, Arc::new(errand)).map_err(|error| {
            let (code, text) = (error.result_code, error.diagnostic_message);
            io::Error::other(format!("writing to {}: {code:?} {text}", self.log_db.pretty()))
        })
    }
}

/// The database of the log.
fn context_of<'c>(configuration: &'c Configuration, log_db: &Dn) -> io::Result<&'c Arc<NamingContext>> {
    let mut contexts = configuration.contexts.iter();
    contexts
        .find(|context| context.suffixes().contains(log_db))
        .ok_or_else(|| io::Error::other(format!("there is no database {}", log_db.pretty())))
}

/// Runs an errand, and waits for its end.
fn run(directory: &Arc<Directory>, context: &NamingContext, errand: Arc<dyn Errand>) -> Result<(), OperationError> {
    let ended = directory.run_errand(context, errand)?;
    ended
        .blocking_recv()
        .unwrap_or_else(|_| Err(OperationError::code(ironbark_model::ResultCode::UNAVAILABLE)))
}

impl Follower for Accesslog {
    fn name(&self) -> String {
        format!("accesslog {}", self.log_db.pretty())
    }

    fn resume(&self, _: &[u8], changes: Changes<'_>) -> io::Result<usize> {
        // The database of the log knows what it has taken. Its suffix entry is made here at the latest.
        self.append(changes, true)?;
        self.clerk.begin(changes.directory);
        Ok(changes.records.len())
    }

    fn take(&self, changes: Changes<'_>) -> io::Result<Vec<u8>> {
        self.append(changes, true)?;
        Ok(Vec::new())
    }

    fn open(&self, changes: Changes<'_>) -> io::Result<()> {
        self.clerk.begin(changes.directory);
        self.append(changes, false)
    }

    fn former(&self, entry: &Entry, effect: &RecordedEffect) -> Vec<TextAttribute> {
        let former = self.former.as_ref();
        former.map_or_else(Vec::new, |former| former.of_tree(entry, effect))
    }

    fn close(&self) {
        self.clerk.end();
    }

    fn writes_to(&self) -> Option<&Dn> {
        Some(&self.log_db)
    }
}
