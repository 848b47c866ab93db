//! A walk over entries that come from elsewhere, in the order in which they come.

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
    /// The entry that is to be considered next.
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

    /// Whether nothing has come that can be considered.
    pub(super) fn is_waiting(&self) -> bool {
        self.next.is_none() && !self.has_all
    }

    /// Ready when something has come.
    pub(super) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_waiting() {
            match self.answers.entries.poll_recv(cx) {
                Poll::Ready(found) => self.put(found),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(())
    }

    /// The entry to be considered next, if it has come.
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

    /// The entry has been considered: its room is free.
    pub(super) fn advance(&mut self) {
        self.next = None;
    }

    /// How the search ended where the entries are, once all have come.
    pub(super) fn result(&mut self) -> OperationResult {
        let lost = |_| OperationResult::new(ResultCode::OTHER, "internal error");
        self.answers.end.try_recv().unwrap_or_else(lost)
    }

    fn put(&mut self, found: Option<SentEntry>) {
        self.has_all = found.is_none();
        self.next = found;
    }
}
