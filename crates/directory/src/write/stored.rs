//! The one writer of a database: executes all waiting writes as one group, commits once, then acknowledges.
//!
//! Invariants: a success is sent only after its commit. No effect of a refused operation is ever committed. A write is
//! executed at most twice, whatever is refused after it: a refusal that must undo an effect ends its group there.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    },
    time::Duration,
};

use ironbark_store::{ChangeRecord, ContextVector, Database, LogMode, WriteTransaction};

use super::{
    clustered::{self, Appender, NotAppended},
    context,
    flusher::Flusher,
    followers::Followers,
    indexing::Indexing,
    timers::Timers,
    trimming::Trimming,
};
use crate::{
    Directory, NamingContext, OperationError,
    backend::{
        ldif::LdifError,
        queue::{Outcome, Queued, Served, WriteTask, WriterCommand},
        written::Refusal,
    },
    overlay::Pipeline,
    refusal::{ClusterRefusal, Failure},
};

/// The served configuration, the database, and its followers.
pub(super) type Site<'s> = (&'s Served, &'s Database, &'s mut Followers);

/// Maximum number of operations in one commit, so that the first does not wait too long.
const GROUP_LIMIT: usize = 1_024;

/// Serves a database until it is told to end, or the sender of orders is gone. It begins with the order that says what
/// to serve.
pub(crate) fn run(directory: &Arc<Directory>, first: &Receiver<Served>, orders: &Receiver<WriterCommand>) {
    let Ok(mut served) = first.recv() else { return };
    let mut group = Vec::new();
    let mut flusher = Flusher::of(&served, directory);
    let mut indexing = Indexing::default();
    let mut timers = Timers::of(&served, directory, None);
    let mut followers = begin(directory, &served);
    let mut trimming = Trimming::default();
    loop {
        let Some(database) = served.context.database().cloned() else {
            return;
        };
        let patience = flusher
            .patience(directory)
            .min(indexing.patience(directory, &database))
            .min(timers.patience(directory))
            .min(followers.patience())
            .min(trimming.patience(directory));
        let (mut end, mut is_busy) = (None, false);
        match receive(orders, patience) {
            Ok(first) => {
                end = gather(first, orders, &mut group, group_limit(&served));
                is_busy = !group.is_empty();
                let site: Site<'_> = (&served, &database, &mut followers);
                serve_group(directory, site, &mut flusher, &mut group);
            }
            Err(RecvTimeoutError::Timeout) => followers.keep(&database),
            Err(RecvTimeoutError::Disconnected) => return,
        }
        group.extend(own_writes(directory, &served, &mut timers));
        let site: Site<'_> = (&served, &database, &mut followers);
        serve_group(directory, site, &mut flusher, &mut group);
        flusher.flush_when_due(directory, &served, &database);
        match end {
            Some(WriterCommand::Close) => {
                followers.end(&database);
                return finish(&served, &database, flusher);
            }
            Some(WriterCommand::Pause(pause)) => {
                followers.end(&database);
                if let Some(next) = pause.wait() {
                    served.context.overlays().close_except(next.context.overlays());
                    flusher.go_over_to(&next, &database);
                    timers = Timers::of(&next, directory, Some(&timers));
                    served = next;
                    indexing = defined(directory, &served);
                }
                trimming = Trimming::default();
                followers = begin(directory, &served);
            }
            next => {
                if matches!(next, Some(WriterCommand::Received)) {
                    clustered::take_received(directory, &mut (&served, &database, &mut followers), &mut flusher);
                }
                if indexing.step(directory, &served, &database, is_busy)
                    | trimming.step(directory, &served, &database, &followers, is_busy)
                {
                    flusher.written(0);
                }
            }
        }
    }
}

/// Writes of the server itself whose time has come.
fn own_writes(directory: &Arc<Directory>, served: &Served, timers: &mut Timers) -> Vec<Queued> {
    let due = timers.due(directory, served, group_limit(served));
    due.into_iter().map(Queued::of_server).collect()
}

/// The indexing of what is served from now on.
fn defined(directory: &Arc<Directory>, served: &Served) -> Indexing {
    let mut indexing = Indexing::default();
    if let Some(database) = served.context.database() {
        indexing.define(directory, served, database);
    }
    indexing
}

/// Before the first write under a configuration.
fn begin(directory: &Arc<Directory>, served: &Served) -> Followers {
    let Some(database) = served.context.database() else {
        return Followers::default();
    };
    if let Err(error) = context::take_in(served, database, directory.server_id()) {
        tracing::error!(target: "any", "reading the contextCSN of a database: {error}");
    }
    Followers::of(directory, served, database)
}

/// Finishes after the last write has been acknowledged.
fn finish(served: &Served, database: &Database, flusher: Flusher) {
    flusher.end(database);
    served.context.overlays().close_except(&Pipeline::default());
    // A working copy is lost with the process.
    if !has_files(served)
        && let Err(error) = database.sync()
    {
        tracing::error!(target: "any", "flushing a database: {error}");
    }
}

/// The next order, if it comes in time.
fn receive(orders: &Receiver<WriterCommand>, patience: Duration) -> Result<WriterCommand, RecvTimeoutError> {
    if patience == Duration::MAX {
        return orders.recv().map_err(|_| RecvTimeoutError::Disconnected);
    }
    if patience.is_zero() {
        return orders.try_recv().map_err(|error| match error {
            TryRecvError::Empty => RecvTimeoutError::Timeout,
            TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        });
    }
    orders.recv_timeout(patience)
}

/// A change of files is always a group of its own.
fn group_limit(served: &Served) -> usize {
    if has_files(served) { 1 } else { GROUP_LIMIT }
}

fn has_files(served: &Served) -> bool {
    served.context.backend.files().is_some()
}

/// Gathers waiting writes into a group. Another kind of order ends the group and is returned.
fn gather(
    first: WriterCommand,
    orders: &Receiver<WriterCommand>,
    group: &mut Vec<Queued>,
    limit: usize,
) -> Option<WriterCommand> {
    let mut next = first;
    loop {
        match next {
            WriterCommand::Task(queued) => group.push(queued),
            // The commit of the group applies first what the log has brought.
            WriterCommand::Received if !group.is_empty() => {}
            other => return Some(other),
        }
        if group.len() >= limit {
            return None;
        }
        next = orders
            .try_recv()
            .or_else(|_| {
                // Other threads on this core may have more writes for this commit, or quick requests that should not
                // wait for it.
                std::thread::yield_now();
                orders.try_recv()
            })
            .ok()?;
    }
}

fn serve_group(directory: &Arc<Directory>, site: Site<'_>, flusher: &mut Flusher, group: &mut Vec<Queued>) {
    if group.is_empty() {
        return;
    }
    let (served, database, followers) = site;
    let now = directory.monotonic_micros();
    let mut octets = 0;
    for queued in group.iter_mut() {
        queued.task.taken(now);
        octets += queued.task.octets();
    }
    let mut waiting = group.drain(..);
    while !waiting.as_slice().is_empty() {
        let writer = served.context.backend.own_writer();
        if let Some(writer) = writer {
            writer.fence().set(directory.last_drawn());
        }
        let group = waiting.as_slice();
        let outcomes = if served.context.settings.cluster.is_some() {
            clustered::commit(directory, &mut (served, database, &mut *followers), flusher, group)
        } else {
            match commit_some((served, database, &mut *followers), group, None) {
                Committed::Ended(outcomes) => outcomes,
                // There is no log.
                Committed::Overtaken => return,
            }
        };
        if let Some(writer) = writer.filter(|writer| writer.fence().lift()) {
            writer.feed().call();
        }
        let done = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Done(..)));
        directory.statistics().record_commit(done.count());
        let count = outcomes.len();
        followers.conclude(&served.context, waiting.by_ref().take(count).zip(outcomes).collect());
    }
    flusher.written(octets);
}

/// Commits the writes of a group before the first one that is refused after an effect. Returns the outcomes of these
/// and of the refused one: at least one outcome.
///
/// The transaction of such a refused write is dropped, and the writes before it are executed again. Later writes have
/// not been executed yet, so each write is executed at most twice, whatever stands in the same group. It is executed
/// once more for each refusal among those before it that happens only the second time.
///
/// With an `appender` all this holds if the log of the cluster has taken the changes.
pub(super) fn commit_some(
    (served, database, followers): Site<'_>,
    group: &[Queued],
    appender: Option<&Appender<'_>>,
) -> Committed {
    let (mut part, mut refused) = (group, None);
    loop {
        match attempt((served, database, &mut *followers), part, appender) {
            Attempt::Ended(outcomes) => return conclude_refusal(outcomes, refused, appender),
            Attempt::Overtaken => {
                for queued in group {
                    queued.task.comes_again();
                }
                return Committed::Overtaken;
            }
            Attempt::GivenUp { before, outcome } => {
                for queued in before {
                    queued.task.comes_again();
                }
                let dropped = part.get(before.len());
                if let (Some(queued), Outcome::Refused(error)) = (dropped, &*outcome) {
                    queued.task.refused(error);
                }
                part = before;
                refused = dropped.map(|queued| (queued, *outcome));
            }
        }
    }
}

/// Adds the write whose transaction was dropped to those before it. If they have put nothing into the log of the
/// cluster, nobody has confirmed yet that its refusal does not rest on old data.
fn conclude_refusal(
    mut outcomes: Vec<Outcome>,
    refused: Option<(&Queued, Outcome)>,
    appender: Option<&Appender<'_>>,
) -> Committed {
    let Some((queued, outcome)) = refused else {
        return Committed::Ended(outcomes);
    };
    let is_refusal = matches!(outcome, Outcome::Refused(_));
    let is_confirmed = outcomes.iter().any(|outcome| sequence_of(outcome).is_some());
    let appender = appender.filter(|_| is_refusal && !is_confirmed);
    match appender.map_or(Ok(()), Appender::confirm) {
        Ok(()) => outcomes.push(outcome),
        Err(NotAppended::Overtaken) => {
            queued.task.comes_again();
            if outcomes.is_empty() {
                return Committed::Overtaken;
            }
            // Those before it have their outcomes, and the log may have them though it did not answer: they must not be
            // executed again. It alone is, with the next group.
        }
        Err(NotAppended::Refused(error)) => outcomes.push(Outcome::Refused(error)),
    }
    Committed::Ended(outcomes)
}

/// What has become of a group.
pub(super) enum Committed {
    /// The outcomes of its first writes, one at least.
    Ended(Vec<Outcome>),
    /// Nothing is committed: the log of the cluster has other changes, behind which it must be executed again.
    Overtaken,
}

enum Attempt<'g> {
    /// The outcomes of all writes.
    Ended(Vec<Outcome>),
    /// As [`Committed::Overtaken`].
    Overtaken,
    /// The write after these was refused, or comes again, after an effect: nothing is committed.
    GivenUp {
        before: &'g [Queued],
        outcome: Box<Outcome>,
    },
}

fn attempt<'g>(
    (served, database, followers): Site<'_>,
    group: &'g [Queued],
    appender: Option<&Appender<'_>>,
) -> Attempt<'g> {
    if group.is_empty() {
        return Attempt::Ended(Vec::new());
    }
    let refuse_all = |error: OperationError| {
        let refuse = |queued: &Queued| {
            queued.task.refused(&error);
            Outcome::Refused(error.clone())
        };
        Attempt::Ended(group.iter().map(refuse).collect())
    };
    let mut transaction = match database.write() {
        Ok(transaction) => transaction,
        Err(error) => return refuse_all(error.into()),
    };
    transaction.log(log_mode(&served.context));
    if appender.is_some() {
        transaction.gather();
    }
    let mut outcomes = Vec::with_capacity(group.len());
    let mut changed = false;
    for Queued { task, .. } in group {
        match task.execute(served, &mut transaction) {
            Ok((success, executed)) => {
                // A bind may have nothing to record.
                changed |= executed.has_news();
                outcomes.push(Outcome::Done(success, executed));
            }
            Err(refusal) => {
                let is_dirty = refusal.dirty;
                let outcome = outcome_of(&**task, refusal);
                if is_dirty {
                    let before = group.get(..outcomes.len()).unwrap_or_default();
                    let outcome = Box::new(outcome);
                    return Attempt::GivenUp { before, outcome };
                }
                outcomes.push(outcome);
            }
        }
    }
    let is_refusal = |outcome: &Outcome| matches!(outcome, Outcome::Refused(_));
    let confirms = outcomes.iter().any(is_refusal) || group.iter().any(|queued| queued.task.reads_newest());
    let appender = appender.filter(|_| changed || confirms);
    match close(
        (served, database, followers),
        transaction,
        (changed, &outcomes),
        appender,
    ) {
        Ok(()) => Attempt::Ended(outcomes),
        Err(NotAppended::Overtaken) => Attempt::Overtaken,
        Err(NotAppended::Refused(error)) if appender.is_some() => refuse_all(error),
        Err(NotAppended::Refused(error)) => Attempt::Ended(not_committed(group, outcomes, &error)),
    }
}

/// The outcomes of a group that could not be committed. What was refused before the first change stays refused for its
/// own reason; later refusals may rest on changes that were not made.
fn not_committed(group: &[Queued], outcomes: Vec<Outcome>, error: &OperationError) -> Vec<Outcome> {
    let mut has_changed = false;
    let pairs = group.iter().zip(outcomes);
    let kept = pairs.map(|(queued, outcome)| {
        has_changed |= matches!(outcome, Outcome::Done(..));
        if !has_changed {
            return outcome;
        }
        queued.task.refused(error);
        Outcome::Refused(error.clone())
    });
    kept.collect()
}

/// Commits what was executed, if there is something: `changed`. With an appender and no change, it makes sure that what
/// was read is not old.
fn close(
    (served, database, followers): Site<'_>,
    mut transaction: WriteTransaction<'_>,
    (changed, outcomes): (bool, &[Outcome]),
    appender: Option<&Appender<'_>>,
) -> Result<(), NotAppended> {
    let refused = |error: OperationError| Err(NotAppended::Refused(error));
    if !changed {
        return appender.map_or(Ok(()), Appender::confirm);
    }
    if let Err(error) = write_files(served, &transaction, outcomes) {
        return refused(error);
    }
    if let Err(error) = followers.put_places(&mut transaction) {
        write_files_back(served, database, outcomes);
        return refused(error.into());
    }
    let is_appended = appender.map_or(Ok(false), |appender| appender.append(&mut transaction))?;
    if let Err(error) = transaction.commit() {
        write_files_back(served, database, outcomes);
        return refused(if is_appended {
            ClusterRefusal::NotHere.into()
        } else {
            error.into()
        });
    }
    let last = outcomes.iter().rev().find_map(sequence_of);
    followers.committed(last);
    if let (Some(last), Some(writer)) = (last, served.context.backend.own_writer()) {
        writer.feed().committed(last);
    }
    Ok(())
}

/// What becomes of a write that was not made.
fn outcome_of(task: &dyn WriteTask, refusal: Refusal) -> Outcome {
    if let Some(wanted) = refusal.wanted {
        return Outcome::Returned(*wanted);
    }
    task.refused(&refusal.error);
    Outcome::Refused(refusal.error)
}

/// The parts of the changes of a database that are logged.
pub(super) fn log_mode(context: &NamingContext) -> LogMode {
    if context.settings.keeps_changes() {
        LogMode::RowsAndContext
    } else if context.keeps_log() {
        LogMode::Rows
    } else {
        LogMode::Off
    }
}

/// The number of a write's change, if it has made one.
fn sequence_of(outcome: &Outcome) -> Option<u64> {
    match outcome {
        Outcome::Done(_, executed) => Some(executed.record.position.sequence).filter(|&sequence| sequence != 0),
        Outcome::Refused(_) | Outcome::Returned(_) => None,
    }
}

/// Writes the files of an ldif database.
fn write_files(
    served: &Served,
    transaction: &WriteTransaction<'_>,
    outcomes: &[Outcome],
) -> Result<(), OperationError> {
    let Some(files) = served.context.backend.files() else {
        return Ok(());
    };
    let (view, keeps_vector) = (transaction.view(), served.context.settings.keeps_changes());
    let write = |record: &ChangeRecord| {
        let vector = if keeps_vector || view.context_vector()?.is_some() {
            transaction.vector()?
        } else {
            ContextVector::default()
        };
        files.write(&view, record, &vector)
    };
    for outcome in outcomes {
        if let Outcome::Done(_, executed) = outcome {
            write(&executed.record).map_err(|error: LdifError| {
                tracing::error!(target: "any", "writing the files of a database: {error}");
                Failure::NotFiled
            })?;
        }
    }
    Ok(())
}

/// The working copy could not be updated: the disk is full.
fn write_files_back(served: &Served, database: &Database, outcomes: &[Outcome]) {
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use ironbark_model::ResultCode;
    use ironbark_store::{ChangeRecord, change::Position};

    use super::*;
    use crate::{
        backend::{
            commit_log::Append,
            written::{Executed, Success},
        },
        write::clustered::{Foreign, tests::Answers},
    };

    fn write() -> WriterCommand {
        WriterCommand::Task(Queued::of_server(Box::new(Foreign)))
    }

    /// The writes of the group, and the order that ended it.
    fn group_of(orders: Vec<WriterCommand>) -> (usize, Option<WriterCommand>) {
        let (sender, receiver) = channel();
        for order in orders {
            sender.send(order).unwrap();
        }
        let (first, mut group) = (receiver.recv().unwrap(), Vec::new());
        let end = gather(first, &receiver, &mut group, GROUP_LIMIT);
        (group.len(), end)
    }

    #[test]
    fn what_other_servers_append_does_not_end_a_group() {
        let (writes, end) = group_of(vec![write(), WriterCommand::Received, write(), WriterCommand::Received]);
        assert_eq!(writes, 2);
        assert!(end.is_none());
    }

    #[test]
    fn what_other_servers_append_is_applied_without_writes_too() {
        let (writes, end) = group_of(vec![WriterCommand::Received, write()]);
        assert_eq!(writes, 0);
        assert!(matches!(end, Some(WriterCommand::Received)));
    }

    #[test]
    fn the_end_of_the_writer_ends_a_group() {
        let (writes, end) = group_of(vec![write(), WriterCommand::Received, WriterCommand::Close, write()]);
        assert_eq!(writes, 1);
        assert!(matches!(end, Some(WriterCommand::Close)));
    }

    /// A write that succeeded, with a change of this number; 0: without one.
    fn done(sequence: u64) -> Outcome {
        let position = Position {
            generation: 1,
            sequence,
        };
        let record = ChangeRecord {
            position,
            ..ChangeRecord::default()
        };
        let executed = Executed {
            record,
            ..Executed::default()
        };
        Outcome::Done(Success::default(), executed)
    }

    /// What becomes of a write that is refused after others, when the log answers so to the question whether there is
    /// nothing newer: the number of the others, and the result codes of the refusals. `None`: all are executed again.
    fn concluded(before: Vec<Outcome>, says: Append) -> Option<(usize, Vec<u32>)> {
        let answers = Answers(says);
        let refused = Outcome::Refused(OperationError::new(ResultCode::NO_SUCH_OBJECT, ""));
        let (queued, count) = (Queued::of_server(Box::new(Foreign)), before.len());
        match conclude_refusal(before, Some((&queued, refused)), Some(&answers.appender())) {
            Committed::Overtaken => None,
            Committed::Ended(outcomes) => {
                let refusals = outcomes.iter().skip(count).map(|outcome| match outcome {
                    Outcome::Refused(error) => error.result_code.0,
                    Outcome::Done(..) | Outcome::Returned(_) => 0,
                });
                Some((count, refusals.collect()))
            }
        }
    }

    #[test]
    fn a_refusal_counts_only_if_the_log_has_nothing_newer() {
        assert_eq!(concluded(vec![], Append::Committed), Some((0, vec![32])));
        assert_eq!(concluded(vec![], Append::Overtaken), None);
        assert_eq!(concluded(vec![], Append::Away), Some((0, vec![51])));
    }

    #[test]
    fn writes_before_a_refusal_are_never_executed_again() {
        // The log has them: it has confirmed the state behind which the other one was refused.
        assert_eq!(concluded(vec![done(7)], Append::Overtaken), Some((1, vec![32])));
        // Nothing was put: the refused one alone comes again.
        assert_eq!(concluded(vec![done(0)], Append::Overtaken), Some((1, vec![])));
        assert_eq!(concluded(vec![done(0)], Append::Committed), Some((1, vec![32])));
        assert_eq!(concluded(vec![done(0)], Append::Unknown), Some((1, vec![51])));
    }
}
