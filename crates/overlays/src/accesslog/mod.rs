//! slapo-accesslog(5): the operations on a database, as entries of another database.
//!
//! Changes are taken from the log of changes of the database ([`render`]) and become entries by an errand in the
//! database of the log ([`append`]), which knows what it has taken. A write is answered when that is committed.

mod announced;
mod append;
mod clerk;
mod events;
mod former;
mod purge;
mod render;
mod rows;
mod settings;

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayConfig, OverlayDescriptor},
};
use ironbark_directory::{
    Configuration, Directory, NamingContext, OperationError,
    overlay::tree_shows,
    overlay::{Changes, Errand, Follower, Overlay},
    run_errand, told_tree_vector,
};
use ironbark_model::{Dn, Entry, Schema};
use ironbark_store::{
    ChangeRecord, RecordedEffect,
    change::{RequestedChange, TextAttribute},
};

pub use self::purge::Purging;
use self::{
    announced::Announcement,
    append::{Append, LogChange, Lost},
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
        controls: &[],
        fresh: AnySettings::of::<AccesslogConfig>,
        schema: include_str!("audit.schema"),
        introduction: "The overlay logs operations on its database as entries of another database, which clients can \
            search, and which consumers with `syncdata=accesslog` follow. The database may be cn=config. The entries \
            hold all values that were written, passwords included: let few read them, by `access` rules of the \
            database of the log. If its disk is full, changes are still made and answered; they are kept in the log \
            of changes, up to its size, until they can be written; those of cn=config are not.",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// `logdb`, if it is an overlay accesslog.
pub(crate) fn log_database(config: &OverlayConfig) -> Option<&Dn> {
    // The settings of another overlay have another type.
    config.settings::<AccesslogConfig>().ok()?.log_db.as_ref()
}

/// The overlay.
struct Accesslog {
    settings: AccesslogConfig,
    log_db: Dn,
    schema: Arc<Schema>,
    /// `logold`.
    former: Option<Arc<Former>>,
    clerk: Clerk,
    /// Whether the last change of cn=config could not be written to the log.
    is_incomplete: AtomicBool,
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
        is_incomplete: AtomicBool::new(false),
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

/// Why the log is written to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// The overlay begins to follow its database.
    Begins,
    /// There are changes.
    Follows,
    /// There were changes that it will not get.
    Misses,
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

    /// The operations of a record that are logged.
    fn operations(&self, record: &ChangeRecord) -> Vec<LoggedOperation> {
        let mut operations = render::operations(record);
        operations.retain(|operation| self.logs(operation));
        operations
    }

    /// Writes to the database of the log, and waits for the commit.
    fn append(&self, changes: Changes<'_>, turn: Turn) -> io::Result<()> {
        let configuration = changes.directory.configuration();
        let log = context_of(&configuration, &self.log_db)?;
        let source = configuration.contexts.iter().find(|context| {
            context
                .suffixes()
                .first()
                .is_some_and(|suffix| suffix.pretty() == changes.suffix)
        });
        let of_tree = source.and_then(|source| told_tree_vector(source, &configuration));
        let vector = source
            .and_then(|source| source.database())
            .map(|database| database.snapshot()?.view().context_vector())
            .transpose()
            .map_err(io::Error::other)?;
        // The database may have changed before the thread of the follower began, and these changes will be in the log.
        let vector = changes
            .begun
            .filter(|_| turn != Turn::Follows)
            .cloned()
            .or(vector.flatten());
        let is_of_tree = of_tree.is_some();
        let left = match source.filter(|_| is_of_tree && turn == Turn::Begins) {
            Some(source) => self.announced(&configuration, source)?,
            None => Vec::new(),
        };
        let lost = if !self.settings.operations.contains(Operations::WRITES) {
            // The log is no copy of all changes anyway.
            Lost::Nothing
        } else if is_of_tree && turn == Turn::Begins {
            Lost::Beside
        } else if turn == Turn::Misses || is_of_tree && self.is_incomplete.load(Ordering::Relaxed) {
            Lost::Before
        } else {
            Lost::Nothing
        };
        let errand = Append {
            suffix: self.log_db.clone(),
            is_of_tree,
            vector: of_tree.or(vector).unwrap_or_default(),
            lost,
            changes: left
                .iter()
                .chain(changes.records)
                .flat_map(|record| LogChange::of(record, self.operations(record)))
                .collect(),
        };
        let ended = run(changes.directory, log, Arc::new(errand)).map_err(|error| self.unwritten(&error));
        self.is_incomplete
            .store(is_of_tree && ended.is_err(), Ordering::Relaxed);
        ended
    }

    /// The changes of cn=config that were announced, and that it shows although the log does not have them: the process
    /// ended in between.
    fn announced(&self, configuration: &Configuration, source: &NamingContext) -> io::Result<Vec<ChangeRecord>> {
        let log = context_of(configuration, &self.log_db)?;
        let Some(database) = log.database() else {
            return Ok(Vec::new());
        };
        let snapshot = database.snapshot().map_err(io::Error::other)?;
        let records = announced::read(snapshot.view()).map_err(io::Error::other)?;
        let was_made = records
            .first()
            .is_some_and(|first| tree_shows(source, configuration, first));
        Ok(if was_made { records } else { Vec::new() })
    }

    fn unwritten(&self, error: &OperationError) -> io::Error {
        let (code, text) = (error.result_code, &error.diagnostic_message);
        io::Error::other(format!("writing to {}: {code:?} {text}", self.log_db.pretty()))
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
    let ended = run_errand(directory, context, errand)?;
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
        self.append(changes, Turn::Begins)?;
        self.clerk.begin(changes.directory);
        Ok(changes.records.len())
    }

    fn take(&self, changes: Changes<'_>) -> io::Result<Vec<u8>> {
        self.append(changes, Turn::Follows)?;
        Ok(Vec::new())
    }

    fn missed(&self, changes: Changes<'_>) -> io::Result<()> {
        self.append(changes, Turn::Misses)
    }

    fn open(&self, changes: Changes<'_>) -> io::Result<()> {
        self.clerk.begin(changes.directory);
        self.append(changes, Turn::Begins)
    }

    fn announce(&self, changes: Changes<'_>) -> io::Result<()> {
        let is_logged = |record: &ChangeRecord| !self.operations(record).is_empty();
        if !changes.records.iter().any(is_logged) {
            return Ok(());
        }
        let configuration = changes.directory.configuration();
        let log = context_of(&configuration, &self.log_db)?;
        let errand = Announcement::new(self.log_db.clone(), changes.records);
        run(changes.directory, log, Arc::new(errand)).map_err(|error| self.unwritten(&error))
    }

    fn former(&self, entry: &Entry, effect: &RecordedEffect, requested: &RequestedChange) -> Vec<TextAttribute> {
        let former = self.former.as_ref();
        former.map_or_else(Vec::new, |former| former.of_tree(entry, effect, requested))
    }

    fn close(&self) {
        self.clerk.end();
    }

    fn lag(&self) -> Duration {
        Duration::from_millis(self.settings.lag_ms.into())
    }

    fn writes_to(&self) -> Option<&Dn> {
        Some(&self.log_db)
    }
}
