//! The one writer of a database: it takes all waiting writes as one group, has them committed ([`super::commit`]), then
//! acknowledges. A success is sent only after its commit.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    },
    time::Duration,
};

use super::{
    catch_up::catch_up, commit::commit_first, indexing::Indexing, partner::Flush, site::Site, timers::Timers,
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

/// Serves a database until it is told to end, or the sender of orders is gone. It begins with the order that says what
/// to serve.
pub(crate) fn run(directory: &Arc<Directory>, first: &Receiver<Served>, orders: &Receiver<WriterCommand>) {
    let Ok(served) = first.recv() else { return };
    let (mut turns, mut group, mut end) = (Turns::default(), Vec::new(), None);
    let mut timers = Timers::of(&served, directory, None);
    let Some(mut site) = Site::new(directory, served) else {
        return;
    };
    let mut indexing = Indexing::default();
    let mut trimming = Trimming::default();
    loop {
        let patience = site
            .flusher
            .patience(directory)
            .min(indexing.patience(directory, &site.database))
            .min(timers.patience(directory))
            .min(site.followers.patience())
            .min(trimming.patience(directory));
        match receive(orders, patience, &mut turns, &mut end) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => site.followers.keep(&site.database),
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let limit = site.partners.needs().group_limit;
        turns.next_group(&mut group, limit);
        let is_busy = !group.is_empty();
        serve_group(&mut site, &mut group, &mut turns);
        // Writes of the server itself whose time has come.
        let due = timers.due(directory, &site.served, limit);
        group.extend(due.into_iter().map(Queued::of_server));
        serve_group(&mut site, &mut group, &mut turns);
        site.flush_when_due();
        match end.take_if(|_| turns.is_empty()) {
            Some(WriterCommand::Close) => return finish(site),
            Some(WriterCommand::Pause(pause)) => {
                site.end_followers();
                if let Some(next) = pause.wait() {
                    timers = Timers::of(&next, directory, Some(&timers));
                    let Some(()) = site.go_over_to(next) else { return };
                    indexing = Indexing::default();
                    indexing.define(directory, &site.served, &site.database);
                }
                trimming = Trimming::default();
                site.follow();
            }
            next => {
                if matches!(next, Some(WriterCommand::Received)) {
                    // A partner keeps what could not be applied, and has said so.
                    let _ = catch_up(&mut site);
                }
                if indexing.step(directory, &site.served, &site.database, is_busy)
                    | trimming.step(directory, &site.served, &site.database, &site.followers, is_busy)
                {
                    site.flusher.written(0);
                }
            }
        }
    }
}

/// Finishes after the last write has been acknowledged.
fn finish(mut site: Site) {
    site.end_followers();
    let is_lost = matches!(site.partners.flush(), Flush::Never);
    site.flusher.end(&site.database);
    overlays_of(&site.served.context).close_except(&Pipeline::default());
    if !is_lost && let Err(error) = site.database.sync() {
        tracing::error!(target: "any", "flushing a database: {error}");
    }
}

/// Takes the orders that have come. Without any it waits for the first, if no write waits. An order that is no write is
/// left in `end`: what comes after it stays in the queue until it has been done.
fn receive(
    orders: &Receiver<WriterCommand>,
    patience: Duration,
    turns: &mut Turns,
    end: &mut Option<WriterCommand>,
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
fn serve_group(site: &mut Site, group: &mut Vec<Queued>, turns: &mut Turns) {
    if group.is_empty() {
        return;
    }
    let now = site.directory.monotonic_micros();
    for queued in group.iter_mut() {
        queued.task.taken(now);
    }
    let outcomes = commit_first(site, group);
    let done = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Done(..)));
    site.directory.statistics().record_commit(done.count());
    let rest = group.split_off(outcomes.len());
    turns.ended(group, rest);
    let octets = group.iter().map(|queued| queued.task.octets()).sum();
    let ended = group.drain(..).zip(outcomes).collect();
    site.followers.conclude(&site.served.context, ended);
    site.flusher.written(octets);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::write::{catch_up::Foreign, partner::Needs};

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
        receive(&receiver, Duration::ZERO, &mut turns, &mut end).unwrap();
        turns.next_group(&mut group, Needs::default().group_limit);
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
