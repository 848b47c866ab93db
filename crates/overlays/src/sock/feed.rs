//! Messages to the program that have no answer, one after the other in their order.
//!
//! What waits is bounded. A program that falls behind holds back searches, by their entries; results are lost when too
//! many wait, which the log says.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ironbark_backends::sock::program::{Program, Taken};
use ironbark_directory::overlay::ResponseWait;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::timeout,
};

/// The messages that wait for the program.
pub(super) struct Feed {
    sender: mpsc::UnboundedSender<Message>,
    /// Octets of entries that may wait.
    entries: Arc<Semaphore>,
    /// Octets of other messages that may wait.
    others: Arc<Semaphore>,
    lost: Arc<Losses>,
}

struct Message {
    taken: Taken,
    _share: OwnedSemaphorePermit,
}

/// Messages that the program was not told, since the log last said so.
#[derive(Default)]
struct Losses(AtomicU64);

impl Feed {
    /// Messages to `program`, told on its thread.
    pub(super) fn new(program: &Program) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        let lost = Arc::new(Losses::default());
        program.spawn(tell(receiver, Arc::clone(&lost)));
        Self {
            sender,
            entries: Arc::new(Semaphore::new(ENTRY_OCTETS)),
            others: Arc::new(Semaphore::new(OTHER_OCTETS)),
            lost,
        }
    }

    /// Tells the program of something that nothing waits for.
    pub(super) fn tell(&self, program: &Program, text: Vec<u8>) {
        let share = Arc::clone(&self.others).try_acquire_many_owned(share_of(text.len(), OTHER_OCTETS));
        match share.ok().zip(program.take(text)) {
            Some((share, taken)) => send(&self.sender, taken, share),
            None => self.lost.add(1),
        }
    }

    /// Tells the program of an entry. `Some`: it is told when there is room, and the search waits so long.
    pub(super) fn tell_entry(&self, program: &Program, text: Vec<u8>) -> Option<ResponseWait> {
        let wanted = share_of(text.len(), ENTRY_OCTETS);
        let Some(taken) = program.take(text) else {
            self.lost.add(1);
            return None;
        };
        if let Ok(share) = Arc::clone(&self.entries).try_acquire_many_owned(wanted) {
            send(&self.sender, taken, share);
            return None;
        }
        let (entries, sender) = (Arc::clone(&self.entries), self.sender.clone());
        Some(Box::pin(async move {
            // The room is never closed.
            if let Ok(share) = entries.acquire_many_owned(wanted).await {
                send(&sender, taken, share);
            }
        }))
    }
}

fn send(sender: &mpsc::UnboundedSender<Message>, taken: Taken, share: OwnedSemaphorePermit) {
    // Without a receiver the overlay is gone.
    let _ = sender.send(Message { taken, _share: share });
}

/// The share of the room of a message of so many octets. A big one takes all of it.
fn share_of(octets: usize, room: usize) -> u32 {
    u32::try_from(octets.clamp(MESSAGE_OCTETS, room)).unwrap_or(u32::MAX)
}

/// Tells the program one message after the other.
async fn tell(mut messages: mpsc::UnboundedReceiver<Message>, lost: Arc<Losses>) {
    while let Some(message) = messages.recv().await {
        if timeout(LONGEST, message.taken.begin()).await.is_ok() {
            lost.report();
            continue;
        }
        // The program does not listen. It is not worth as long a wait for each of the others.
        let mut given_up = 1;
        while messages.try_recv().is_ok() {
            given_up += 1;
        }
        lost.add(given_up);
        lost.report();
    }
}

impl Losses {
    fn add(&self, messages: u64) {
        self.0.fetch_add(messages, Ordering::Relaxed);
    }

    /// Says what was lost.
    fn report(&self) {
        match self.0.swap(0, Ordering::Relaxed) {
            0 => {}
            lost => tracing::warn!(target: "any", "sock: the program is too slow: {lost} messages were not told"),
        }
    }
}

/// How long a message may take. The program need not read it: the system keeps it.
const LONGEST: Duration = Duration::from_secs(10);
const ENTRY_OCTETS: usize = 1 << 20;
const OTHER_OCTETS: usize = 4 << 20;
/// Octets that a message counts for at least.
const MESSAGE_OCTETS: usize = 256;
