//! The destination of entries: a bulk build of an empty database, transactions on a database with entries, or nothing.

use std::{error::Error, sync::Arc};

use ironbark_config::{DatabaseConfig, database::EntryPlace};
use ironbark_directory::open::{self, OpenDatabase};
use ironbark_model::Schema;
use ironbark_store::{BulkBuilder, Database, EntryId, StoreError, WriteTransaction};

use super::{
    record::{Content, Ready},
    remote::{Remote, Settled},
};
use crate::shared::running::RunningServer;

/// A chosen database, before the load.
pub(super) enum Opened {
    /// The database is empty and not in use.
    Bulk(Box<BulkBuilder>),
    /// The database has entries, or is in use.
    Database(Box<Database>),
    /// Its entries are in files.
    Files(Box<OpenDatabase>),
    /// A server has it open.
    Server(RunningServer),
    /// `-u`, or a database that stores nothing.
    Nothing,
}

/// A chosen database, during the load.
pub(super) enum Sink<'d> {
    Bulk(Box<BulkBuilder>),
    Transaction {
        database: &'d Database,
        open: Option<Box<WriteTransaction<'d>>>,
        pending: usize,
    },
    /// One transaction, so that the files are changed for all entries or for none.
    Files {
        opened: &'d OpenDatabase,
        open: Option<Box<WriteTransaction<'d>>>,
        loaded: Vec<EntryId>,
    },
    Server(Box<Remote>),
    Nothing,
}

/// Whether an entry is stored.
pub(super) enum Stored {
    /// It is, with this ID if it has one.
    Now(Option<u64>),
    /// A server has it: see [`Sink::settled`].
    Later,
}

/// Entries of a transaction when the load may continue after a failed entry.
const BATCH: usize = 1000;

impl Opened {
    /// Opens a database for a load. `memory` bounds the memory of a bulk build.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(super) fn new(
        settings: &DatabaseConfig,
        schema: &Arc<Schema>,
        memory: usize,
        quick: bool,
    ) -> Result<Self, Box<dyn Error>> {
        match settings.kind.entries {
            EntryPlace::Nowhere => return Ok(Self::Nothing),
            EntryPlace::Files => return Ok(Self::Files(Box::new(open::database(settings, schema)?))),
            _ => {}
        }
        let mut options = open::options(settings);
        options.no_sync |= quick;
        match BulkBuilder::new(options.clone(), Arc::clone(schema), memory) {
            Ok(builder) => Ok(Self::Bulk(Box::new(builder))),
            // The database has entries or is in use. The usual way of opening reports any other fault.
            Err(StoreError::Format(_)) => Ok(Self::Database(Box::new(Database::open(options, Arc::clone(schema))?))),
            Err(error) => Err(error.into()),
        }
    }
}

impl Sink<'_> {
    /// Stores an entry.
    pub(super) fn put(&mut self, ready: &Ready, keep_going: bool) -> Result<Stored, StoreError> {
        if let (Self::Server(remote), Content::Plain(entry)) = (&mut *self, &ready.content) {
            return remote.put(ready, entry).map(|()| Stored::Later);
        }
        self.put_here(ready, keep_going).map(Stored::Now)
    }

    /// Stores an entry in this process. Returns its ID if it has one.
    fn put_here(&mut self, ready: &Ready, keep_going: bool) -> Result<Option<u64>, StoreError> {
        match (self, &ready.content) {
            (Self::Bulk(builder), Content::Prepared(entry)) => builder.add_prepared(entry).map(Some),
            (Self::Bulk(builder), Content::Plain(entry)) => builder.add(entry).map(Some),
            (
                Self::Transaction {
                    database,
                    open,
                    pending,
                },
                Content::Plain(entry),
            ) => {
                let mut transaction = match open.take() {
                    Some(transaction) => transaction,
                    None => Box::new(database.write()?),
                };
                let result = transaction.load(entry);
                // A refusal leaves the transaction unchanged. After any other error the transaction must not be
                // committed.
                if matches!(result, Ok(_) | Err(StoreError::Inapplicable(_))) {
                    *pending += 1;
                    if keep_going && *pending >= BATCH {
                        transaction.commit()?;
                        *pending = 0;
                    } else {
                        *open = Some(transaction);
                    }
                }
                result.map(Some)
            }
            (Self::Files { opened, open, loaded }, Content::Plain(entry)) => {
                let mut transaction = match open.take() {
                    Some(transaction) => transaction,
                    None => Box::new(opened.database.write()?),
                };
                let result = transaction.load(entry);
                if matches!(result, Ok(_) | Err(StoreError::Inapplicable(_))) {
                    *open = Some(transaction);
                }
                loaded.extend(result.as_ref().ok());
                result.map(Some)
            }
            (Self::Transaction { .. } | Self::Files { .. }, Content::Prepared(_))
            | (Self::Server(_) | Self::Nothing, _) => Ok(None),
        }
    }

    /// The missing superiors.
    pub(super) fn missing_superiors(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Bulk(builder) => Ok(builder
                .missing_superiors(limit)
                .into_iter()
                .map(str::to_owned)
                .collect()),
            Self::Transaction {
                open: Some(transaction),
                ..
            }
            | Self::Files {
                open: Some(transaction),
                ..
            } => transaction.missing_superiors(limit),
            Self::Files { open: None, .. } => Ok(Vec::new()),
            Self::Transaction {
                database, open: None, ..
            } => database.write()?.missing_superiors(limit),
            Self::Server(_) | Self::Nothing => Ok(Vec::new()),
        }
    }

    /// Whether an entry may come before its superior.
    pub(super) fn keeps_places(&self) -> bool {
        !matches!(self, Self::Files { .. })
    }

    /// What has become of entries that were put with [`Stored::Later`]; of all of them at the end.
    pub(super) fn settled(&mut self, is_end: bool) -> Result<Vec<Settled>, StoreError> {
        match self {
            Self::Server(remote) => remote.settled(is_end),
            _ => Ok(Vec::new()),
        }
    }

    /// Makes the load durable and visible. Places of missing superiors are kept.
    pub(super) fn finish(self) -> Result<(), Box<dyn Error>> {
        match self {
            Self::Bulk(builder) => Ok(builder.finish_with_places()?),
            Self::Files {
                opened,
                open: Some(transaction),
                loaded,
            } => {
                if let Some(files) = &opened.files {
                    files.store(&transaction.view(), loaded.into_iter())?;
                }
                Ok(transaction.commit()?)
            }
            Self::Files { open: None, .. } => Ok(()),
            Self::Transaction { database, open, .. } => {
                if let Some(transaction) = open {
                    transaction.commit()?;
                }
                Ok(database.sync()?)
            }
            Self::Server(_) | Self::Nothing => Ok(()),
        }
    }
}
