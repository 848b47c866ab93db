//! Whose write comes next.
//!
//! While all that waits makes one group that takes little time, it is executed in the order in which it came. When more
//! waits, or a group has taken long, who has used the least time comes first: among sources, then among the
//! connections of a source. Who comes anew is put before all that have had a turn and wait for the next: so he waits
//! for the write under way, and for the first ones of others who came anew. What is expected to take long is in a group
//! of its own, so that nobody else's answer waits for its end. The server's own writes get as much time as those of all
//! clients together.
//!
//! Invariant: the writes of one connection are executed in their order.

mod fair;

use std::collections::VecDeque;

use self::fair::Fair;
use super::queue::Queued;
use crate::request::identity::ConnectionSource;

/// Microseconds after which a group is ended, and committed. A single write may take longer.
pub(crate) const GROUP_MICROS: u64 = 50_000;

/// The writes that wait for one writer.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// In the order in which they came.
    fresh: VecDeque<Queued>,
    /// Those before them, once the order matters.
    sources: Fair<ConnectionSource, OfSource>,
}

/// The writes of one source.
#[derive(Debug, Default)]
struct OfSource {
    connections: Fair<u64, VecDeque<Queued>>,
    /// Microseconds that a write of it is expected to take.
    expected: u64,
}

impl Turns {
    /// Adds a write that has come.
    pub(crate) fn push(&mut self, queued: Queued) {
        self.fresh.push_back(queued);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && !self.sources.has_waiting()
    }

    /// Fills a group, which is empty, with `limit` writes at most.
    pub(crate) fn next_group(&mut self, group: &mut Vec<Queued>, limit: usize) {
        if self.sources.members() == 0 && self.fresh.len() <= limit {
            group.extend(self.fresh.drain(..));
            return;
        }
        while let Some(queued) = self.fresh.pop_front() {
            self.waiting_of(&queued).push_back(queued);
        }
        let mut all = 0;
        while group.len() < limit
            && let Some(queued) = self.next(|expected| group.is_empty() || all + expected <= GROUP_MICROS)
        {
            all += queued.expected;
            group.push(queued);
        }
    }

    /// Notes the end of a group: those that were executed, and those that come again, before all others of
    /// their connections.
    pub(crate) fn ended(&mut self, executed: &[Queued], rest: Vec<Queued>) {
        let micros: u64 = executed.iter().map(|queued| queued.micros.get()).sum();
        if rest.is_empty() && !self.sources.has_waiting() && micros < GROUP_MICROS {
            // All had a turn in a short time: what they have used before does not matter any more.
            if self.sources.members() > 0 {
                self.sources = Fair::default();
            }
            return;
        }
        for queued in executed {
            let micros = queued.micros.get();
            self.count(queued, micros);
            let of = self.sources.work(queued.claimant.source);
            of.expected = micros.max(of.expected - of.expected / 8);
        }
        for mut queued in rest.into_iter().rev() {
            self.count(&queued, 0);
            queued.expected = 0;
            self.waiting_of(&queued).push_front(queued);
        }
    }

    /// The waiting writes of a connection.
    fn waiting_of(&mut self, queued: &Queued) -> &mut VecDeque<Queued> {
        let of = self.sources.enter(queued.claimant.source);
        of.connections.enter(queued.claimant.connection)
    }

    /// The write whose turn it is, if `may_come` agrees with the microseconds that it is expected to take.
    fn next(&mut self, may_come: impl FnOnce(u64) -> bool) -> Option<Queued> {
        self.sources.turn(|source, of, others| {
            // Connections take turns in any case.
            let expected = of.expected.max(1);
            if !may_come(expected) {
                return None;
            }
            let mut queued = of.connections.turn(|_, waiting, _| {
                let queued = waiting.pop_front()?;
                Some((queued, expected, !waiting.is_empty()))
            })?;
            queued.expected = expected;
            Some((queued, share_of(source, expected, others), of.connections.has_waiting()))
        })
    }

    /// Counts the microseconds that a write has taken, in place of those that were expected.
    fn count(&mut self, queued: &Queued, micros: u64) {
        let (source, connection, expected) = (queued.claimant.source, queued.claimant.connection, queued.expected);
        let others = self.sources.waiting();
        let (of_micros, of_expected) = (share_of(source, micros, others), share_of(source, expected, others));
        self.sources.count(source, of_micros, of_expected);
        self.sources
            .work(source)
            .connections
            .count(connection, micros, expected);
    }
}

/// What the time of a write counts for its source.
fn share_of(source: ConnectionSource, micros: u64, others: usize) -> u64 {
    match source {
        ConnectionSource::Server => micros / others.max(1) as u64,
        _ => micros,
    }
}

#[cfg(test)]
mod tests;
