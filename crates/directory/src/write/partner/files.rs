//! The files of an ldif database, which say what its working copy holds.

use std::sync::Arc;

use ironbark_store::{ChangeRecord, ContextVector, Database, WriteTransaction};

use super::{CommitPartner, Flush, Needs, NotKept};
use crate::{
    OperationError,
    backend::{
        ldif::{LdifBackendError, LdifFiles},
        queue::Outcome,
    },
    refusal::Failure,
};

/// Writes each change to the files before its commit.
pub(super) struct Files {
    files: Arc<LdifFiles>,
    /// Whether the database keeps a context vector.
    keeps_vector: bool,
}

impl Files {
    pub(super) fn new(files: Arc<LdifFiles>, keeps_vector: bool) -> Self {
        Self { files, keeps_vector }
    }

    fn write(&self, transaction: &WriteTransaction<'_>, record: &ChangeRecord) -> Result<(), LdifBackendError> {
        let view = transaction.view();
        let vector = if self.keeps_vector || view.context_vector()?.is_some() {
            transaction.vector()?
        } else {
            ContextVector::default()
        };
        self.files.write(&view, record, &vector)
    }
}

impl CommitPartner for Files {
    /// A change of files is always a group of its own.
    fn needs(&self) -> Needs {
        Needs {
            group_limit: 1,
            ..Needs::default()
        }
    }

    /// The working copy is lost with the process.
    fn flush(&self) -> Flush {
        Flush::Never
    }

    fn keep(&mut self, transaction: &mut WriteTransaction<'_>, outcomes: &[Outcome]) -> Result<(), NotKept> {
        for record in outcomes.iter().filter_map(record_of) {
            self.write(transaction, record).map_err(|error| {
                tracing::error!(target: "any", "writing the files of a database: {error}");
                NotKept::Refused(Failure::NotFiled.into())
            })?;
        }
        Ok(())
    }

    /// Writes back what the working copy still says: it could not be updated, because the disk is full.
    fn take_back(&mut self, database: &Database, outcomes: &[Outcome]) -> Option<OperationError> {
        for record in outcomes.iter().filter_map(record_of) {
            let snapshot = database.snapshot().map_err(LdifBackendError::from);
            let taken_back = snapshot.and_then(|snapshot| self.files.write_back(&snapshot.view(), record));
            if let Err(error) = taken_back {
                let until = "the files have a refused change until the server starts again";
                tracing::error!(target: "any", "{until}: {error}");
            }
        }
        None
    }
}

fn record_of(outcome: &Outcome) -> Option<&ChangeRecord> {
    match outcome {
        Outcome::Done(_, executed) => Some(&executed.record),
        Outcome::Refused(_) | Outcome::Returned(_) => None,
    }
}
