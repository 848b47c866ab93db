//! A search that can do nothing before entries come from elsewhere.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use ironbark_directory::SearchRun;

/// A search that waits for entries from elsewhere. Dropping this abandons it.
pub(super) struct WaitingSearch(Option<Box<SearchRun>>);

impl WaitingSearch {
    pub(super) fn new(run: Box<SearchRun>) -> Self {
        Self(Some(run))
    }

    /// Whether the search must end. It does so at its next step.
    pub(super) fn is_stopped(&self) -> bool {
        self.0.as_ref().is_some_and(|run| run.is_stopped())
    }

    /// Octets that it may hold.
    pub(super) fn held_octets(&self) -> usize {
        self.0.as_ref().map_or(0, |run| run.held_octets())
    }

    /// The search; `None`: it has continued already.
    pub(super) fn into_run(self) -> Option<Box<SearchRun>> {
        self.0
    }
}

impl Future for WaitingSearch {
    /// `None`: the search has continued before.
    type Output = Option<Box<SearchRun>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Some(run) => run.poll_ready(cx).map(|()| self.0.take()),
            None => Poll::Ready(None),
        }
    }
}
