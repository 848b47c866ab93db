//! The log of a cluster: what other servers have appended is applied here, then a group is executed, and its batch is
//! appended before its commit.
//!
//! Invariants: nothing is committed here that the log does not have. What the log has is applied whole, batch by batch,
//! in its order. Until the log has answered, the changes are in LMDB's open transaction, which no reader sees.

mod wait;

use std::{sync::Arc, time::Duration};

use ironbark_store::{ClusterLogPlace, Database, StoreError, WriteTransaction};

use self::wait::Wait;
use super::{CommitPartner, Flush, Missing, Needs, NotKept, Ready};
use crate::{
    Directory, OperationError,
    backend::{
        commit_log::{Append, CommitLog, Turn},
        queue::{Outcome, Queued, WriterHandle},
    },
    refusal::ClusterRefusal,
};

/// Octets of records that are applied in one transaction. It may write to a page or two of the file for each record.
const APPLIED_TOGETHER: usize = 1 << 20;

/// The log of a cluster, in etcd. The writer's handle has it once the database has joined.
pub(super) struct ClusterLog {
    directory: Arc<Directory>,
    writer: WriterHandle,
    state: State,
}

enum State {
    /// There is no group.
    Idle,
    /// There is a group, and the database has not joined a log.
    NotJoined,
    /// There is a group, for this log.
    Open(Group),
}

type Log = Arc<Box<dyn CommitLog>>;

/// A group on its way into the log.
struct Group {
    log: Log,
    deadline: Deadline,
    /// How long each answer of the log may take.
    patience: Duration,
    /// Where the database is.
    place: ClusterLogPlace,
    /// Whether further writes wait.
    has_more: bool,
    /// For reads that must not be old, alone in their group.
    wait: Option<Wait>,
    /// Whether the log has the changes.
    is_appended: bool,
}

impl ClusterLog {
    pub(super) fn new(directory: Arc<Directory>, writer: WriterHandle) -> Self {
        Self {
            directory,
            writer,
            state: State::Idle,
        }
    }

    /// The log of the group, or the present one between groups.
    fn log(&self) -> Result<Option<Log>, OperationError> {
        match &self.state {
            State::Open(group) => Ok(Some(Arc::clone(&group.log))),
            State::NotJoined => Err(ClusterRefusal::NotJoined.into()),
            State::Idle => Ok(self.writer.log().get()),
        }
    }
}

impl CommitPartner for ClusterLog {
    fn needs(&self) -> Needs {
        Needs {
            batch: true,
            is_shared: true,
            ..Needs::default()
        }
    }

    /// The log is on the disks of a majority.
    fn flush(&self) -> Flush {
        let writer = self.writer.clone();
        Flush::Checkpoints(Arc::new(move |sequence| {
            if let Some(log) = writer.log().get() {
                log.kept(sequence);
            }
        }))
    }

    fn open(&mut self, group: &[Queued]) {
        let directory = &self.directory;
        let begun = self.writer.log().get().map(|log| Group {
            deadline: Deadline::new(directory, log.patience()),
            patience: log.patience(),
            log,
            place: ClusterLogPlace::default(),
            has_more: false,
            wait: group
                .iter()
                .all(|queued| queued.task.reads_newest())
                .then(Wait::default),
            is_appended: false,
        });
        self.state = begun.map_or(State::NotJoined, State::Open);
    }

    /// Of much it gives a part: other orders wait for a part only, and between two of them the file may be flushed.
    fn missing(&mut self, database: &Database) -> Result<Option<Missing>, OperationError> {
        let Some(log) = self.log()? else { return Ok(None) };
        if let State::Open(group) = &mut self.state
            && group.wait.is_none()
        {
            group.patience = group.deadline.left(&self.directory);
            if group.patience.is_zero() {
                return Err(ClusterRefusal::Late.into());
            }
        }
        let place = join(database, &**log)?;
        log.reached(place);
        if let State::Open(group) = &mut self.state {
            group.place = place;
        }
        Ok(behind(&**log, place))
    }

    fn applied(&mut self, missing: &Missing, outcome: Result<(), OperationError>) -> Result<(), OperationError> {
        let Some(log) = self.log()? else { return outcome };
        if let Err(error) = outcome {
            // The log keeps them, and says so.
            log.failed(missing.place, &error.diagnostic_message);
            return Err(ClusterRefusal::CannotFollow.into());
        }
        log.reached(missing.behind);
        if let State::Open(group) = &mut self.state {
            group.place = missing.behind;
        }
        Ok(())
    }

    fn ready(&mut self, queued: &[Queued]) -> Result<Ready, OperationError> {
        let State::Open(group) = &mut self.state else {
            return Err(ClusterRefusal::NotJoined.into());
        };
        if let Some(wait) = &mut group.wait {
            let left = || group.deadline.left(&self.directory);
            return wait.step(&**group.log, group.place, &left);
        }
        match group.log.turn(group.place, group.patience) {
            Turn::Mine => {
                group.has_more = self.writer.has_more_than(queued);
                Ok(Ready::Now)
            }
            Turn::Behind => Ok(Ready::Behind),
            Turn::Closed(closed) => Err(ClusterRefusal::from(closed).into()),
        }
    }

    fn keep(&mut self, transaction: &mut WriteTransaction<'_>, _: &[Outcome]) -> Result<(), NotKept> {
        let State::Open(group) = &mut self.state else {
            return Err(refused(ClusterRefusal::NotJoined));
        };
        group.is_appended = false;
        let Some((batch, last)) = transaction.batch(group.log.mark()) else {
            // Notes for followers stay here. What was refused beside them is confirmed all the same.
            return group.confirm();
        };
        let append = group
            .log
            .append(group.place, &batch, last, group.has_more, group.patience);
        match append {
            Append::Committed => {}
            Append::Overtaken => return Err(NotKept::Overtaken),
            Append::Away => return Err(refused(ClusterRefusal::Late)),
            Append::Unknown => return Err(refused(ClusterRefusal::Unknown)),
        }
        group.is_appended = true;
        let put = transaction.put_chain(group.place.behind(&batch, last).chain);
        put.map_err(|_| refused(ClusterRefusal::NotHere))
    }

    fn confirm(&mut self) -> Result<(), NotKept> {
        match &self.state {
            State::Open(group) => group.confirm(),
            State::Idle | State::NotJoined => Err(refused(ClusterRefusal::NotJoined)),
        }
    }

    /// The log has what was appended: the change will come back as missing.
    fn take_back(&mut self, _: &Database, _: &[Outcome]) -> Option<OperationError> {
        let is_appended = matches!(&self.state, State::Open(group) if group.is_appended);
        is_appended.then(|| ClusterRefusal::NotHere.into())
    }

    fn close(&mut self) {
        self.state = State::Idle;
    }
}

fn refused(refusal: ClusterRefusal) -> NotKept {
    NotKept::Refused(refusal.into())
}

impl Group {
    /// What another server has written may have made a refusal wrong.
    fn confirm(&self) -> Result<(), NotKept> {
        match self.log.confirm(self.place, self.patience) {
            Append::Committed => Ok(()),
            Append::Overtaken => Err(NotKept::Overtaken),
            Append::Away | Append::Unknown => Err(refused(ClusterRefusal::Late)),
        }
    }
}

/// Until when a group may wait.
struct Deadline {
    begun: u64,
    patience: Duration,
}

impl Deadline {
    fn new(directory: &Directory, patience: Duration) -> Self {
        let begun = directory.monotonic_micros();
        Self { begun, patience }
    }

    fn left(&self, directory: &Directory) -> Duration {
        let waited = directory.monotonic_micros().saturating_sub(self.begun);
        self.patience.saturating_sub(Duration::from_micros(waited))
    }
}

/// The place of the database. One without changes takes the number of the log, and one with entries remembers that it
/// is of a log: it begins no other one by itself.
fn join(database: &Database, log: &dyn CommitLog) -> Result<ClusterLogPlace, StoreError> {
    let (place, is_of_log) = {
        let snapshot = database.snapshot()?;
        let view = snapshot.view();
        (view.log_place()?, view.is_of_a_cluster()?)
    };
    let is_known = place.position.generation != 0 && (is_of_log || place.is_empty());
    let Some(generation) = log.generation().filter(|_| !is_known) else {
        return Ok(place);
    };
    let mut transaction = database.write()?;
    transaction.join_log(generation)?;
    if !place.is_empty() {
        transaction.put_chain(place.chain)?;
    }
    let place = transaction.view().log_place()?;
    transaction.commit()?;
    Ok(place)
}

/// What the log has brought behind a place.
fn behind(log: &dyn CommitLog, place: ClusterLogPlace) -> Option<Missing> {
    let (mut batches, mut behind, mut octets) = (Vec::new(), place, 0);
    let mut next = log.next(behind);
    while octets < APPLIED_TOGETHER
        && let Some(one) = next
    {
        behind = one.behind;
        octets += one.octets;
        batches.push(one);
        next = log.next(behind);
    }
    (!batches.is_empty()).then_some(Missing {
        place,
        batches,
        behind,
        octets,
        has_more: next.is_some(),
    })
}

#[cfg(test)]
pub(in crate::write) mod tests;
