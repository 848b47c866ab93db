//! The followers of a database, on their own thread. They take its changes by number, in the order of the commits: with
//! the writes that made them, or from the log if they are behind.
//!
//! Invariants: a write is concluded after the followers of its database have taken it, or have failed to; where all of
//! them may be behind, when they are not further behind than that. The database stores the position of each follower.
//! It is written with a later commit of the writer (at the latest a second after the last one), and never runs ahead of
//! the follower's work. Rows behind that position stay in the log.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use ironbark_runtime::spawn_named;
use ironbark_store::{ChangeRecord, Database, StoreError, WriteTransaction};

use super::lag::Lag;
use crate::{
    Directory, NamingContext,
    backend::queue::{Outcome, Queued, Served},
    overlay::{Changes, Follower, Pipeline},
};

/// Groups of writes that wait for the followers; the writer waits when there are more.
const GROUPS: usize = 4;
/// Changes of the log that are handed to a follower together.
const BATCH: usize = 256;
/// Changes that are gathered for followers which may be behind.
const GATHERED: usize = 1_024;
/// How long the last positions wait for a commit.
const IDLE: Duration = Duration::from_secs(1);
/// When a follower that failed to take changes is asked again, if no new ones come.
const RETRY: Duration = Duration::from_secs(5);

/// The followers of one database, as its writer sees them.
#[derive(Default)]
pub(super) struct Followers {
    link: Option<Link>,
}

struct Link {
    /// `None` after the end.
    queue: Option<SyncSender<Group>>,
    lag: Arc<Lag>,
    thread: Option<JoinHandle<()>>,
    /// Changes that the followers have taken. The writer made them and frees them: on another thread, each block would
    /// cost the lock of the writer's part of the heap, for which both threads would wait.
    spent: Receiver<Vec<ChangeRecord>>,
    places: Arc<Places>,
    names: Vec<String>,
    /// The stored positions of the followers.
    kept: Vec<Option<u64>>,
    /// The same, in the transaction that is about to be committed.
    written: Vec<u64>,
    /// Number of the last change that was committed.
    last: u64,
}

/// Committed changes for the followers.
struct Group {
    records: Vec<ChangeRecord>,
    /// Writes that are concluded when the followers have taken the changes.
    ended: Vec<(Queued, Outcome)>,
}

/// The positions of the followers.
type Places = Mutex<Vec<Place>>;

#[derive(Clone)]
struct Place {
    /// Number of the last change that it has taken.
    sequence: u64,
    notes: Vec<u8>,
    /// Whether it failed to take the next one.
    is_stuck: bool,
    /// Whether it has not followed the database before: earlier changes, if any, are not known to it.
    is_new: bool,
}

fn lock(places: &Places) -> MutexGuard<'_, Vec<Place>> {
    // The content is always replaced as a whole.
    places.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Followers {
    /// The followers of a database. There are no writes to it meanwhile.
    pub(super) fn of(directory: &Arc<Directory>, served: &Served, database: &Arc<Database>) -> Self {
        match Link::start(directory, served, database) {
            Ok(link) => Self { link },
            Err(error) => {
                tracing::error!(target: "any", "following a database: {error}");
                Self::default()
            }
        }
    }

    /// How long the writer may wait for the next write.
    pub(super) fn patience(&self) -> Duration {
        match &self.link {
            Some(link) if link.is_unsaved() => IDLE,
            _ => Duration::MAX,
        }
    }

    /// Writes their positions.
    ///
    /// # Errors
    /// The storage failed.
    pub(super) fn put_places(&mut self, transaction: &mut WriteTransaction<'_>) -> Result<(), StoreError> {
        match &mut self.link {
            Some(link) => link.put_places(transaction),
            None => Ok(()),
        }
    }

    /// The transaction was committed; `last` is the number of its last change.
    pub(super) fn committed(&mut self, last: Option<u64>) {
        if let Some(link) = &mut self.link {
            link.kept = link.written.drain(..).map(Some).collect();
            link.last = last.unwrap_or(link.last);
        }
    }

    /// Concludes writes, once the followers have taken the committed changes.
    pub(super) fn conclude(&self, context: &Arc<NamingContext>, ended: Vec<(Queued, Outcome)>) {
        for (queued, outcome) in &ended {
            if let Outcome::Refused(error) = outcome {
                // Later writes of its sequence must not be executed before it is concluded.
                queued.task.refused(error);
            }
        }
        let left = match &self.link {
            Some(link) => link.hand_over(ended),
            None => ended,
        };
        for (queued, outcome) in left {
            queued.task.conclude(context, outcome);
        }
    }

    /// Writes their positions when there are no other writes.
    pub(super) fn keep(&mut self, database: &Database) {
        let Some(link) = &mut self.link else { return };
        link.free_spent();
        if !link.is_changed() {
            return;
        }
        let kept = database.write().and_then(|mut transaction| {
            link.put_places(&mut transaction)?;
            transaction.commit()
        });
        match kept {
            Ok(()) => link.kept = link.written.drain(..).map(Some).collect(),
            Err(error) => tracing::error!(target: "any", "writing how far followers are: {error}"),
        }
    }

    /// Rows of the log from this number on are still needed. Stuck followers do not count: they must not fill the disk.
    pub(super) fn keep_from(&self) -> u64 {
        let Some(link) = &self.link else { return u64::MAX };
        let places = lock(&link.places);
        let needed = places.iter().zip(&link.kept).filter(|(place, _)| !place.is_stuck);
        needed.map(|(_, kept)| kept.unwrap_or(0) + 1).min().unwrap_or(u64::MAX)
    }

    /// Number of the last change that all stuck followers have taken.
    pub(super) fn stuck_behind(&self) -> Option<u64> {
        let places = lock(&self.link.as_ref()?.places);
        let stuck = places.iter().filter(|place| place.is_stuck);
        stuck.map(|place| place.sequence).min()
    }

    /// Waits until they have taken all changes, and ends.
    pub(super) fn end(mut self, database: &Database) {
        let Some(link) = &mut self.link else { return };
        // Without its queue the thread ends.
        drop(link.queue.take());
        if let Some(thread) = link.thread.take() {
            // A thread that panicked has reported it.
            let _ = thread.join();
        }
        self.keep(database);
    }
}

impl Link {
    /// Reads the positions of the followers, and starts their thread. `None`: there are none.
    fn start(
        directory: &Arc<Directory>,
        served: &Served,
        database: &Arc<Database>,
    ) -> Result<Option<Self>, StoreError> {
        let followers = served.context.overlays().followers.clone();
        let names = names_of(&followers);
        database.keep_followers(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
        if followers.is_empty() {
            return Ok(None);
        }
        let snapshot = database.snapshot()?;
        let view = snapshot.view();
        let last = view.log_state()?.last;
        let (mut places, mut kept) = (Vec::new(), Vec::new());
        for (follower, name) in followers.iter().zip(&names) {
            let known = view.follower(name)?;
            kept.push(known.as_ref().map(|(sequence, _)| *sequence));
            let is_new = known.is_none();
            // A new follower begins here.
            let (sequence, notes) = known.unwrap_or_else(|| (last, follower.begin()));
            places.push(Place {
                sequence,
                notes,
                is_stuck: false,
                is_new,
            });
        }
        drop(snapshot);
        let places = Arc::new(Mutex::new(places));
        let most = followers.iter().map(|follower| follower.lag()).min();
        let lag = Arc::new(Lag::new(directory, most.unwrap_or_default()));
        let (queue, groups) = sync_channel(if lag.is_allowed() { GATHERED } else { GROUPS });
        let (back, spent) = channel();
        let work = Work {
            directory: Arc::clone(directory),
            database: Arc::clone(database),
            context: Arc::clone(&served.context),
            followers,
            places: Arc::clone(&places),
            lag: Arc::clone(&lag),
            back,
        };
        let thread = spawn_named("followers", move || work.run(&groups))
            .map_err(|error| StoreError::Format(format!("starting a thread: {error}")))?;
        Ok(Some(Self {
            queue: Some(queue),
            lag,
            thread: Some(thread),
            spent,
            places,
            names,
            kept,
            written: Vec::new(),
            last,
        }))
    }

    /// Hands writes to the thread, and returns those that are to be concluded now.
    fn hand_over(&self, mut ended: Vec<(Queued, Outcome)>) -> Vec<(Queued, Outcome)> {
        self.free_spent();
        let Some(queue) = &self.queue else { return ended };
        let records: Vec<ChangeRecord> = ended
            .iter_mut()
            .filter_map(|(_, outcome)| taken_from(outcome))
            .collect();
        if !self.lag.is_allowed() {
            let sent = queue.send(Group { records, ended });
            // The thread has failed, and has reported it.
            return sent.map_or_else(|error| error.0.ended, |()| Vec::new());
        }
        if !records.is_empty() {
            self.lag.handed(records.iter().map(ChangeRecord::octets).sum());
            let group = Group {
                records,
                ended: Vec::new(),
            };
            if queue.send(group).is_ok() {
                let is_running = || self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
                self.lag.wait(is_running);
            }
        }
        ended
    }

    fn put_places(&mut self, transaction: &mut WriteTransaction<'_>) -> Result<(), StoreError> {
        let places = lock(&self.places).clone();
        self.written = places.iter().map(|place| place.sequence).collect();
        for ((place, name), kept) in places.iter().zip(&self.names).zip(&self.kept) {
            if *kept != Some(place.sequence) {
                transaction.put_follower(name, place.sequence, &place.notes)?;
            }
        }
        Ok(())
    }

    fn free_spent(&self) {
        self.spent.try_iter().for_each(drop);
    }

    /// Whether a follower is ahead of its stored position.
    fn is_changed(&self) -> bool {
        let places = lock(&self.places);
        let mut pairs = places.iter().zip(&self.kept);
        pairs.any(|(place, kept)| *kept != Some(place.sequence))
    }

    /// Whether one is, or will be soon.
    fn is_unsaved(&self) -> bool {
        self.kept.iter().any(|kept| *kept != Some(self.last))
    }
}

/// A name for each; a repeated name gets a number.
fn names_of(followers: &[Arc<dyn Follower>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for follower in followers {
        let name = follower.name();
        let again = names
            .iter()
            .filter(|known| **known == name || known.starts_with(&format!("{name} #")))
            .count();
        names.push(if again == 0 {
            name
        } else {
            format!("{name} #{}", again + 1)
        });
    }
    names
}

/// The work of the thread.
struct Work {
    directory: Arc<Directory>,
    database: Arc<Database>,
    context: Arc<NamingContext>,
    followers: Vec<Arc<dyn Follower>>,
    places: Arc<Places>,
    lag: Arc<Lag>,
    /// See [`Link::spent`].
    back: Sender<Vec<ChangeRecord>>,
}

impl Work {
    fn run(&self, groups: &Receiver<Group>) {
        for (number, follower) in self.followers.iter().enumerate() {
            self.resume(number, &**follower);
        }
        self.catch_up();
        loop {
            let is_stuck = lock(&self.places).iter().any(|place| place.is_stuck);
            let received = if is_stuck {
                groups.recv_timeout(RETRY)
            } else {
                groups.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match received {
                Ok(Group { mut records, ended }) => {
                    let count = self.gather(&mut records, groups);
                    self.follow(records);
                    self.lag.taken(count);
                    for (queued, outcome) in ended {
                        queued.task.conclude(&self.context, outcome);
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.catch_up(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Asks a follower how far it is ahead of its stored position.
    fn resume(&self, number: usize, follower: &dyn Follower) {
        while let Some((place, records)) = self.next_rows(number, follower) {
            let taken = follower.resume(&place.notes, self.changes(&records));
            let taken = taken.unwrap_or_else(|error| {
                tracing::error!(target: "any", "{}: how far it was cannot be found out: {error}", follower.name());
                0
            });
            let Some(last) = taken.checked_sub(1).and_then(|last| records.get(last)) else {
                return;
            };
            let sequence = last.position.sequence;
            self.set(number, Place { sequence, ..place });
            if taken < records.len() {
                return;
            }
        }
    }

    /// Hands all new rows to all followers.
    fn catch_up(&self) {
        for (number, follower) in self.followers.iter().enumerate() {
            while self.hand_over(number, &**follower) {}
        }
    }

    /// Waits for the changes of further groups, where followers may be behind: a commit of many changes costs each of
    /// them less. Returns the number of groups.
    fn gather(&self, records: &mut Vec<ChangeRecord>, groups: &Receiver<Group>) -> usize {
        let mut count = 1;
        if !self.lag.is_allowed() {
            return count;
        }
        let begin = self.lag.now();
        while records.len() < GATHERED
            && let Ok(more) = groups.recv_timeout(self.lag.gathering(begin))
        {
            records.extend(more.records);
            count += 1;
        }
        count
    }

    /// Hands changes to all followers. Those who are behind get them from the log.
    fn follow(&self, records: Vec<ChangeRecord>) {
        if records.is_empty() {
            return;
        }
        for (number, follower) in self.followers.iter().enumerate() {
            let Some(place) = self.place(number) else { continue };
            if !place.is_new && is_next(&records, place.sequence) {
                self.give(number, &**follower, place, &records);
            } else {
                while self.hand_over(number, &**follower) {}
            }
        }
        // At the end the writer no longer takes them.
        let _ = self.back.send(records);
    }

    /// Hands the next rows of the log to a follower; `false`: there are none, or it failed to take them.
    fn hand_over(&self, number: usize, follower: &dyn Follower) -> bool {
        match self.next_rows(number, follower) {
            Some((place, records)) => self.give(number, follower, place, &records),
            None => false,
        }
    }

    /// The place of a follower, and the rows behind it. If there were other changes between, it hears of that first.
    /// `None`: it could not.
    fn next_rows(&self, number: usize, follower: &dyn Follower) -> Option<(Place, Vec<ChangeRecord>)> {
        let place = self.place(number)?;
        let (records, last) = match self.rows_behind(place.sequence) {
            Ok(rows) => rows,
            Err(error) => {
                self.tell(follower, &error);
                return None;
            }
        };
        let next = records.first().map_or(last + 1, |record| record.position.sequence);
        if !place.is_new && next <= place.sequence + 1 {
            return Some((place, records));
        }
        if let Err(error) = follower.missed(self.changes(&[])) {
            self.get_stuck(number, follower, place, &error);
            return None;
        }
        let place = Place {
            sequence: place.sequence.max(next - 1),
            is_new: false,
            ..place
        };
        self.set(number, place.clone());
        Some((place, records))
    }

    /// Gives the next changes to a follower, which is at `place`; `false`: there are none, or it failed to take them.
    fn give(&self, number: usize, follower: &dyn Follower, place: Place, records: &[ChangeRecord]) -> bool {
        let Some(last) = records.last().map(|record| record.position.sequence) else {
            return false;
        };
        match follower.take(self.changes(records)) {
            Ok(notes) => {
                let next = Place {
                    sequence: last,
                    notes,
                    is_stuck: false,
                    is_new: false,
                };
                self.set(number, next);
                true
            }
            Err(error) => {
                self.get_stuck(number, follower, place, &error);
                false
            }
        }
    }

    fn get_stuck(&self, number: usize, follower: &dyn Follower, place: Place, error: &std::io::Error) {
        if !place.is_stuck {
            tracing::error!(
                target: "any",
                "{}: {error}; changes are kept for it, up to the size of the log, and it is asked again",
                follower.name()
            );
        }
        let is_stuck = true;
        self.set(number, Place { is_stuck, ..place });
    }

    /// The next rows, and the number of the last change; the snapshot is released before they are handed over.
    fn rows_behind(&self, sequence: u64) -> Result<(Vec<ChangeRecord>, u64), StoreError> {
        let snapshot = self.database.snapshot()?;
        let view = snapshot.view();
        let records: Result<_, _> = view.changes(sequence + 1)?.take(BATCH).collect();
        Ok((records?, view.log_state()?.last))
    }

    fn changes<'r>(&'r self, records: &'r [ChangeRecord]) -> Changes<'r> {
        Changes {
            directory: &self.directory,
            suffix: suffix_of(&self.context),
            records,
        }
    }

    fn place(&self, number: usize) -> Option<Place> {
        lock(&self.places).get(number).cloned()
    }

    fn set(&self, number: usize, place: Place) {
        if let Some(known) = lock(&self.places).get_mut(number) {
            *known = place;
        }
    }

    fn tell(&self, follower: &dyn Follower, error: &StoreError) {
        let suffix = suffix_of(&self.context);
        tracing::error!(target: "any", "{suffix}: reading the log of changes for {}: {error}", follower.name());
    }
}

/// Takes the change out of a write that made one. Its position stays: it says later whether there was a change.
fn taken_from(outcome: &mut Outcome) -> Option<ChangeRecord> {
    let Outcome::Done(_, executed) = outcome else {
        return None;
    };
    // A bind may have nothing to record.
    let position = executed.record.position;
    let rest = ChangeRecord {
        position,
        ..ChangeRecord::default()
    };
    (position.sequence != 0).then(|| std::mem::replace(&mut executed.record, rest))
}

/// Whether these are the changes behind number `sequence`, without gaps.
fn is_next(records: &[ChangeRecord], sequence: u64) -> bool {
    let numbers = records.iter().map(|record| record.position.sequence);
    numbers.zip(sequence + 1..).all(|(number, next)| number == next)
}

fn suffix_of(context: &NamingContext) -> &str {
    context.suffixes().first().map_or("", |suffix| suffix.pretty())
}

/// Hands changes to the followers of a database without a log: one with entries in memory, or with none. A follower
/// that fails to take them loses them.
pub(crate) fn tell(directory: &Arc<Directory>, context: &NamingContext, records: &[ChangeRecord]) {
    let is_empty =
        |record: &ChangeRecord| record.effects.is_empty() && record.requested.is_empty() && record.cookie.is_empty();
    if records.iter().all(is_empty) {
        return;
    }
    let changes = Changes {
        directory,
        suffix: suffix_of(context),
        records,
    };
    for follower in &context.overlays().followers {
        if let Err(error) = follower.take(changes) {
            tracing::error!(target: "any", "{}: {error}; a change is not in it", follower.name());
        }
    }
}

/// Announces changes to the followers of such a database.
pub(crate) fn announce(directory: &Arc<Directory>, context: &NamingContext, records: &[ChangeRecord]) {
    let changes = Changes {
        directory,
        suffix: suffix_of(context),
        records,
    };
    for follower in &context.overlays().followers {
        if let Err(error) = follower.announce(changes) {
            tracing::error!(target: "any", "{}: {error}; a change cannot be announced", follower.name());
        }
    }
}

/// Tells the followers of such a database that they follow it, but for those of `former`, who do already.
pub(super) fn open(directory: &Arc<Directory>, context: &NamingContext, former: &Pipeline) {
    let changes = Changes {
        directory,
        suffix: suffix_of(context),
        records: &[],
    };
    for follower in context.overlays().followers_beside(former) {
        if let Err(error) = follower.open(changes) {
            tracing::error!(target: "any", "{}: {error}", follower.name());
        }
    }
}
