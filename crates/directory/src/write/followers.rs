//! The followers of a database, on their own thread. They take its changes by number, in the order of the commits: with
//! the writes that made them, or from the log if they are behind.
//!
//! Invariants: a write is concluded after the followers of its database have taken it, or have failed to; where all of
//! them may be behind, when they are not further behind than that. The database stores the position of each follower.
//! It is written with a later commit of the writer (at the latest a second after the last one), and never runs ahead of
//! the follower's work. Rows behind that position stay in the log.
//!
//! A follower that works apart has a thread of its own, which reads the log. Nothing waits for it, and rows that it has
//! not taken stay up to the size of the log.

mod work;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use ironbark_runtime::spawn_named;
use ironbark_store::{ChangeRecord, Database, StoreError, WriteTransaction};

use self::work::Work;
use super::lag::Lag;
use crate::{
    Directory, NamingContext,
    backend::queue::{Outcome, Queued, Served},
    overlay::{Changes, Follower, Pipeline, overlays_of},
};

/// Groups of writes that wait for the followers; the writer waits when there are more.
const GROUPS: usize = 4;
/// Changes of the log that are handed to a follower together.
const BATCH: usize = 256;
/// Changes that are gathered for followers which may be behind.
const GATHERED: usize = 1_024;
/// How long the last positions wait for a commit.
const IDLE: Duration = Duration::from_secs(1);
/// How long the end waits for a follower that works apart.
const LAST_WORK: Duration = Duration::from_secs(5);
/// When a follower that failed to take changes is asked again, if no new ones come.
const RETRY: Duration = Duration::from_secs(5);

/// The followers of one database, as its writer sees them.
#[derive(Default)]
pub(super) struct Followers {
    /// The thread of those that writes wait for, and those of the ones that work apart.
    links: Vec<Link>,
}

struct Link {
    /// `None` after the end.
    queue: Option<SyncSender<Group>>,
    lag: Arc<Lag>,
    thread: Option<JoinHandle<()>>,
    /// For a follower that works apart: tells it to end, and tells that it has ended.
    apart: Option<(Arc<AtomicBool>, Receiver<()>)>,
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

/// A follower, and the name under which its position is stored.
type Named = (Arc<dyn Follower>, String);

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
        match Link::start_all(directory, served, database) {
            Ok(links) => Self { links },
            Err(error) => {
                tracing::error!(target: "any", "following a database: {error}");
                Self::default()
            }
        }
    }

    /// How long the writer may wait for the next write.
    pub(super) fn patience(&self) -> Duration {
        if self.links.iter().any(Link::is_unsaved) {
            IDLE
        } else {
            Duration::MAX
        }
    }

    /// Writes their positions.
    ///
    /// # Errors
    /// The storage failed.
    pub(super) fn put_places(&mut self, transaction: &mut WriteTransaction<'_>) -> Result<(), StoreError> {
        self.links.iter_mut().try_for_each(|link| link.put_places(transaction))
    }

    /// The transaction was committed; `last` is the number of its last change.
    pub(super) fn committed(&mut self, last: Option<u64>) {
        for link in &mut self.links {
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
        let mut left = ended;
        for link in &self.links {
            if link.apart.is_some() {
                link.wake();
            } else {
                left = link.hand_over(left);
            }
        }
        for (queued, outcome) in left {
            queued.task.conclude(context, outcome);
        }
    }

    /// Writes their positions when there are no other writes.
    pub(super) fn keep(&mut self, database: &Database) {
        self.links.iter().for_each(Link::free_spent);
        if !self.links.iter().any(Link::is_changed) {
            return;
        }
        let kept = database.write().and_then(|mut transaction| {
            self.put_places(&mut transaction)?;
            transaction.commit()
        });
        match kept {
            Ok(()) => self.committed(None),
            Err(error) => tracing::error!(target: "any", "writing how far followers are: {error}"),
        }
    }

    /// Rows of the log from this number on are still needed. Stuck followers do not count, and neither do those that
    /// work apart: they must not fill the disk.
    pub(super) fn keep_from(&self) -> u64 {
        let waited_for = self.links.iter().filter(|link| link.apart.is_none());
        waited_for.map(Link::keep_from).min().unwrap_or(u64::MAX)
    }

    /// Number of the last change that has been taken by all followers which may lose changes.
    pub(super) fn stuck_behind(&self) -> Option<u64> {
        self.links.iter().filter_map(Link::stuck_behind).min()
    }

    /// Waits until they have taken all changes, and ends. A follower that works apart only ends its present change.
    pub(super) fn end(mut self, database: &Database) {
        self.links.iter_mut().for_each(Link::tell_end);
        self.links.iter_mut().for_each(Link::end);
        self.keep(database);
    }
}

impl Link {
    /// Reads the positions of the followers, and starts their threads.
    fn start_all(
        directory: &Arc<Directory>,
        served: &Served,
        database: &Arc<Database>,
    ) -> Result<Vec<Self>, StoreError> {
        let followers = &overlays_of(&served.context).followers;
        let names = names_of(followers);
        database.keep_followers(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
        let all = followers.iter().cloned().zip(names);
        let (apart, waited_for): (Vec<_>, Vec<_>) = all.partition(|(follower, _)| follower.works_apart());
        let groups = std::iter::once((waited_for, false)).chain(apart.into_iter().map(|one| (vec![one], true)));
        groups
            .filter(|(followers, _)| !followers.is_empty())
            .map(|(followers, is_apart)| Self::start(directory, served, database, followers, is_apart))
            .collect()
    }

    fn start(
        directory: &Arc<Directory>,
        served: &Served,
        database: &Arc<Database>,
        followers: Vec<Named>,
        is_apart: bool,
    ) -> Result<Self, StoreError> {
        let (followers, names): (Vec<_>, Vec<_>) = followers.into_iter().unzip();
        let snapshot = database.snapshot()?;
        let view = snapshot.view();
        let last = view.log_state()?.last;
        let begun = view.context_vector()?.unwrap_or_default();
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
        let length = match lag.is_allowed() {
            _ if is_apart => 1,
            true => GATHERED,
            false => GROUPS,
        };
        let (queue, groups) = sync_channel(length);
        let ((back, spent), (ending, ended)) = (channel(), channel());
        let ends = Arc::new(AtomicBool::new(false));
        let work = Work {
            directory: Arc::clone(directory),
            database: Arc::clone(database),
            context: Arc::clone(&served.context),
            followers,
            places: Arc::clone(&places),
            lag: Arc::clone(&lag),
            back,
            is_apart,
            ends: Arc::clone(&ends),
            begun,
        };
        let run = move || {
            // The receiver notices when this is dropped.
            let _ending: Sender<()> = ending;
            work.run(&groups);
        };
        let thread =
            spawn_named("followers", run).map_err(|error| StoreError::Format(format!("starting a thread: {error}")))?;
        Ok(Self {
            queue: Some(queue),
            lag,
            thread: Some(thread),
            apart: is_apart.then_some((ends, ended)),
            spent,
            places,
            names,
            kept,
            written: Vec::new(),
            last,
        })
    }

    /// Lets a follower that works apart look for changes.
    fn wake(&self) {
        if let Some(queue) = &self.queue {
            let group = Group {
                records: Vec::new(),
                ended: Vec::new(),
            };
            // If the queue is full, it is about to look anyway.
            let _ = queue.try_send(group);
        }
    }

    /// Its queue ends, and so will the thread.
    fn tell_end(&mut self) {
        if let Some((ends, _)) = &self.apart {
            ends.store(true, Ordering::Relaxed);
        }
        drop(self.queue.take());
    }

    fn end(&mut self) {
        if let Some((_, ended)) = &self.apart
            && ended.recv_timeout(LAST_WORK) == Err(RecvTimeoutError::Timeout)
        {
            let name = self.names.join(", ");
            tracing::warn!(target: "any", "{name}: it is still busy; its present change is delivered to it again later");
            return;
        }
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has reported it.
            let _ = thread.join();
        }
    }

    fn keep_from(&self) -> u64 {
        let places = lock(&self.places);
        let needed = places.iter().zip(&self.kept).filter(|(place, _)| !place.is_stuck);
        needed.map(|(_, kept)| kept.unwrap_or(0) + 1).min().unwrap_or(u64::MAX)
    }

    fn stuck_behind(&self) -> Option<u64> {
        let places = lock(&self.places);
        let may_lose = places.iter().filter(|place| place.is_stuck || self.apart.is_some());
        may_lose.map(|place| place.sequence).min()
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

fn suffix_of(context: &NamingContext) -> &str {
    context.suffixes().first().map_or("", |suffix| suffix.pretty())
}

/// The followers of a database without a log.
fn prompt(context: &NamingContext) -> impl Iterator<Item = &Arc<dyn Follower>> {
    let followers = overlays_of(context).followers.iter();
    followers.filter(|follower| !follower.works_apart())
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
        begun: None,
    };
    for follower in prompt(context) {
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
        begun: None,
    };
    for follower in prompt(context) {
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
        begun: None,
    };
    for follower in overlays_of(context).followers_beside(former) {
        if let Err(error) = follower.open(changes) {
            tracing::error!(target: "any", "{}: {error}", follower.name());
        }
    }
}
