//! Every order of the steps of a writer and of readers, by `loom`: the value is the memory of shared sets, as stores
//! have it, and the file is a list of commits.

use std::sync::{Mutex as RealMutex, MutexGuard as RealGuard, PoisonError};

use loom::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread::Builder,
};

use super::{GoodTo, Number, Publication, Slot};
use crate::{
    StoreError, hash,
    sets::{OpenSets, SetNumber, SetWriter, SharedSets},
};

/// The rows of `sets` as of one commit.
type Rows = Vec<(SetNumber, Vec<u8>)>;

type Published = Publication<Known, ModelSlot, AtomicUsize>;

/// What is known of the sets of a commit.
#[derive(Debug)]
struct Known {
    sets: std::sync::Arc<SharedSets>,
    commit: usize,
}

impl GoodTo for Known {
    fn good_to(&self) -> usize {
        self.commit
    }
}

impl Known {
    fn with(&self, commit: usize, rows: &Rows) -> Result<Self, StoreError> {
        let mut sets = SharedSets::clone(&self.sets);
        for (position, (number, tlvs)) in rows.iter().enumerate() {
            sets.take_up(position, *number, tlvs)?;
        }
        Ok(Self {
            sets: std::sync::Arc::new(sets),
            commit,
        })
    }
}

/// A slot by a number, so that `loom` knows its orders. No step of another thread falls between a lock of the list and
/// its end.
#[derive(Debug)]
struct ModelSlot {
    current: AtomicUsize,
    values: RealMutex<Vec<std::sync::Arc<Known>>>,
}

impl ModelSlot {
    fn values(&self) -> RealGuard<'_, Vec<std::sync::Arc<Known>>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place_of(&self, value: &std::sync::Arc<Known>) -> usize {
        let mut values = self.values();
        let known = values.iter().position(|known| std::sync::Arc::ptr_eq(known, value));
        known.unwrap_or_else(|| {
            values.push(std::sync::Arc::clone(value));
            values.len() - 1
        })
    }
}

impl Slot<Known> for ModelSlot {
    fn new(value: std::sync::Arc<Known>) -> Self {
        Self {
            current: AtomicUsize::new(0),
            values: RealMutex::new(vec![value]),
        }
    }

    fn load(&self) -> std::sync::Arc<Known> {
        let place = self.current.load(Ordering::Acquire);
        std::sync::Arc::clone(&self.values()[place])
    }

    fn store(&self, value: std::sync::Arc<Known>) {
        let place = self.place_of(&value);
        self.current.store(place, Ordering::Release);
    }

    fn replace(&self, former: &std::sync::Arc<Known>, value: std::sync::Arc<Known>) -> bool {
        let (former, place) = (self.place_of(former), self.place_of(&value));
        let swapped = self
            .current
            .compare_exchange(former, place, Ordering::AcqRel, Ordering::Acquire);
        swapped.is_ok()
    }
}

impl Number for AtomicUsize {
    fn new(number: usize) -> Self {
        Self::new(number)
    }

    fn load(&self) -> usize {
        self.load(Ordering::Acquire)
    }

    fn store(&self, number: usize) {
        self.store(number, Ordering::Release);
    }

    fn raise(&self, number: usize) {
        self.fetch_max(number, Ordering::Release);
    }
}

/// A data file, the lock of its writers, and the memory of two handles on it.
struct File {
    /// LMDB's number of the last commit, for new readers.
    last: AtomicUsize,
    commits: RealMutex<Vec<Rows>>,
    writer: Mutex<SetWriter>,
    handles: [Published; 2],
}

impl File {
    fn new() -> Arc<Self> {
        let handle = || {
            Publication::new(Known {
                sets: std::sync::Arc::default(),
                commit: 0,
            })
        };
        Arc::new(Self {
            last: AtomicUsize::new(0),
            commits: RealMutex::new(vec![Rows::new()]),
            writer: Mutex::new(SetWriter::default()),
            handles: [handle(), handle()],
        })
    }

    fn rows_of(&self, commit: usize) -> Rows {
        self.commits.lock().unwrap_or_else(PoisonError::into_inner)[commit].clone()
    }

    /// As a write transaction does: shares a set of this content, and commits it if `has_room`.
    fn write(&self, handle: usize, content: u8, has_room: bool) {
        let (published, writer) = (&self.handles[handle], self.writer.lock().unwrap());
        let last = self.last.load(Ordering::Acquire);
        let rows = self.rows_of(last);
        let before = published.of(last, |known| known.with(last, &rows)).unwrap();
        let mut open = OpenSets::new(writer, std::sync::Arc::clone(&before.sets));
        let tlvs = vec![content; 300];
        let number = (0..3)
            .find_map(|_| open.number(&tlvs, hash::value_hash(&tlvs)))
            .unwrap();
        let after = [rows.clone(), vec![(number, tlvs)]].concat();
        assert_eq!(number.position(), rows.len(), "numbers have no gap");
        let value = Known {
            sets: std::sync::Arc::clone(open.sets()),
            commit: last + 1,
        };
        let committed = published.commit(Some(value), last + 1, || {
            if !has_room {
                return Err(());
            }
            self.commits.lock().unwrap_or_else(PoisonError::into_inner).push(after);
            self.last.store(last + 1, Ordering::Release);
            Ok(())
        });
        assert_eq!(committed.is_ok(), has_room);
    }

    /// As a reader does: returns how many sets it knows that its snapshot has not.
    fn read(&self, handle: usize) -> usize {
        let commit = self.last.load(Ordering::Acquire);
        let rows = self.rows_of(commit);
        let known = self.handles[handle]
            .of(commit, |known| known.with(commit, &rows))
            .unwrap();
        for (number, tlvs) in &rows {
            assert_eq!(known.sets.tlvs(*number), Some(&**tlvs), "{number:?} of commit {commit}");
        }
        known.sets.count() - rows.len()
    }
}

/// Runs a writer and readers in every order of their steps, with two switches at most that none of them needs; then
/// everything is known.
fn in_every_order(acts: &'static [fn(&File)]) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let file = File::new();
        let start = |act: &'static fn(&File)| {
            let file = Arc::clone(&file);
            Builder::new().spawn(move || act(&file)).unwrap()
        };
        for thread in acts.iter().map(start).collect::<Vec<_>>() {
            thread.join().unwrap();
        }
        assert_eq!([0, 1].map(|handle| file.read(handle)), [0, 0]);
    });
}

#[test]
fn a_reader_knows_its_snapshot_while_commits_fail_and_succeed() {
    in_every_order(&[
        |file| {
            file.write(0, 1, false);
            file.write(0, 2, true);
        },
        |file| {
            let most = "the set of the transaction that is about to commit";
            assert!(file.read(0) <= 1 && file.read(0) <= 1, "{most}");
        },
    ]);
}

#[test]
fn handles_that_load_from_the_file_know_their_snapshots() {
    in_every_order(&[
        |file| {
            file.write(0, 1, true);
            file.write(1, 2, true);
        },
        |file| _ = file.read(1),
        |file| _ = file.read(1),
    ]);
}

#[test]
fn writers_of_two_handles_give_no_number_twice() {
    in_every_order(&[
        |file| {
            file.write(0, 1, false);
            file.write(0, 2, true);
        },
        |file| {
            file.write(1, 3, true);
            file.read(1);
        },
    ]);
}
