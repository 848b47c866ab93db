//! Records that the writer has and whose results are awaited. The writer takes many of them into one transaction.

use std::collections::VecDeque;

use super::executor::Progress;

/// The waiting records, in the order of the file.
pub(super) struct Waiting {
    sent: VecDeque<Sent>,
    octets: usize,
    /// The most records that may wait.
    most: usize,
}

/// A record without a known result.
pub(super) struct Sent {
    pub(super) progress: Progress,
    pub(super) response: Vec<u8>,
    /// Name of the operation.
    pub(super) word: &'static str,
    pub(super) dn: String,
    /// The name as written in the file.
    pub(super) shown: String,
    pub(super) line: u64,
    /// Length of the request.
    pub(super) octets: usize,
}

impl Waiting {
    /// Up to `most` waiting records.
    pub(super) fn new(most: usize) -> Self {
        Self {
            sent: VecDeque::new(),
            octets: 0,
            most,
        }
    }

    /// Whether a request of this length may be handed over in addition to the waiting ones. The limit is far below the
    /// length that the writer would refuse.
    pub(super) fn has_room(&self, octets: usize) -> bool {
        const OCTETS: usize = 16 << 20;
        self.sent.is_empty() || (self.sent.len() < self.most && self.octets + octets <= OCTETS)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    pub(super) fn push(&mut self, sent: Sent) {
        self.octets += sent.octets;
        self.sent.push_back(sent);
    }

    pub(super) fn pop(&mut self) -> Option<Sent> {
        let sent = self.sent.pop_front()?;
        self.octets -= sent.octets;
        Some(sent)
    }
}

impl Sent {
    /// A line about the record, for the user.
    pub(super) fn named(&self, text: &str) -> String {
        format!("slapmodify: dn=\"{}\" (line={}): {text}", self.shown, self.line)
    }
}
