//! The waiting tasks, and whose turn it is.
//!
//! Invariants: `turns` names each source that has waiting tasks exactly once, the next one first. Within a source the
//! same holds for its connections. A source or connection is kept while one of its tasks waits or runs.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
};

use super::{Claimant, Shares, Task};

#[derive(Debug)]
pub(super) struct Queue<S, T> {
    shares: Shares,
    sources: HashMap<S, Source<T>>,
    turns: VecDeque<S>,
    weight: usize,
}

#[derive(Debug)]
struct Source<T> {
    connections: HashMap<u64, Connection<T>>,
    turns: VecDeque<u64>,
    running: usize,
    weight: usize,
}

#[derive(Debug)]
struct Connection<T> {
    waiting: VecDeque<T>,
    running: usize,
    weight: usize,
}

/// The octets that a waiting task counts.
fn weight_of(task: &impl Task) -> usize {
    task.octets().saturating_add(Shares::TASK_OCTETS)
}

impl<S: Clone + Eq + Hash, T: Task> Queue<S, T> {
    pub(super) fn new(shares: Shares) -> Self {
        Self {
            shares,
            sources: HashMap::new(),
            turns: VecDeque::new(),
            weight: 0,
        }
    }

    pub(super) fn shares(&self) -> &Shares {
        &self.shares
    }

    /// Queues a task, or returns it if there is no room. Also returns the tasks that have given way to it.
    pub(super) fn push(&mut self, claimant: Claimant<S>, task: T) -> (Result<(), T>, Vec<T>) {
        let weight = weight_of(&task);
        let mut gave_way = Vec::new();
        if !self.has_room(weight) {
            self.forget_unwanted();
        }
        while !self.has_room(weight) {
            match self.make_way(&claimant, weight) {
                Some(task) => gave_way.push(task),
                None => return (Err(task), gave_way),
            }
        }
        let source = self.sources.entry(claimant.source.clone()).or_default();
        if source.turns.is_empty() {
            self.turns.push_back(claimant.source);
        }
        source.push(claimant.connection, task, weight);
        self.weight += weight;
        (Ok(()), gave_way)
    }

    /// The task whose turn it is. It counts as running until [`Queue::ended`].
    pub(super) fn take(&mut self) -> Option<(Claimant<S>, T)> {
        let shares = self.shares;
        // The sources that are skipped have running tasks, so there are few of them.
        let is_next = |source: &S| self.sources.get(source).is_some_and(|source| source.may_run(&shares));
        let place = self.turns.iter().position(is_next)?;
        let name = self.turns.remove(place)?;
        let source = self.sources.get_mut(&name)?;
        let (connection, task) = source.take(&shares)?;
        if !source.turns.is_empty() {
            self.turns.push_back(name.clone());
        }
        self.weight -= weight_of(&task);
        let claimant = Claimant {
            source: name,
            connection,
        };
        Some((claimant, task))
    }

    /// A task that was taken has ended.
    pub(super) fn conclude(&mut self, claimant: &Claimant<S>) {
        let Some(source) = self.sources.get_mut(&claimant.source) else {
            return;
        };
        source.running -= 1;
        if let Some(connection) = source.connections.get_mut(&claimant.connection) {
            connection.running -= 1;
            if !connection.is_kept() {
                source.connections.remove(&claimant.connection);
            }
        }
        if source.connections.is_empty() {
            self.sources.remove(&claimant.source);
        }
    }

    /// Removes the waiting tasks of a claimant.
    pub(super) fn forget(&mut self, claimant: &Claimant<S>) -> VecDeque<T> {
        let Some(source) = self.sources.get_mut(&claimant.source) else {
            return VecDeque::new();
        };
        let before = source.weight;
        let forgotten = source.forget(claimant.connection);
        self.weight -= before - source.weight;
        if source.turns.is_empty() {
            self.turns.retain(|name| *name != claimant.source);
        }
        if source.connections.is_empty() {
            self.sources.remove(&claimant.source);
        }
        forgotten
    }

    fn has_room(&self, weight: usize) -> bool {
        self.weight == 0 || self.weight.saturating_add(weight) <= self.shares.waiting_octets
    }

    /// Drops the tasks whose result is no longer wanted.
    fn forget_unwanted(&mut self) {
        for source in self.sources.values_mut() {
            source.forget_unwanted();
        }
        self.settle();
    }

    /// Takes a task from the source with the most waiting work. The claimant must have less waiting work even with its
    /// new task of `weight`. `None`: no source has more.
    fn make_way(&mut self, claimant: &Claimant<S>, weight: usize) -> Option<T> {
        let own = self.sources.get(&claimant.source).map_or(0, |source| source.weight);
        // Among equal sources the claimant's own comes first: its other connections give way first.
        let order = |name: &S, source: &Source<T>| (source.weight, *name == claimant.source);
        let (name, source) = self
            .sources
            .iter_mut()
            .max_by_key(|(name, source)| order(name, source))?;
        let task = if *name == claimant.source {
            let held = source.connections.get(&claimant.connection);
            let own = held.map_or(0, |connection| connection.weight);
            source.drop_last(own.saturating_add(weight))
        } else if source.weight > own.saturating_add(weight) {
            source.drop_last(0)
        } else {
            None
        };
        self.settle();
        task
    }

    /// Restores the invariants after tasks were removed out of order.
    fn settle(&mut self) {
        self.sources.retain(|_, source| !source.connections.is_empty());
        let sources = &self.sources;
        self.turns
            .retain(|name| sources.get(name).is_some_and(|source| !source.turns.is_empty()));
        self.weight = self.sources.values().map(|source| source.weight).sum();
    }
}

impl<T> Default for Source<T> {
    fn default() -> Self {
        Self {
            connections: HashMap::new(),
            turns: VecDeque::new(),
            running: 0,
            weight: 0,
        }
    }
}

impl<T: Task> Source<T> {
    fn push(&mut self, connection: u64, task: T, weight: usize) {
        let held = self.connections.entry(connection).or_default();
        if held.waiting.is_empty() {
            self.turns.push_back(connection);
        }
        held.waiting.push_back(task);
        held.weight += weight;
        self.weight += weight;
    }

    fn may_run(&self, shares: &Shares) -> bool {
        self.running < shares.per_source && self.next(shares).is_some()
    }

    /// The place of the connection whose turn it is.
    fn next(&self, shares: &Shares) -> Option<usize> {
        let may_run = |connection: &Connection<T>| connection.running < shares.per_connection;
        let is_next = |name: &u64| self.connections.get(name).is_some_and(may_run);
        self.turns.iter().position(is_next)
    }

    fn take(&mut self, shares: &Shares) -> Option<(u64, T)> {
        let name = self.turns.remove(self.next(shares)?)?;
        let connection = self.connections.get_mut(&name)?;
        let task = connection.waiting.pop_front()?;
        let weight = weight_of(&task);
        connection.weight -= weight;
        connection.running += 1;
        self.weight -= weight;
        self.running += 1;
        if !connection.waiting.is_empty() {
            self.turns.push_back(name);
        }
        Some((name, task))
    }

    /// Takes the last task of the connection with the most waiting work, if that is more than `least`.
    fn drop_last(&mut self, least: usize) -> Option<T> {
        let heaviest = self
            .connections
            .values_mut()
            .max_by_key(|connection| connection.weight)?;
        if heaviest.weight <= least {
            return None;
        }
        let task = heaviest.waiting.pop_back()?;
        heaviest.weight -= weight_of(&task);
        self.settle();
        Some(task)
    }

    fn forget_unwanted(&mut self) {
        for connection in self.connections.values_mut() {
            connection.waiting.retain(Task::is_wanted);
            connection.weight = connection.waiting.iter().map(weight_of).sum();
        }
        self.settle();
    }

    fn forget(&mut self, name: u64) -> VecDeque<T> {
        let Some(connection) = self.connections.get_mut(&name) else {
            return VecDeque::new();
        };
        self.weight -= connection.weight;
        connection.weight = 0;
        let forgotten = std::mem::take(&mut connection.waiting);
        if !connection.is_kept() {
            self.connections.remove(&name);
        }
        self.turns.retain(|other| *other != name);
        forgotten
    }

    fn settle(&mut self) {
        self.connections.retain(|_, connection| connection.is_kept());
        let connections = &self.connections;
        self.turns
            .retain(|name| connections.get(name).is_some_and(|held| !held.waiting.is_empty()));
        self.weight = connections.values().map(|connection| connection.weight).sum();
    }
}

impl<T> Default for Connection<T> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            running: 0,
            weight: 0,
        }
    }
}

impl<T> Connection<T> {
    fn is_kept(&self) -> bool {
        self.running > 0 || !self.waiting.is_empty()
    }
}
