//! A database gets another file while the server runs: it is closed, whoever asked for it puts the file in place, and
//! it is opened again. In between its requests are answered with `unavailable`.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ironbark_store::ClosedDatabase;

use super::{Prepared, prepare_restricted, state::RunningState};
use crate::{
    Directory, OpenError, OperationError,
    backend::external::{Answers, ExternalDatabase, ExternalRequest},
    refusal::ClusterRefusal,
};

/// A database that is closed, and will be opened again. Give it to [`Service::end_renewal`](crate::Service).
#[derive(Debug)]
#[must_use = "the database stays closed until this has come to its end"]
pub struct Renewal {
    place: PathBuf,
    closed: Option<ClosedDatabase>,
}

impl Renewal {
    /// Waits until nobody has the former file open in this process, `limit` at most. False: somebody still has.
    pub fn is_closed_within(&self, limit: Duration) -> bool {
        self.closed.as_ref().is_none_or(|closed| closed.wait(limit))
    }
}

/// See [`Service::begin_renewal`](crate::Service::begin_renewal).
pub(crate) fn begin(
    directory: &Arc<Directory>,
    state: &Mutex<RunningState>,
    path: &Path,
) -> Result<Option<Renewal>, OpenError> {
    let mut locked = state.lock().unwrap_or_else(PoisonError::into_inner);
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_running = locked.running.iter().any(|running| running.place == place);
    let Some(read) = locked.read.clone().filter(|_| is_running) else {
        return Ok(None);
    };
    locked.renewed.push(place.clone());
    let restricted = locked.restricted.clone();
    if let Err(error) = prepare_restricted(directory, locked, read, restricted).map(Prepared::commit) {
        forget(&mut state.lock().unwrap_or_else(PoisonError::into_inner), &place);
        return Err(error);
    }
    let locked = state.lock().unwrap_or_else(PoisonError::into_inner);
    let closed = locked.closed.iter().rev().find(|(closed, _)| *closed == place);
    let closed = closed.map(|(_, closed)| closed.clone());
    drop(locked);
    Ok(Some(Renewal { place, closed }))
}

/// See [`Service::end_renewal`](crate::Service::end_renewal).
pub(crate) fn end(directory: &Arc<Directory>, state: &Mutex<RunningState>, renewal: &Renewal) -> Result<(), OpenError> {
    let mut locked = state.lock().unwrap_or_else(PoisonError::into_inner);
    forget(&mut locked, &renewal.place);
    let Some(read) = locked.read.clone() else {
        return Ok(());
    };
    let restricted = locked.restricted.clone();
    let opened = prepare_restricted(directory, locked, read, restricted).map(Prepared::commit);
    if opened.is_err() {
        // Other changes of the configuration must not fail for it.
        let mut locked = state.lock().unwrap_or_else(PoisonError::into_inner);
        locked.renewed.push(renewal.place.clone());
    }
    opened
}

fn forget(state: &mut RunningState, place: &Path) {
    state.renewed.retain(|renewed| renewed != place);
}

/// What serves a database meanwhile.
pub(super) struct Renewed;

impl ExternalDatabase for Renewed {
    fn begin(&self, _: ExternalRequest, answers: Answers) {
        answers.end(OperationError::from(ClusterRefusal::Replaced).into());
    }
}
