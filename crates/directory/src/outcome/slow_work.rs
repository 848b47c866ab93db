//! Slow work of overlays, on the pool for slow hashes: a requester waits for its result before its operation begins.

use tokio::sync::oneshot;

use crate::{Directory, backend::hashing_pool::PoolTask, request::context::RequestContext};

/// What a task counts for: so a few dozen wait for all clients together.
const OCTETS: usize = 1 << 20;

/// Work that has not been done yet.
struct SlowWork<T> {
    sender: Option<oneshot::Sender<T>>,
    work: Option<Box<dyn FnOnce() -> T + Send>>,
    /// The result if there is no room.
    otherwise: Option<T>,
}

/// Queues work, on behalf of a request. The receiver gets its result; without room for it, `otherwise`.
pub(crate) fn submit<T: Send + 'static>(
    directory: &Directory,
    origin: &RequestContext,
    work: impl FnOnce() -> T + Send + 'static,
    otherwise: T,
) -> oneshot::Receiver<T> {
    let (sender, receiver) = oneshot::channel();
    let work = SlowWork {
        sender: Some(sender),
        work: Some(Box::new(work)),
        otherwise: Some(otherwise),
    };
    if let Err(work) = directory.hashing_pool().submit(origin.claimant(), Box::new(work)) {
        work.refuse();
    }
    receiver
}

impl<T> SlowWork<T> {
    fn end(&mut self, result: Option<T>) {
        if let Some((sender, result)) = self.sender.take().zip(result) {
            // The connection may be gone.
            let _ = sender.send(result);
        }
    }
}

impl<T: Send> PoolTask for SlowWork<T> {
    fn octets(&self) -> usize {
        OCTETS
    }

    fn is_wanted(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    fn run(mut self: Box<Self>) {
        let result = self.work.take().map(|work| work());
        self.end(result);
    }

    fn refuse(mut self: Box<Self>) {
        // What the work holds is given back before the request goes on.
        self.work = None;
        let otherwise = self.otherwise.take();
        self.end(otherwise);
    }

    fn withdraw(self: Box<Self>) {
        self.refuse();
    }
}
