//! The readers that follow a database: persistent searches, consumers of syncrepl, readers of an access log.

use std::sync::Arc;

use super::CommitPartner;
use crate::{
    Directory,
    backend::queue::{Queued, WriterHandle},
};

/// Tells readers of each commit, and keeps them from claiming changes under way
/// ([`Fence`](crate::backend::fence::Fence)).
pub(super) struct Readers {
    directory: Arc<Directory>,
    writer: WriterHandle,
}

impl Readers {
    pub(super) fn new(directory: Arc<Directory>, writer: WriterHandle) -> Self {
        Self { directory, writer }
    }
}

impl CommitPartner for Readers {
    fn open(&mut self, _: &[Queued]) {
        self.writer.fence().set(self.directory.last_drawn());
    }

    fn committed(&mut self, last: u64) {
        self.writer.feed().committed(last);
    }

    fn close(&mut self) {
        if self.writer.fence().lift() {
            self.writer.feed().call();
        }
    }
}
