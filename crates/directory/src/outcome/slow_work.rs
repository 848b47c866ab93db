//! Slow work of overlays, on the pool for slow hashes: a requester waits for its result before its operation begins.

use ironbark_runtime::Claimant;
use tokio::sync::oneshot;

use crate::{Directory, backend::hashing_pool::PoolTask, request::context::RequestContext};

/// What a task counts for: so a few dozen wait for all clients together.
const OCTETS: usize = 1 << 20;

struct SlowWork<T> {
    /// `None` when it is done or refused.
    pending: Option<(oneshot::Sender<T>, Box<dyn FnOnce() -> T + Send>)>,
}

/// Queues work, on behalf of a request. The receiver gets its result. `None`: there is no room.
pub(crate) fn submit<T: Send + 'static>(
    directory: &Directory,
    origin: &RequestContext,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<oneshot::Receiver<T>> {
    let (sender, receiver) = oneshot::channel();
    let claimant = Claimant {
        source: origin.peer.source(),
        connection: origin.connection,
    };
    let work = SlowWork {
        pending: Some((sender, Box::new(work))),
    };
    match directory.hashing_pool().submit(claimant, Box::new(work)) {
        Ok(()) => Some(receiver),
        Err(work) => {
            work.withdraw();
            None
        }
    }
}

impl<T: Send> PoolTask for SlowWork<T> {
    fn octets(&self) -> usize {
        OCTETS
    }

    fn is_wanted(&self) -> bool {
        self.pending.as_ref().is_some_and(|(sender, _)| !sender.is_closed())
    }

    fn run(mut self: Box<Self>) {
        if let Some((sender, work)) = self.pending.take() {
            // The connection may be gone.
            let _ = sender.send(work());
        }
    }

    /// Without its sender the request gets an error.
    fn refuse(mut self: Box<Self>) {
        self.pending = None;
    }

    fn withdraw(mut self: Box<Self>) {
        self.pending = None;
    }
}
