//! Consumers that stay (RFC 4533, refreshAndPersist), for cn=Monitor and metrics: who they are, and how far they are.
//!
//! A search writes its own figures at the end of each slice, and no other thread writes them. So a session costs a few
//! stores for each slice, and nothing for each change. The list is locked when a session begins and ends, and by
//! readers.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed},
};

use ironbark_model::number_map::NumberMap;
use ironbark_runtime::WallTime;
use ironbark_store::StoreError;

use super::{directory::Directory, feed::Feed};
use crate::told::{SyncContent, SyncPlaces};

/// A consumer that follows a database of this server.
#[derive(Clone, Debug)]
pub struct SyncSession {
    /// Who it is.
    pub consumer: SyncConsumer,
    /// When it began.
    pub started: WallTime,
    /// When it last took something, or found that there was nothing.
    pub active: WallTime,
    /// Whether its refresh is complete.
    pub persists: bool,
    /// Entries that it was sent, refresh and changes together.
    pub entries: u64,
    /// Those of them that had been encoded for another consumer.
    pub shared: u64,
    /// How much of the content it gets, and whether it is told places. `None`: that is not known yet, or it follows a
    /// tree in memory.
    pub told: Option<(SyncContent, SyncPlaces)>,
    /// Its place in the log of each database of the content. Empty during the refresh, and for trees in memory, which
    /// have no log.
    pub places: Vec<SyncPlace>,
    /// Age in microseconds of the oldest change that it was not sent yet. `None`: it was sent all of them, or the log
    /// cannot be read.
    pub oldest_micros: Option<u64>,
}

/// Who follows what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyncConsumer {
    /// `conn=` of the log.
    pub connection: u64,
    /// `op=` of the log.
    pub operation: u64,
    /// `IP=127.0.0.1:12345`, as slapd's log prints it.
    pub peer: Box<str>,
    /// Authorization DN; empty for anonymous.
    pub identity: Box<str>,
    /// First suffix of the database.
    pub suffix: Box<str>,
    /// Base of the search.
    pub base: Box<str>,
    /// `rid` of its cookie.
    pub rid: u16,
    /// Server ID of its cookie; 0: none.
    pub sid: u16,
}

/// The place in the log of a database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyncPlace {
    /// First suffix of the database.
    pub suffix: Box<str>,
    /// Number of the last change that was considered.
    pub position: u64,
    /// Changes behind it.
    pub behind: u64,
}

impl SyncSession {
    /// Changes that it was not sent yet, in all logs.
    pub fn behind(&self) -> u64 {
        self.places.iter().map(|place| place.behind).sum()
    }
}

/// All sessions, by numbers of their own.
#[derive(Default)]
pub(crate) struct SyncSessions {
    next: AtomicU64,
    all: Mutex<NumberMap<Arc<Figures>>>,
}

/// The figures of a session, which its search writes.
struct Figures {
    consumer: SyncConsumer,
    started: WallTime,
    active_micros: AtomicI64,
    persists: AtomicBool,
    entries: AtomicU64,
    shared: AtomicU64,
    told: Mutex<Option<(SyncContent, SyncPlaces)>>,
    places: OnceLock<Vec<Place>>,
}

/// A place in a log, as its search writes it.
pub(crate) struct Place {
    pub(crate) suffix: Box<str>,
    pub(crate) feed: Arc<Feed>,
    pub(crate) position: Arc<AtomicU64>,
}

/// The session of a search. Dropping it ends the session.
pub(crate) struct OwnSession {
    number: u64,
    sessions: Arc<SyncSessions>,
    figures: Arc<Figures>,
    /// What the search had sent when the session was last told of it.
    sent: u32,
    /// What it was last told of the extent: it hardly ever changes.
    told: Option<(SyncContent, SyncPlaces)>,
    /// Entries that were shared since.
    pub(crate) shared: u64,
}

impl SyncSessions {
    /// Begins a session.
    pub(crate) fn begin(self: &Arc<Self>, consumer: SyncConsumer, now: WallTime) -> OwnSession {
        let number = self.next.fetch_add(1, Relaxed);
        let figures = Arc::new(Figures {
            consumer,
            started: now,
            active_micros: AtomicI64::new(now.unix_micros()),
            persists: AtomicBool::new(false),
            entries: AtomicU64::new(0),
            shared: AtomicU64::new(0),
            told: Mutex::new(None),
            places: OnceLock::new(),
        });
        self.locked().insert(number, Arc::clone(&figures));
        OwnSession {
            number,
            sessions: Arc::clone(self),
            figures,
            sent: 0,
            told: None,
            shared: 0,
        }
    }

    fn locked(&self) -> MutexGuard<'_, NumberMap<Arc<Figures>>> {
        // What a panic may leave behind is at most an ended session.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OwnSession {
    /// Tells how far the search is; `sent` is what it has sent in all.
    pub(crate) fn tell(&mut self, persists: bool, sent: u32, now: WallTime) {
        let figures = &self.figures;
        let more = u64::from(sent.wrapping_sub(self.sent));
        figures.entries.store(figures.entries.load(Relaxed) + more, Relaxed);
        self.sent = sent;
        let shared = std::mem::take(&mut self.shared);
        figures.shared.store(figures.shared.load(Relaxed) + shared, Relaxed);
        figures.persists.store(persists, Relaxed);
        figures.active_micros.store(now.unix_micros(), Relaxed);
    }

    /// Tells how much the consumer gets.
    pub(crate) fn tell_extent(&mut self, told: Option<(SyncContent, SyncPlaces)>) {
        if self.told != told {
            self.told = told;
            *self.figures.told.lock().unwrap_or_else(PoisonError::into_inner) = told;
        }
    }

    /// The refresh is complete, and the search follows these logs.
    pub(crate) fn follow(&self, places: Vec<Place>) {
        // It does so once.
        let _ = self.figures.places.set(places);
    }
}

impl Drop for OwnSession {
    fn drop(&mut self) {
        self.sessions.locked().remove(&self.number);
    }
}

impl Figures {
    fn read(&self) -> SyncSession {
        let places = self.places.get().into_iter().flatten().map(|place| {
            let position = place.position.load(Relaxed);
            SyncPlace {
                suffix: place.suffix.clone(),
                position,
                behind: place.feed.last().saturating_sub(position),
            }
        });
        SyncSession {
            consumer: self.consumer.clone(),
            started: self.started,
            active: WallTime::from_unix_micros(self.active_micros.load(Relaxed)),
            persists: self.persists.load(Relaxed),
            entries: self.entries.load(Relaxed),
            shared: self.shared.load(Relaxed),
            told: *self.told.lock().unwrap_or_else(PoisonError::into_inner),
            places: places.collect(),
            oldest_micros: None,
        }
    }
}

impl Directory {
    /// The consumers that follow databases of this server, in the order of their connections.
    pub fn sync_sessions(&self) -> Vec<SyncSession> {
        let all: Vec<Arc<Figures>> = self.sessions().locked().values().cloned().collect();
        let mut sessions: Vec<SyncSession> = all.iter().map(|figures| figures.read()).collect();
        for session in sessions.iter_mut().filter(|session| session.behind() > 0) {
            // A log that cannot be read is told of elsewhere.
            session.oldest_micros = self.oldest_change(session).unwrap_or_default();
        }
        sessions.sort_by_key(|session| (session.consumer.connection, session.consumer.operation));
        sessions
    }

    /// Age of the oldest change that a consumer was not sent yet, in microseconds.
    fn oldest_change(&self, session: &SyncSession) -> Result<Option<u64>, StoreError> {
        let configuration = self.configuration();
        let now = self.clock().now().unix_micros();
        let mut oldest = None;
        for place in session.places.iter().filter(|place| place.behind > 0) {
            let mut contexts = configuration.contexts.iter();
            let is_its = |suffix: &ironbark_model::Dn| suffix.pretty() == &*place.suffix;
            let context = contexts.find(|context| context.suffixes().first().is_some_and(is_its));
            let Some(database) = context.and_then(|context| context.database()) else {
                continue;
            };
            let snapshot = database.snapshot()?;
            // If the log has been trimmed, the oldest one that it has is younger.
            if let Some(record) = snapshot.view().changes(place.position + 1)?.next() {
                let age = now.saturating_sub(record?.unix_micros).max(0).unsigned_abs();
                oldest = oldest.max(Some(age));
            }
        }
        Ok(oldest)
    }
}
