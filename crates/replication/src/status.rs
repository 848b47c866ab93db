//! What a consumer is doing, for cn=Monitor, metrics and tools.

use std::sync::{Mutex, PoisonError};

use ironbark_directory::{SyncContent, SyncPlaces};
use ironbark_runtime::WallTime;

use crate::{
    SyncreplLine,
    told::{self, Told},
};

/// What a consumer is doing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Phase {
    /// There is no connection.
    Disconnected,
    /// The content is brought up to date.
    Refresh,
    /// Changes are followed.
    Persist,
}

/// What a consumer is doing, and what it has last done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConsumerStatus {
    /// `rid` of its line.
    pub rid: u16,
    /// Number of its line, which no other line of its database has.
    pub number: u16,
    /// Naming context of its database.
    pub suffix: String,
    /// URLs of its providers.
    pub providers: String,
    /// What it is doing.
    pub phase: Phase,
    /// Own address of the connection, as slapd names addresses, if there is one.
    pub connection: Option<String>,
    /// When it connects again, if it waits for that.
    pub next_connect: Option<WallTime>,
    /// When it last connected.
    pub last_connect: Option<WallTime>,
    /// When the last message of the provider came.
    pub last_contact: Option<WallTime>,
    /// The last cookie that it has sent.
    pub cookie_sent: String,
    /// The last cookie that the provider has sent.
    pub cookie_received: String,
    /// Why the last search failed, until a refresh is completed.
    pub last_error: Option<String>,
    /// How much of the provider's content comes, by the line and the last search. `None`: that is not known.
    pub content: Option<SyncContent>,
    /// Whether the provider tells places of entries, as its last search showed.
    pub places: SyncPlaces,
    /// Whether the last comparison with the provider found other entries although the vectors are equal; `None`: there
    /// was no comparison.
    pub diverged: Option<bool>,
    /// Searches that have failed.
    pub failures: u64,
    /// Refreshes of the content because the provider's log had a gap.
    pub fallbacks: u64,
    /// Refreshes that were completed.
    pub refreshes: u64,
    /// Entries that the provider has sent.
    pub entries: u64,
    /// Entries that it has named as gone, or that were deleted because it did not name them.
    pub deletes: u64,
}

impl ConsumerStatus {
    /// The `rid` in so many digits. If earlier lines of the database have the same one, it is followed by `-2` and so
    /// on.
    pub fn name(&self, digits: usize) -> String {
        let rid = self.rid;
        match self.number / 1000 {
            0 => format!("{rid:0digits$}"),
            twins => format!("{rid:0digits$}-{}", twins + 1),
        }
    }
}

/// The status of a consumer, which its session writes and others read.
#[derive(Debug)]
pub(crate) struct SharedStatus(Mutex<ConsumerStatus>);

impl SharedStatus {
    pub(crate) fn new(line: &SyncreplLine) -> Self {
        let places = Told::of(line).places(false, false);
        let providers: Vec<String> = line.connection.urls.iter().map(ToString::to_string).collect();
        Self(Mutex::new(ConsumerStatus {
            rid: line.rid,
            number: line.number,
            suffix: line.suffix.clone(),
            providers: providers.join(" "),
            phase: Phase::Disconnected,
            connection: None,
            next_connect: None,
            last_connect: None,
            last_contact: None,
            cookie_sent: String::new(),
            cookie_received: String::new(),
            last_error: None,
            content: told::content(line, places),
            places,
            diverged: None,
            failures: 0,
            fallbacks: 0,
            refreshes: 0,
            entries: 0,
            deletes: 0,
        }))
    }

    pub(crate) fn read(&self) -> ConsumerStatus {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut ConsumerStatus)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
