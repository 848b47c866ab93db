//! Writes to a database of a cluster: what others have appended to the log is applied, then a group is executed, its
//! batch appended to the log, and committed here.
//!
//! Invariants: nothing is committed here that the log does not have. What the log has is applied whole, batch by batch,
//! in its order. Until the log has answered, the changes are in LMDB's open transaction, which no reader sees.

use std::{sync::Arc, time::Duration};

use ironbark_store::{Applied, ChangeRecord, LogPlace, StoreError, WriteTransaction};

use super::{
    commit::{Committed, Site, commit_some, log_mode},
    flusher::Flusher,
};
use crate::{
    Directory, NamingContext, OperationError,
    backend::{
        commit_log::{Append, Closed, CommitLog, Received, Turn},
        queue::{Outcome, Queued, Served, WriteTask},
        written::{Executed, Refusal, Success},
    },
    refusal::{ClusterRefusal, Failure},
};

/// How long a read that must be new waits for the watch before it asks again.
const STEP: Duration = Duration::from_millis(100);
/// Octets of records that are applied in one transaction. It may write to a page or two of the file for each record.
const APPLIED_TOGETHER: usize = 1 << 20;

/// Appends the batch of a group behind the place where it was executed.
pub(super) struct Appender<'l> {
    log: &'l dyn CommitLog,
    place: LogPlace,
    /// How long it may take.
    patience: Duration,
    /// Whether further writes wait.
    has_more: bool,
}

/// What was not appended.
pub(super) enum NotAppended {
    /// Another batch is at its place: the group must be executed again behind that.
    Overtaken,
    /// The group is refused.
    Refused(OperationError),
}

impl Appender<'_> {
    /// Appends the changes of a transaction. Returns whether there were any: then they count.
    pub(super) fn append(&self, transaction: &mut WriteTransaction<'_>) -> Result<bool, NotAppended> {
        let Some((batch, last)) = transaction.batch(self.log.mark()) else {
            // Notes for followers stay here. What was refused beside them is confirmed all the same.
            return self.confirm().map(|()| false);
        };
        match self.log.append(self.place, &batch, last, self.has_more, self.patience) {
            Append::Committed => {
                let chain = self.place.behind(&batch, last).chain;
                let put = transaction.put_chain(chain);
                put.map_err(|_| NotAppended::Refused(ClusterRefusal::NotHere.into()))?;
                Ok(true)
            }
            Append::Overtaken => Err(NotAppended::Overtaken),
            Append::Away => Err(NotAppended::Refused(ClusterRefusal::Late.into())),
            Append::Unknown => Err(NotAppended::Refused(ClusterRefusal::Unknown.into())),
        }
    }

    /// Makes sure that nothing came before a refusal: what another server has written may have made it wrong.
    pub(super) fn confirm(&self) -> Result<(), NotAppended> {
        match self.log.confirm(self.place, self.patience) {
            Append::Committed => Ok(()),
            Append::Overtaken => Err(NotAppended::Overtaken),
            Append::Away | Append::Unknown => Err(NotAppended::Refused(ClusterRefusal::Late.into())),
        }
    }
}

/// Commits the writes of a group as [`commit_some`] does, when the log has them.
pub(super) fn commit(
    directory: &Arc<Directory>,
    site: &mut Site<'_>,
    flusher: &mut Flusher,
    group: &[Queued],
) -> Vec<Outcome> {
    let refuse_all = |error: OperationError| {
        let refuse = |queued: &Queued| {
            queued.task.refused(&error);
            Outcome::Refused(error.clone())
        };
        group.iter().map(refuse).collect()
    };
    let context = Arc::clone(&site.0.context);
    let writer = context.backend.own_writer();
    let Some((writer, log)) = writer.and_then(|writer| Some((writer, writer.log().get()?))) else {
        return refuse_all(ClusterRefusal::NotJoined.into());
    };
    let deadline = Deadline::new(directory, log.patience());
    if group.iter().all(|queued| queued.task.reads_newest()) {
        return match wait_for_end(directory, site, flusher, (&**log, &deadline)) {
            Ok(()) => group
                .iter()
                .map(|_| Outcome::Done(Success::default(), Executed::default()))
                .collect(),
            Err(error) => refuse_all(error),
        };
    }
    loop {
        let patience = deadline.left(directory);
        if patience.is_zero() {
            return refuse_all(ClusterRefusal::Late.into());
        }
        let place = match catch_up(directory, site, flusher, &**log) {
            Ok(place) => place,
            Err(error) => return refuse_all(error),
        };
        match log.turn(place, patience) {
            Turn::Mine => {}
            Turn::Behind => continue,
            Turn::Closed(closed) => return refuse_all(ClusterRefusal::from(closed).into()),
        }
        let appender = Appender {
            log: &**log,
            place,
            patience,
            has_more: writer.has_more_than(group),
        };
        let clock = || directory.monotonic_micros();
        let part: Site<'_> = (site.0, site.1, &mut *site.2);
        if let Committed::Ended(outcomes) = commit_some(part, group, Some(&appender), &clock) {
            return outcomes;
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

/// Waits until the database has all that the log has now. Reads need no turn for it, and are not overtaken.
fn wait_for_end(
    directory: &Arc<Directory>,
    site: &mut Site<'_>,
    flusher: &mut Flusher,
    (log, deadline): (&dyn CommitLog, &Deadline),
) -> Result<(), OperationError> {
    let mut place = catch_up(directory, site, flusher, log)?;
    let mut wanted = None;
    loop {
        // It also brings some of what is missing: the watch may be cut.
        let end = log.end(deadline.left(directory)).ok_or(ClusterRefusal::Late)?;
        if end.position.sequence < place.position.sequence {
            return Err(ClusterRefusal::Diverged.into());
        }
        let end = *wanted.get_or_insert(end);
        let before = place;
        place = catch_up(directory, site, flusher, log)?;
        // A new database takes the number of the log first.
        let is_there = place.position.generation != 0 && place.position.sequence >= end.position.sequence;
        let is_other = place.position.generation != end.position.generation
            || place.position.sequence == end.position.sequence && place.chain != end.chain;
        if is_there && is_other {
            return Err(ClusterRefusal::Diverged.into());
        }
        if is_there {
            return Ok(());
        }
        if place != before {
            continue;
        }
        let left = deadline.left(directory);
        match log.turn(place, left.min(STEP)) {
            Turn::Behind | Turn::Mine => {}
            Turn::Closed(Closed::Late | Closed::NotJoined) if left > STEP => {}
            Turn::Closed(closed) => return Err(ClusterRefusal::from(closed).into()),
        }
    }
}

/// Applies a part of what the log has brought, if the database is part of a cluster.
pub(super) fn take_received(directory: &Arc<Directory>, site: &mut Site<'_>, flusher: &mut Flusher) {
    let Some(writer) = site.0.context.backend.own_writer() else {
        return;
    };
    if let Some(log) = writer.log().get() {
        // The log keeps what could not be applied, and has said so.
        let _ = catch_up(directory, site, flusher, &**log);
    }
}

/// Applies what the log has brought, and says where the database is then. Of much it applies a part, and the writer is
/// told that there is more: other orders wait for a part only, and between two of them the file may be flushed.
fn catch_up(
    directory: &Arc<Directory>,
    site: &mut Site<'_>,
    flusher: &mut Flusher,
    log: &dyn CommitLog,
) -> Result<LogPlace, OperationError> {
    let place = join(site, log)?;
    log.reached(place);
    let (mut received, mut behind, mut octets) = (Vec::new(), place, 0);
    let mut next = log.next(behind);
    while octets < APPLIED_TOGETHER
        && let Some(one) = next
    {
        behind = one.behind;
        octets += one.octets;
        received.push(one);
        next = log.next(behind);
    }
    if received.is_empty() {
        return Ok(place);
    }
    if let Err(error) = apply(directory, site, &received, behind) {
        log.failed(place, &error.diagnostic_message);
        return Err(ClusterRefusal::CannotFollow.into());
    }
    log.reached(behind);
    flusher.written(octets);
    flusher.flush_when_due(directory, site.0, site.1);
    if let Some(writer) = site.0.context.backend.own_writer().filter(|_| next.is_some()) {
        writer.received();
    }
    Ok(behind)
}

/// The place of the database. One without changes takes the number of the log, and one with entries remembers that it
/// is of a log: it begins no other one by itself.
fn join((_, database, _): &mut Site<'_>, log: &dyn CommitLog) -> Result<LogPlace, StoreError> {
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

fn apply(
    directory: &Arc<Directory>,
    (served, database, followers): &mut Site<'_>,
    received: &[Arc<Received>],
    behind: LogPlace,
) -> Result<(), OperationError> {
    let mut transaction = database.write()?;
    transaction.log(log_mode(&served.context));
    let mut ended = Vec::new();
    for record in received.iter().flat_map(|one| &one.batch.records) {
        directory.follow_csn(record.csn);
        if transaction.apply(record)? == Applied::Now {
            ended.push(Foreign::ended(record));
        }
    }
    transaction.put_chain(behind.chain)?;
    followers.put_places(&mut transaction)?;
    transaction.commit()?;
    let last = behind.position.sequence;
    followers.committed(Some(last));
    if let Some(writer) = served.context.backend.own_writer() {
        writer.feed().committed(last);
    }
    followers.conclude(&served.context, ended);
    Ok(())
}

/// A change that another server has made. Followers get it like a write of this one.
pub(super) struct Foreign;

impl Foreign {
    fn ended(record: &ChangeRecord) -> (Queued, Outcome) {
        let executed = Executed {
            record: record.clone(),
            lifts_restriction: false,
            has_notes: false,
        };
        (
            Queued::of_server(Box::new(Self)),
            Outcome::Done(Success::default(), executed),
        )
    }
}

impl WriteTask for Foreign {
    fn octets(&self) -> usize {
        0
    }

    fn taken(&mut self, _: u64) {}

    fn execute(&self, _: &Served, _: &mut WriteTransaction<'_>) -> Result<(Success, Executed), Refusal> {
        Err(OperationError::from(Failure::Unexpected).into())
    }

    fn conclude(self: Box<Self>, _: &Arc<NamingContext>, _: Outcome) {}

    fn answer(self: Box<Self>, _: OperationError) {}
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A log that gives one answer to everything: what comes between two requests cannot be arranged with a real one.
    #[derive(Debug)]
    pub(in crate::write) struct Answers(pub(in crate::write) Append);

    impl Answers {
        pub(in crate::write) fn appender(&self) -> Appender<'_> {
            Appender {
                log: self,
                place: LogPlace::default(),
                patience: Duration::ZERO,
                has_more: false,
            }
        }
    }

    impl CommitLog for Answers {
        fn generation(&self) -> Option<u64> {
            Some(1)
        }
        fn reached(&self, _: LogPlace) {}
        fn kept(&self, _: u64) {}
        fn next(&self, _: LogPlace) -> Option<Arc<Received>> {
            None
        }
        fn turn(&self, _: LogPlace, _: Duration) -> Turn {
            Turn::Mine
        }
        fn append(&self, _: LogPlace, _: &[u8], _: u64, _: bool, _: Duration) -> Append {
            self.0
        }
        fn confirm(&self, _: LogPlace, _: Duration) -> Append {
            self.0
        }
        fn end(&self, _: Duration) -> Option<LogPlace> {
            None
        }
        fn may_be_older_than(&self, _: Duration) -> bool {
            false
        }
        fn mark(&self) -> [u8; 16] {
            [0; 16]
        }
        fn patience(&self) -> Duration {
            Duration::ZERO
        }
        fn failed(&self, _: LogPlace, _: &str) {}
    }
}
