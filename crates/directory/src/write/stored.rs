//! The one writer of a database: it takes all waiting writes as one group, has them committed ([`super::commit`]), then
//! acknowledges. A success is sent only after its commit.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    },
    time::Duration,
};

use ironbark_store::Database;

use super::{
    clustered,
    commit::{Committed, Site, commit_some},
    context,
    flusher::Flusher,
    followers::Followers,
    indexing::Indexing,
    timers::Timers,
    trimming::Trimming,
};
use crate::{
    Directory,
    backend::{
        queue::{Outcome, Queued, Served, WriterCommand},
        turns::Turns,
    },
    overlay::{Pipeline, overlays_of},
};

/// Maximum number of operations in one commit, so that the first does not wait too long.
const GROUP_LIMIT: usize = 1_024;

/// Serves a database until it is told to end, or the sender of orders is gone. It begins with the order that says what
/// to serve.
pub(crate) fn run(directory: &Arc<Directory>, first: &Receiver<Served>, orders: &Receiver<WriterCommand>) {
    let Ok(mut served) = first.recv() else { return };
    let (mut turns, mut group, mut end) = (Turns::default(), Vec::new(), None);
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
        match receive(orders, patience, (&mut turns, &mut end)) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => followers.keep(&database),
            Err(RecvTimeoutError::Disconnected) => return,
        }
        turns.next_group(&mut group, group_limit(&served));
        let is_busy = !group.is_empty();
        let site: Site<'_> = (&served, &database, &mut followers);
        serve_group(directory, site, &mut flusher, (&mut group, &mut turns));
        group.extend(own_writes(directory, &served, &mut timers));
        let site: Site<'_> = (&served, &database, &mut followers);
        serve_group(directory, site, &mut flusher, (&mut group, &mut turns));
        flusher.flush_when_due(directory, &served, &database);
        match end.take_if(|_| turns.is_empty()) {
            Some(WriterCommand::Close) => {
                followers.end(&database);
                return finish(&served, &database, flusher);
            }
            Some(WriterCommand::Pause(pause)) => {
                followers.end(&database);
                if let Some(next) = pause.wait() {
                    overlays_of(&served.context).close_except(overlays_of(&next.context));
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
    overlays_of(&served.context).close_except(&Pipeline::default());
    // A working copy is lost with the process.
    if !has_files(served)
        && let Err(error) = database.sync()
    {
        tracing::error!(target: "any", "flushing a database: {error}");
    }
}

/// Takes the orders that have come. Without any it waits for the first, if no write waits. An order that is no write is
/// left in `end`: what comes after it stays in the queue until it has been done.
fn receive(
    orders: &Receiver<WriterCommand>,
    patience: Duration,
    (turns, end): (&mut Turns, &mut Option<WriterCommand>),
) -> Result<(), RecvTimeoutError> {
    if end.is_none() && turns.is_empty() {
        let first = next_order(orders, patience)?;
        gather(Some(first), orders, turns, end);
    } else if end.is_none() {
        gather(orders.try_recv().ok(), orders, turns, end);
    }
    Ok(())
}

/// The next order, if it comes in time.
fn next_order(orders: &Receiver<WriterCommand>, patience: Duration) -> Result<WriterCommand, RecvTimeoutError> {
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

/// Gathers the writes that have come, up to another kind of order.
fn gather(
    mut next: Option<WriterCommand>,
    orders: &Receiver<WriterCommand>,
    turns: &mut Turns,
    end: &mut Option<WriterCommand>,
) {
    while let Some(order) = next {
        match order {
            WriterCommand::Task(queued) => turns.push(queued),
            // The commit of the group applies first what the log has brought.
            WriterCommand::Received if !turns.is_empty() => {}
            other => {
                *end = Some(other);
                return;
            }
        }
        next = orders
            .try_recv()
            .or_else(|_| {
                // Other threads on this core may have more writes for this commit, or quick requests that should not
                // wait for it.
                std::thread::yield_now();
                orders.try_recv()
            })
            .ok();
    }
}

/// Executes the writes of a group, and commits them. Those that were not executed wait for their next turn.
fn serve_group(
    directory: &Arc<Directory>,
    (served, database, followers): Site<'_>,
    flusher: &mut Flusher,
    (group, turns): (&mut Vec<Queued>, &mut Turns),
) {
    if group.is_empty() {
        return;
    }
    let now = directory.monotonic_micros();
    for queued in group.iter_mut() {
        queued.task.taken(now);
    }
    let writer = served.context.backend.own_writer();
    if let Some(writer) = writer {
        writer.fence().set(directory.last_drawn());
    }
    let outcomes = if served.context.settings.cluster.is_some() {
        clustered::commit(directory, &mut (served, database, &mut *followers), flusher, group)
    } else {
        let clock = || directory.monotonic_micros();
        match commit_some((served, database, &mut *followers), group, None, &clock) {
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
    let rest = group.split_off(outcomes.len());
    turns.ended(group, rest);
    let octets = group.iter().map(|queued| queued.task.octets()).sum();
    followers.conclude(&served.context, group.drain(..).zip(outcomes).collect());
    flusher.written(octets);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::write::clustered::Foreign;

    fn write() -> WriterCommand {
        WriterCommand::Task(Queued::of_server(Box::new(Foreign)))
    }

    /// The writes of the group, and the order that ended it.
    fn group_of(orders: Vec<WriterCommand>) -> (usize, Option<WriterCommand>) {
        let (sender, receiver) = channel();
        for order in orders {
            sender.send(order).unwrap();
        }
        let (mut turns, mut group, mut end) = (Turns::default(), Vec::new(), None);
        receive(&receiver, Duration::ZERO, (&mut turns, &mut end)).unwrap();
        turns.next_group(&mut group, GROUP_LIMIT);
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
}
