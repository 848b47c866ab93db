//! Unfinished searches. Their steps run in turn: here, or elsewhere if a step is long.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::stream::Stream as _;
use ironbark_directory::{Progress, SearchRun};
use ironbark_ldap_proto::Operation;
use ironbark_model::ResultCode;
use tokio::sync::oneshot;

use super::{Connection, State, waiting_search::WaitingSearch};
use crate::reactor::Work;

impl Connection {
    /// Makes the next step of one search. Returns whether its output is so large that it should leave together with
    /// that of its next step.
    pub(super) fn step_search(&mut self, work: &mut Work) -> bool {
        if self.can_step()
            && let Some(mut run) = self.next_search()
        {
            if run.is_long() {
                self.hand_over(work, run);
                return false;
            }
            let before = self.output.waiting();
            match work.worker.step(&mut self.session, &mut run, self.output.buffer()) {
                Progress::More => {
                    self.keep(run);
                    let now = self.output.waiting();
                    return now >= before + GATHER_STEP_BYTES && now < GATHER_BELOW_BYTES;
                }
                Progress::Done => {
                    self.results += 1;
                    self.touch();
                }
            }
        }
        false
    }

    /// The search whose turn it is. While one is elsewhere, it is the next short one.
    fn next_search(&mut self) -> Option<Box<SearchRun>> {
        if self.handed_over.is_none() {
            return self.searches.pop_front();
        }
        let short = self.searches.iter().position(|run| !run.is_long())?;
        self.searches.remove(short)
    }

    /// Has the next step of a search run elsewhere.
    fn hand_over(&mut self, work: &mut Work, run: Box<SearchRun>) {
        self.handed_over = work.worker.hand_over(&mut self.session, run, self.output.buffer());
        self.results += u64::from(self.handed_over.is_none());
    }

    /// Takes back the search whose step elsewhere has ended.
    pub(super) fn poll_handed_over(&mut self, work: &mut Work, cx: &mut Context<'_>) {
        let Some(search) = &mut self.handed_over else { return };
        let Poll::Ready(stepped) = Pin::new(search).poll(cx) else {
            return;
        };
        self.handed_over = None;
        self.touch();
        match stepped {
            _ if self.state != State::Open => {}
            Ok(stepped) => match work.worker.take_back(&mut self.session, stepped, self.output.buffer()) {
                Some(run) => self.keep_or_end(work, run),
                None => self.results += 1,
            },
            Err(oneshot::error::RecvError { .. }) => {
                tracing::error!(target: "any", "conn={} a search was lost, closing", self.status.number);
                self.notify(ResultCode::OTHER, "internal error");
                self.close("internal error");
            }
        }
    }

    /// Keeps an unfinished search. Its next step comes in its turn, or when the entries that it waits for have come.
    pub(super) fn keep(&mut self, run: Box<SearchRun>) {
        if run.is_waiting() {
            self.waiting.push(WaitingSearch::new(run));
        } else {
            self.searches.push_back(run);
        }
    }

    /// Keeps a search, unless it must end.
    fn keep_or_end(&mut self, work: &mut Work, mut run: Box<SearchRun>) {
        if work.worker.must_end(&mut self.session, &mut run) {
            work.worker.end(&mut self.session, &mut run, self.output.buffer());
            self.results += 1;
            self.touch();
        } else {
            self.keep(run);
        }
    }

    /// Lets go of databases that are closed: at once of what waits for the client's next request, and of searches if
    /// they must end.
    pub(super) fn let_go(&mut self, work: &mut Work) {
        work.worker.let_go(&mut self.session, self.output.buffer());
        for run in std::mem::take(&mut self.searches) {
            self.keep_or_end(work, run);
        }
    }

    /// Takes up the waiting searches that can continue, and those that must end.
    pub(super) fn poll_waiting(&mut self, cx: &mut Context<'_>) {
        if self.waiting.iter().any(WaitingSearch::is_stopped) {
            for search in std::mem::take(&mut self.waiting) {
                if search.is_stopped() {
                    self.searches.extend(search.into_run());
                } else {
                    self.waiting.push(search);
                }
            }
        }
        while let Poll::Ready(Some(found)) = Pin::new(&mut self.waiting).poll_next(cx) {
            self.searches.extend(found);
        }
    }

    /// Octets that searches may hold of entries from elsewhere.
    pub(super) fn held_by_searches(&self) -> usize {
        let running = self.searches.iter().map(|run| run.held_octets());
        let waiting = self.waiting.iter().map(WaitingSearch::held_octets);
        running.chain(waiting).sum()
    }

    /// Ends searches and held requests without a result.
    pub(super) fn give_up_searches(&mut self) {
        let statistics = self.reactor.statistics();
        statistics.record_given_up(Operation::Search, self.searches.len() + self.waiting.len());
        self.searches.clear();
        self.waiting.clear();
        for request in self.held.drain(..) {
            statistics.record_given_up(request.operation(), 1);
        }
        // The search that is elsewhere counts itself when it ends.
        self.handed_over = None;
    }

    pub(super) fn can_step(&self) -> bool {
        let has_one =
            !self.searches.is_empty() && (self.handed_over.is_none() || self.searches.iter().any(|run| !run.is_long()));
        has_one && self.state == State::Open && self.output.waiting() < STEP_BELOW_BYTES
    }
}

/// Searches make steps only while less output than this waits for the client.
const STEP_BELOW_BYTES: usize = 64 << 10;
/// If one step produces this much, the output of several steps is sent together, up to about what a socket takes at
/// once. This costs less per octet.
const GATHER_STEP_BYTES: usize = 8 << 10;
const GATHER_BELOW_BYTES: usize = 48 << 10;
