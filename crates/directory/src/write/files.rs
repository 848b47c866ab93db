//! The files of an ldif database, which say what its working copy holds.

use ironbark_store::{ChangeRecord, ContextVector, Database, WriteTransaction};

use crate::{
    OperationError,
    backend::{
        ldif::LdifError,
        queue::{Outcome, Served},
    },
    refusal::Failure,
};

/// Writes the changes of a group to the files, before its commit.
pub(super) fn write(
    served: &Served,
    transaction: &WriteTransaction<'_>,
    outcomes: &[Outcome],
) -> Result<(), OperationError> {
    let Some(files) = served.context.backend.files() else {
        return Ok(());
    };
    let (view, keeps_vector) = (transaction.view(), served.context.settings.keeps_changes());
    let write_one = |record: &ChangeRecord| {
        let vector = if keeps_vector || view.context_vector()?.is_some() {
            transaction.vector()?
        } else {
            ContextVector::default()
        };
        files.write(&view, record, &vector)
    };
    for outcome in outcomes {
        if let Outcome::Done(_, executed) = outcome {
            write_one(&executed.record).map_err(|error: LdifError| {
                tracing::error!(target: "any", "writing the files of a database: {error}");
                Failure::NotFiled
            })?;
        }
    }
    Ok(())
}

/// Writes back what the working copy still says: it could not be updated, because the disk is full.
pub(super) fn write_back(served: &Served, database: &Database, outcomes: &[Outcome]) {
    let Some(files) = served.context.backend.files() else {
        return;
    };
    for outcome in outcomes {
        if let Outcome::Done(_, executed) = outcome {
            let snapshot = database.snapshot().map_err(LdifError::from);
            let taken_back = snapshot.and_then(|snapshot| files.write_back(&snapshot.view(), &executed.record));
            if let Err(error) = taken_back {
                tracing::error!(target: "any", "files of a database say what was refused, until it is started again: {error}");
            }
        }
    }
}
