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
    backend::queue::{Outcome, Queued, Served, WriterCommand},
    overlay::Pipeline,
};

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
}
