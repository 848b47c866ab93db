//! Whose turn it is: in a queue alone, and with threads.

use std::sync::{
    atomic::{AtomicBool, Ordering},
    mpsc::{Receiver, Sender, channel},
};

use proptest::prelude::*;

use super::*;

/// A task for tests of the queue alone.
#[derive(Debug)]
struct Numbered {
    octets: usize,
    is_wanted: Arc<AtomicBool>,
}

impl Task for Numbered {
    fn octets(&self) -> usize {
        self.octets
    }

    fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed)
    }

    fn run(self) {}

    fn refuse(self) {}
}

fn wanted(octets: usize) -> Numbered {
    Numbered {
        octets,
        is_wanted: Arc::new(AtomicBool::new(true)),
    }
}

fn of(source: u8, connection: u64) -> Claimant<u8> {
    Claimant { source, connection }
}

/// Two cores; room for `tasks` small tasks.
fn shares(tasks: usize) -> Shares {
    Shares {
        threads: 3,
        per_source: 2,
        per_connection: 1,
        waiting_octets: tasks * Shares::TASK_OCTETS,
    }
}

fn queue(tasks: usize) -> Queue<u8, Numbered> {
    Queue::new(shares(tasks))
}

/// Serves the next task to its end. Returns whose it was.
fn served(queue: &mut Queue<u8, Numbered>) -> Option<(u8, u64)> {
    let (claimant, _) = queue.take()?;
    queue.conclude(&claimant);
    Some((claimant.source, claimant.connection))
}

fn push(queue: &mut Queue<u8, Numbered>, source: u8, connection: u64) -> (bool, usize) {
    let (admitted, gave_way) = queue.push(of(source, connection), wanted(0));
    (admitted.is_ok(), gave_way.len())
}

#[test]
fn who_asks_for_little_does_not_wait_for_who_asks_for_much() {
    let mut queue = queue(4_096);
    for _ in 0..800 {
        assert_eq!(push(&mut queue, 1, 1), (true, 0));
    }
    for (source, connection) in [(1, 2), (2, 3), (1, 4)] {
        push(&mut queue, source, connection);
    }
    let order: Vec<_> = (0..7).map_while(|_| served(&mut queue)).collect();
    // The sources take turns, and within a source its connections.
    assert_eq!(order, [(1, 1), (2, 3), (1, 2), (1, 4), (1, 1), (1, 1), (1, 1)]);
}

#[test]
fn no_source_has_all_threads_and_no_connection_those_of_its_source() {
    let mut queue = queue(4_096);
    for connection in [1, 1, 1, 2, 2, 3] {
        push(&mut queue, 1, connection);
    }
    let first = queue.take().unwrap().0;
    let second = queue.take().unwrap().0;
    assert_eq!((&first, &second), (&of(1, 1), &of(1, 2)));
    assert!(queue.take().is_none(), "its third connection waits");
    push(&mut queue, 2, 9);
    assert_eq!(queue.take().unwrap().0, of(2, 9), "another source does not");
    queue.conclude(&first);
    assert_eq!(queue.take().unwrap().0, of(1, 3));
}

#[test]
fn in_a_full_queue_who_has_most_waiting_gives_way() {
    let mut queue = queue(8);
    for _ in 0..5 {
        push(&mut queue, 1, 1);
    }
    for connection in 2..5 {
        push(&mut queue, 1, connection);
    }
    assert_eq!(push(&mut queue, 1, 1), (false, 0), "it has most itself");
    assert_eq!(push(&mut queue, 1, 9), (true, 1), "another connection of its own");
    for _ in 0..3 {
        assert_eq!(push(&mut queue, 2, 1), (true, 1));
    }
    assert_eq!(push(&mut queue, 2, 1), (true, 1));
    // Four tasks of each source wait now. With one more, the second source would have most.
    assert_eq!(push(&mut queue, 2, 1), (false, 0));
    assert_eq!(push(&mut queue, 2, 2), (true, 1), "another connection of its own");
    assert_eq!(push(&mut queue, 3, 1), (true, 1));
    let left = std::iter::from_fn(|| served(&mut queue)).count();
    assert_eq!(left, 8);
}

#[test]
fn octets_count_and_one_task_may_always_wait() {
    let mut queue = queue(8);
    let huge = 100 * Shares::TASK_OCTETS;
    assert!(queue.push(of(1, 1), wanted(huge)).0.is_ok());
    assert!(queue.push(of(1, 2), wanted(huge)).0.is_err());
    let (admitted, gave_way) = queue.push(of(2, 1), wanted(0));
    assert!(admitted.is_ok());
    assert_eq!(gave_way.len(), 1);
    assert_eq!(served(&mut queue), Some((2, 1)));
}

#[test]
fn what_nobody_waits_for_makes_room_first() {
    let mut queue = queue(4);
    let left = Arc::new(AtomicBool::new(true));
    for connection in 1..5 {
        let task = Numbered {
            octets: 0,
            is_wanted: Arc::clone(&left),
        };
        assert!(queue.push(of(1, connection), task).0.is_ok());
    }
    left.store(false, Ordering::Relaxed);
    assert_eq!(push(&mut queue, 1, 9), (true, 0));
    assert_eq!(served(&mut queue), Some((1, 9)));
    assert_eq!(served(&mut queue), None);
}

#[test]
fn what_has_gone_is_forgotten_and_leaves_no_trace() {
    let mut queue = queue(4);
    for (source, connection) in [(1, 1), (1, 2), (1, 1), (2, 3)] {
        assert_eq!(push(&mut queue, source, connection), (true, 0));
    }
    let running = queue.take().unwrap().0;
    assert_eq!(queue.forget(&of(1, 1)).len(), 1);
    assert_eq!(queue.forget(&of(2, 3)).len() + queue.forget(&of(9, 9)).len(), 1);
    queue.conclude(&running);
    assert_eq!(served(&mut queue), Some((1, 2)));
    assert_eq!(served(&mut queue), None);
    assert!((0..4).all(|connection| push(&mut queue, 3, connection) == (true, 0)));
}

proptest! {
    #[test]
    fn nothing_is_lost_and_no_bound_is_passed(
        steps in prop::collection::vec((0..4_u8, 0..5_u64, 0..3_usize, any::<bool>()), 1..200)
    ) {
        let mut queue = queue(16);
        let (mut waiting, mut running) = (0_usize, Vec::<Claimant<u8>>::new());
        for (source, connection, size, takes) in steps {
            if takes {
                if let Some((claimant, _)) = queue.take() {
                    waiting -= 1;
                    running.push(claimant);
                } else if let Some(claimant) = running.pop() {
                    queue.conclude(&claimant);
                }
            } else {
                let (admitted, gave_way) = queue.push(of(source, connection), wanted(size * Shares::TASK_OCTETS));
                waiting = waiting + usize::from(admitted.is_ok()) - gave_way.len();
            }
            prop_assert!(waiting <= 16);
            for claimant in &running {
                let of_source = running.iter().filter(|other| other.source == claimant.source).count();
                let of_connection = running.iter().filter(|other| *other == claimant).count();
                prop_assert!(of_source <= 2 && of_connection <= 1);
            }
        }
        for claimant in running.drain(..) {
            queue.conclude(&claimant);
        }
        prop_assert_eq!(std::iter::from_fn(|| served(&mut queue)).count(), waiting);
    }
}

/// A task that reports its beginning, and ends when the test says so.
struct Told {
    number: u32,
    begun: Sender<u32>,
    end: Option<Receiver<()>>,
    panics: bool,
    is_wanted: bool,
}

impl Task for Told {
    fn octets(&self) -> usize {
        0
    }

    fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    fn run(self) {
        self.begun.send(self.number).unwrap();
        if let Some(end) = self.end {
            // The other end is dropped.
            let _ = end.recv();
        }
        assert!(!self.panics, "a library that gives up");
    }

    fn refuse(self) {}
}

fn told(number: u32, begun: &Sender<u32>) -> Told {
    Told {
        number,
        begun: begun.clone(),
        end: None,
        panics: false,
        is_wanted: true,
    }
}

#[test]
fn a_thread_is_free_for_who_comes_next() {
    let pool = FairPool::new("test", shares(4_096));
    let (begun, order) = channel();
    let (end, ends): (Vec<_>, Vec<_>) = (0..20).map(|_| channel::<()>()).unzip();
    for (number, end) in (0..).zip(ends) {
        let task = Told {
            end: Some(end),
            ..told(number, &begun)
        };
        assert!(pool.submit(of(1, u64::from(number)), task).is_ok());
    }
    let first_two = [order.recv().unwrap(), order.recv().unwrap()];
    assert!(first_two.contains(&0) && first_two.contains(&1));
    assert!(pool.submit(of(2, 99), told(99, &begun)).is_ok());
    assert_eq!(order.recv(), Ok(99), "while two tasks of the other source run");
    drop(end);
    assert_eq!(order.iter().take(18).count(), 18);
}

#[test]
fn a_task_that_panics_takes_no_thread_with_it_and_an_unwanted_one_is_not_run() {
    let pool = FairPool::new("test", shares(4_096));
    let (begun, order) = channel();
    for number in 0..12 {
        let task = Told {
            panics: true,
            ..told(number, &begun)
        };
        assert!(pool.submit(of(1, 1), task).is_ok());
    }
    let gone = Told {
        is_wanted: false,
        ..told(50, &begun)
    };
    assert!(pool.submit(of(1, 1), gone).is_ok());
    assert!(pool.submit(of(1, 1), told(99, &begun)).is_ok());
    drop(begun);
    let all: Vec<_> = order.iter().collect();
    assert_eq!(all, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 99]);
}

#[test]
fn a_task_that_no_thread_can_be_started_for_comes_back_each_time() {
    // No thread has such a name. A share that is not given back would let the third task wait for ever.
    let pool = FairPool::new("no\0name", shares(8));
    for _ in 0..5 {
        assert!(pool.submit(of(1, 1), wanted(0)).is_err());
    }
}
