//! A walk over entries that come from elsewhere, in their order of arrival.

use std::task::{Context, Poll};

use ironbark_model::{Entry, ResultCode};
use tokio::sync::mpsc::error::TryRecvError;

use crate::{
    backend::external::{AnswerStream, SentEntry},
    result::OperationResult,
};

/// A walk over entries that come from elsewhere.
pub(crate) struct ExternalWalk {
    answers: AnswerStream,
    /// The next entry to consider.
    next: Option<SentEntry>,
    /// All entries have come.
    has_all: bool,
}

impl ExternalWalk {
    pub(super) fn new(answers: AnswerStream) -> Self {
        Self {
            answers,
            next: None,
            has_all: false,
        }
    }

    /// Whether there is nothing to consider yet.
    pub(super) fn is_waiting(&self) -> bool {
        self.next.is_none() && !self.has_all
    }

    /// Ready when an entry or the end has come.
    pub(super) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_waiting() {
            match self.answers.entries.poll_recv(cx) {
                Poll::Ready(found) => self.put(found),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(())
    }

    /// The next entry to consider, if it has come.
    pub(super) fn next(&mut self) -> Option<&mut Entry> {
        if self.is_waiting() {
            match self.answers.entries.try_recv() {
                Ok(found) => self.put(Some(found)),
                Err(TryRecvError::Disconnected) => self.put(None),
                Err(TryRecvError::Empty) => {}
            }
        }
        self.next.as_mut().map(|sent| &mut sent.entry)
    }

    /// Drops the entry after it has been considered, and so frees its share of the memory.
    pub(super) fn advance(&mut self) {
        self.next = None;
    }

    /// The result from elsewhere, after all entries have come.
    pub(super) fn result(&mut self) -> OperationResult {
        let lost = |_| OperationResult::new(ResultCode::OTHER, "internal error");
        self.answers.end.try_recv().unwrap_or_else(lost)
    }

    fn put(&mut self, found: Option<SentEntry>) {
        self.has_all = found.is_none();
        self.next = found;
    }
}
