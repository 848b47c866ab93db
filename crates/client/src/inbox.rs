//! The responses that wait for their consumers, for all operations of a connection.
//!
//! One socket carries the responses of all operations, so the reader can stop only for all of them. It stops when the
//! consumer of one operation leaves more than [`MESSAGES`] or [`OCTETS`] untaken, because the server must not fill the
//! memory. It goes on while another operation is being waited for, up to [`MOST_OCTETS`] in all, because a consumer may
//! wait for another operation between two entries of a search.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use tokio::sync::Notify;

use crate::incoming::Incoming;

/// The inboxes by message ID.
#[derive(Default, Debug)]
pub(crate) struct Inboxes {
    by_id: HashMap<i32, Inbox>,
    /// Octets in all of them.
    octets: usize,
    /// How many are full.
    full: usize,
    /// How many consumers wait at an empty inbox.
    awaited: usize,
}

#[derive(Default, Debug)]
struct Inbox {
    queue: VecDeque<(Incoming, usize)>,
    octets: usize,
    /// The last response has come.
    is_complete: bool,
    is_awaited: bool,
    consumer: Arc<Notify>,
}

/// What a consumer finds.
#[derive(Debug)]
pub(crate) enum Taken {
    Message(Incoming),
    /// Nothing yet; the consumer is counted as waiting, and is woken by this.
    Nothing(Arc<Notify>),
    /// There is no such operation, or no more of it.
    Over,
}

impl Inbox {
    fn is_full(&self) -> bool {
        self.queue.len() >= MESSAGES || self.octets >= OCTETS
    }
}

impl Inboxes {
    /// Begins an operation.
    pub(crate) fn open(&mut self, id: i32) {
        self.by_id.insert(id, Inbox::default());
    }

    pub(crate) fn contains(&self, id: i32) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Keeps a response of `octets` for its consumer. Responses to abandoned operations may still arrive (RFC 4511
    /// §4.11). They are dropped.
    pub(crate) fn deliver(&mut self, id: i32, incoming: Incoming, octets: usize, is_last: bool) {
        let Some(inbox) = self.by_id.get_mut(&id).filter(|inbox| !inbox.is_complete) else {
            return;
        };
        let was_full = inbox.is_full();
        inbox.queue.push_back((incoming, octets));
        inbox.octets += octets;
        inbox.is_complete = is_last;
        self.octets += octets;
        self.full += usize::from(!was_full && inbox.is_full());
        inbox.consumer.notify_one();
    }

    /// Takes the next response. With `is_closed` nothing further can come. After the last response the operation is
    /// forgotten.
    pub(crate) fn take(&mut self, id: i32, is_closed: bool) -> Taken {
        self.stop_waiting(id);
        let Some(inbox) = self.by_id.get_mut(&id) else {
            return Taken::Over;
        };
        let was_full = inbox.is_full();
        let Some((incoming, octets)) = inbox.queue.pop_front() else {
            if is_closed {
                self.close(id);
                return Taken::Over;
            }
            inbox.is_awaited = true;
            self.awaited += 1;
            return Taken::Nothing(Arc::clone(&inbox.consumer));
        };
        inbox.octets -= octets;
        self.octets -= octets;
        self.full -= usize::from(was_full && !inbox.is_full());
        if inbox.is_complete && inbox.queue.is_empty() {
            self.close(id);
        }
        Taken::Message(incoming)
    }

    /// The consumer does not wait any more.
    pub(crate) fn stop_waiting(&mut self, id: i32) {
        if let Some(inbox) = self.by_id.get_mut(&id) {
            self.awaited -= usize::from(std::mem::take(&mut inbox.is_awaited));
        }
    }

    /// Forgets an operation with all that waits for its consumer. Returns whether its last response was still to come.
    pub(crate) fn close(&mut self, id: i32) -> bool {
        self.stop_waiting(id);
        let Some(inbox) = self.by_id.remove(&id) else {
            return false;
        };
        self.octets -= inbox.octets;
        self.full -= usize::from(inbox.is_full());
        !inbox.is_complete
    }

    /// Wakes all consumers.
    pub(crate) fn wake_all(&self) {
        for inbox in self.by_id.values() {
            inbox.consumer.notify_one();
        }
    }

    /// Whether the reader may read on.
    pub(crate) fn have_room(&self) -> bool {
        self.full == 0 || (self.awaited > 0 && self.octets < MOST_OCTETS)
    }
}

/// Most responses that wait for one consumer.
const MESSAGES: usize = 1_024;
/// Most octets that wait for one consumer; one more message may come on top.
const OCTETS: usize = 4 << 20;
/// Most octets that wait for all consumers of a connection while one of them waits at an empty inbox.
const MOST_OCTETS: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SearchItem;

    fn item() -> Incoming {
        Incoming::Item(SearchItem::Reference {
            uris: Vec::new(),
            controls: Vec::new(),
        })
    }

    #[test]
    fn an_inbox_is_full_by_number_or_by_size_until_one_is_taken() {
        for (count, octets) in [(MESSAGES, 1), (4, OCTETS / 4)] {
            let mut inboxes = Inboxes::default();
            inboxes.open(1);
            for _ in 1..count {
                inboxes.deliver(1, item(), octets, false);
                assert!(inboxes.have_room());
            }
            inboxes.deliver(1, item(), octets, false);
            assert!(!inboxes.have_room(), "{count}");
            assert!(matches!(inboxes.take(1, false), Taken::Message(_)));
            assert!(inboxes.have_room());
        }
    }

    #[test]
    fn who_waits_for_another_operation_gets_it_up_to_a_bound() {
        let mut inboxes = Inboxes::default();
        inboxes.open(1);
        inboxes.open(2);
        inboxes.deliver(1, item(), OCTETS, false);
        assert!(!inboxes.have_room());
        assert!(matches!(inboxes.take(2, false), Taken::Nothing(_)));
        assert!(inboxes.have_room());
        inboxes.deliver(1, item(), MOST_OCTETS - OCTETS, false);
        assert!(!inboxes.have_room());
        inboxes.stop_waiting(2);
        assert!(inboxes.close(1));
        assert!(inboxes.have_room());
        assert_eq!((inboxes.octets, inboxes.full, inboxes.awaited), (0, 0, 0));
    }

    #[test]
    fn what_came_before_the_end_is_taken_after_it() {
        let mut inboxes = Inboxes::default();
        inboxes.open(1);
        inboxes.deliver(1, item(), 1, false);
        inboxes.deliver(1, item(), 1, true);
        inboxes.deliver(1, item(), 1, true);
        assert!(matches!(inboxes.take(1, true), Taken::Message(_)));
        assert!(inboxes.contains(1));
        assert!(matches!(inboxes.take(1, true), Taken::Message(_)));
        assert!(!inboxes.contains(1));
        assert!(matches!(inboxes.take(1, false), Taken::Over));
        inboxes.open(2);
        assert!(matches!(inboxes.take(2, true), Taken::Over));
        assert!(!inboxes.contains(2));
    }
}
