//! Random sequences of what happens to a database and its files. After each, opening gives the last checkpoint or what
//! was put in place, whole.

use proptest::{collection::vec, prelude::*};

use super::{
    super::{file::ASIDE, steps::Step},
    interrupted::{STEPS, lose_metas, open_until},
    neighbours::{PUTS, Put, put},
    *,
};

/// How a process ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Closed,
    Killed,
    /// And the machine is started anew in order.
    Restarted,
    /// With the machine, which loses pages.
    Crashed(u64),
}

/// What is done while a database is open.
#[derive(Clone, Copy, Debug)]
enum Work {
    Commits(u64),
    Checkpoint,
    Copy(Way),
    /// Closes the database, and lets a tool write to it.
    Tool,
}

/// What is done to the files of a database that is not open.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Put(usize, Put),
    /// Reads it, without writing.
    Read,
    /// The machine of a process that opens it ends after a step. The bits say which of the meta pages are not written.
    Interrupted(Step, u8),
    /// The record is one of the former version. Not after a crash: then the file itself may be lost.
    FormerVersion,
    /// It is what nobody has written. Not after a crash.
    Garbage(bool),
    /// The record that was put aside last is back.
    Back,
    RemovedLock,
}

#[derive(Clone, Debug)]
struct Round {
    is_served: bool,
    work: Vec<Work>,
    end: End,
    fates: Vec<Fate>,
}

/// A copy, with the states that its file had before.
struct Copied {
    folder: tempfile::TempDir,
    states: Vec<Content>,
    content: Content,
    /// Whether it is taken for the file itself if the machine has crashed in this serving at this checkpoint.
    of: Option<(u64, u64)>,
}

struct World {
    folder: tempfile::TempDir,
    next: u64,
    copies: Vec<Copied>,
    /// All states that the file had.
    states: Vec<Content>,
    /// What may be found.
    expected: Vec<Content>,
    /// Whether pages may be missing, so that the record is needed.
    is_crashed: bool,
    /// Number of the last serving, and of its last checkpoint.
    serving: u64,
    checkpoints: u64,
    at_checkpoint: Content,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = begun(folder.path());
        fill(&database, 0..5);
        let content = content(&database);
        drop(database);
        let mut world = Self {
            folder,
            next: 5,
            copies: Vec::new(),
            states: vec![content],
            expected: vec![content],
            is_crashed: false,
            serving: 0,
            checkpoints: 0,
            at_checkpoint: content,
        };
        // Another database, and one with the same identifier that has gone another way.
        let other = tempfile::tempdir().unwrap();
        let database = begun(other.path());
        fill(&database, 500..560);
        world.add_copy(&database, Way::Bytes, None);
        drop(database);
        let twin = tempfile::tempdir().unwrap();
        fs::copy(data(world.path()), data(twin.path())).unwrap();
        let database = open(twin.path());
        let mut states = vec![content];
        for n in 800..860 {
            fill(&database, n..n + 1);
            states.push(super::content(&database));
        }
        world.add_copy(&database, Way::Bytes, None);
        world.copies.last_mut().unwrap().states = states;
        world
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn add_copy(&mut self, database: &Database, way: Way, of: Option<(u64, u64)>) {
        let now = content(database);
        self.copies.push(Copied {
            folder: copy(database, way),
            states: self.states.clone(),
            content: now,
            of,
        });
    }

    /// Opens it as it was found.
    fn check(&mut self, read_only: bool) -> Arc<Database> {
        let before = fs::read(data(self.path())).unwrap();
        let database = open_with(self.path(), read_only).unwrap();
        assert_sound(&database);
        let now = content(&database);
        assert!(
            self.expected.contains(&now),
            "one of {:?} and not {now}, of {:?}",
            self.expected,
            self.states
        );
        if read_only && !database.was_taken_back() {
            assert!(fs::read(data(self.path())).unwrap() == before);
        }
        if database.was_taken_back() || !read_only {
            self.is_crashed = false;
        }
        if !self.states.contains(&now) {
            self.states.push(now);
        }
        self.expected = vec![now];
        database
    }

    fn work(&mut self, round: &Round) {
        let mut database = self.check(false);
        if round.is_served {
            self.serve(&database);
        }
        let mut on_disk = fs::read(data(self.path())).unwrap();
        for work in &round.work {
            match *work {
                Work::Commits(count) => {
                    for n in self.next..self.next + count {
                        fill(&database, n..n + 1);
                        self.states.push(content(&database));
                    }
                    self.next += count;
                }
                Work::Checkpoint if round.is_served => {
                    checkpoint(&database);
                    self.checkpoints += 1;
                    self.at_checkpoint = content(&database);
                    on_disk = fs::read(data(self.path())).unwrap();
                }
                Work::Checkpoint => {}
                Work::Copy(way) => {
                    let is_raw = matches!(way, Way::Raw | Way::Bytes) && round.is_served;
                    let of = is_raw.then_some((self.serving, self.checkpoints));
                    self.add_copy(&database, way, of);
                }
                Work::Tool => {
                    database.flush_each_commit().unwrap();
                    drop(database);
                    database = open(self.path());
                    fill(&database, self.next..self.next + 1);
                    self.next += 1;
                    self.states.push(content(&database));
                    if round.is_served {
                        self.serve(&database);
                        on_disk = fs::read(data(self.path())).unwrap();
                    }
                }
            }
        }
        self.end(database, round, &on_disk);
    }

    fn serve(&mut self, database: &Database) {
        database.defer_flushes().unwrap();
        self.serving += 1;
        self.checkpoints = 0;
        self.at_checkpoint = content(database);
    }

    fn end(&mut self, database: Arc<Database>, round: &Round, on_disk: &[u8]) {
        let now = content(&database);
        let is_closed = matches!(round.end, End::Closed) || !round.is_served;
        if is_closed {
            database.flush_each_commit().unwrap();
        }
        drop(database);
        self.expected = vec![now];
        if is_closed || matches!(round.end, End::Killed) {
            return;
        }
        if let End::Crashed(seed) = round.end {
            lose_pages(self.path(), on_disk, seed);
        }
        forget_memory(self.path());
        self.expected = vec![self.at_checkpoint];
        self.is_crashed = true;
    }

    fn suffer(&mut self, fate: Fate) {
        let record = record_file(self.path());
        match fate {
            Fate::Put(which, how) => self.put(which % self.copies.len(), how),
            Fate::Read => drop(self.check(true)),
            Fate::Interrupted(step, lost) => {
                let before = fs::read(data(self.path())).unwrap();
                if open_until(self.path(), step) {
                    lose_metas(self.path(), &before, step, lost);
                } else {
                    // It was opened, and closed.
                    self.is_crashed = false;
                }
            }
            Fate::FormerVersion if record.exists() && !self.is_crashed => of_former_version(self.path()),
            Fate::Garbage(is_long) if record.exists() && !self.is_crashed => {
                fs::write(&record, vec![0x55; if is_long { 20_000 } else { 10 }]).unwrap();
            }
            Fate::Back if !record.exists() && self.path().join(ASIDE).exists() => {
                fs::rename(self.path().join(ASIDE), &record).unwrap();
            }
            Fate::RemovedLock => drop(fs::remove_file(self.path().join("lock.mdb"))),
            Fate::FormerVersion | Fate::Garbage(_) | Fate::Back => {}
        }
    }

    fn put(&mut self, which: usize, how: Put) {
        let copied = &self.copies[which];
        put(&data(copied.folder.path()), self.folder.path(), how);
        self.expected = vec![copied.content];
        self.states.clone_from(&copied.states);
        self.states.push(copied.content);
        let is_staged = matches!(how, Put::Restored | Put::Renewed);
        if !is_staged && copied.of.is_some() {
            // A raw copy of the serving that ended may have its last checkpoint, and is one of a crash then.
            self.expected.push(self.at_checkpoint);
            if copied.of != Some((self.serving, self.checkpoints)) {
                self.expected.pop();
            }
        }
        self.is_crashed = false;
    }
}

fn way() -> impl Strategy<Value = Way> {
    prop_oneof![Just(Way::Backup), Just(Way::Compact), Just(Way::Raw), Just(Way::Bytes)]
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => (any::<usize>(), 0..PUTS.len()).prop_map(|(which, how)| Fate::Put(which, PUTS[how])),
        2 => Just(Fate::Read),
        3 => (0..STEPS.len(), 0_u8..4).prop_map(|(step, lost)| Fate::Interrupted(STEPS[step], lost)),
        1 => Just(Fate::FormerVersion),
        1 => any::<bool>().prop_map(Fate::Garbage),
        1 => Just(Fate::Back),
        1 => Just(Fate::RemovedLock),
    ]
}

fn round() -> impl Strategy<Value = Round> {
    let work = prop_oneof![
        4 => (1_u64..8).prop_map(Work::Commits),
        2 => Just(Work::Checkpoint),
        2 => way().prop_map(Work::Copy),
        1 => Just(Work::Tool),
    ];
    let end = prop_oneof![
        1 => Just(End::Closed),
        2 => Just(End::Killed),
        2 => Just(End::Restarted),
        4 => any::<u64>().prop_map(End::Crashed),
    ];
    (prop::bool::weighted(0.7), vec(work, 1..8), end, vec(fate(), 0..4)).prop_map(|(is_served, work, end, fates)| {
        Round {
            is_served,
            work,
            end,
            fates,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 300, ..ProptestConfig::default() })]
    #[test]
    fn what_is_opened_is_the_last_checkpoint_or_what_was_put_in_place(rounds in vec(round(), 1..5)) {
        let mut world = World::new();
        for round in &rounds {
            world.work(round);
            for fate in &round.fates {
                world.suffer(*fate);
            }
        }
        // Whole, and so from then on.
        drop(world.check(false));
        drop(world.check(false));
    }
}
