//! Conflicts among several writers that were decided here, for cn=Monitor and metrics: the last ones of each database,
//! and how many there were of each kind since the start.
//!
//! Only names, UUIDs and CSNs are kept. Nothing is paid for a message without a conflict.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ironbark_runtime::WallTime;
use ironbark_store::Csn;

use super::{directory::Directory, naming_context::NamingContext};
use crate::place::uuid_text;

/// Conflicts that are kept of each database.
const MOST_KEPT: usize = 256;

/// What was decided.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ConflictKind {
    /// Two entries of one name: the loser is gone.
    Name,
    /// The loser had the name of another entry, and has moved aside until its provider tells where it is.
    Aside,
    /// The loser was to move below one of its own subordinates, the winner, and stays where it was.
    Cycle,
    /// Two versions of one entry were made at the same time: the lesser one does not count.
    Version,
    /// Two logged changes of one entry were made at the same time: a part of the older one does not count.
    Values,
    /// An entry was changed and deleted at the same time: it is gone.
    Delete,
}

impl ConflictKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Name,
        Self::Aside,
        Self::Cycle,
        Self::Version,
        Self::Values,
        Self::Delete,
    ];

    /// The word for it in cn=Monitor and metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Aside => "aside",
            Self::Cycle => "cycle",
            Self::Version => "version",
            Self::Values => "values",
            Self::Delete => "delete",
        }
    }
}

/// One side of a conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ConflictSide {
    /// `entryUUID`. Zeros: the entry has none.
    pub uuid: [u8; 16],
    /// CSN of the version, the change or the delete; its server ID says where it was made. `None`: not known.
    pub csn: Option<Csn>,
}

impl ConflictSide {
    /// `entryUUID` as text; `None`: the entry has none.
    pub fn uuid_text(&self) -> Option<String> {
        (self.uuid != [0; 16]).then(|| uuid_text(self.uuid))
    }
}

/// A conflict and its outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// What was decided.
    pub kind: ConflictKind,
    /// Name of the entry, or the name that both wanted. Empty: not known.
    pub name: Box<str>,
    /// The name that the loser has got, or was to get.
    pub other_name: Option<Box<str>>,
    /// Who counts.
    pub winner: ConflictSide,
    /// Who does not.
    pub loser: ConflictSide,
}

/// A conflict that is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptConflict {
    /// Number among those of its database since the start, from 1.
    pub number: u64,
    /// When it was decided here.
    pub time: WallTime,
    /// ID of the server whose message led to it; 0: not known.
    pub via: u16,
    /// The conflict.
    pub conflict: Conflict,
}

/// The conflicts of a database since the start.
#[derive(Clone, Debug, Default)]
pub struct DatabaseConflicts {
    /// How many there were of each kind, in the order of [`ConflictKind::ALL`].
    counts: [u64; ConflictKind::ALL.len()],
    /// The last ones, the oldest first.
    pub last: VecDeque<KeptConflict>,
}

impl DatabaseConflicts {
    /// How many there were of each kind.
    pub fn counts(&self) -> impl Iterator<Item = (ConflictKind, u64)> {
        ConflictKind::ALL.into_iter().zip(self.counts)
    }

    /// Takes up a conflict. The same one may come again by another way, or with a refresh that was broken off.
    fn take(&mut self, conflict: Conflict, via: u16, time: WallTime) {
        if self.last.iter().any(|kept| kept.conflict == conflict) {
            return;
        }
        let mut counted = ConflictKind::ALL.iter().zip(&mut self.counts);
        if let Some((_, count)) = counted.find(|(kind, _)| **kind == conflict.kind) {
            *count += 1;
        }
        if self.last.len() >= MOST_KEPT {
            self.last.pop_front();
        }
        self.last.push_back(KeptConflict {
            number: self.counts.iter().sum(),
            time,
            via,
            conflict,
        });
    }
}

/// The conflicts of all databases, by their first suffixes.
#[derive(Default)]
pub(crate) struct Conflicts(Mutex<HashMap<Box<str>, DatabaseConflicts>>);

impl Conflicts {
    fn locked(&self) -> MutexGuard<'_, HashMap<Box<str>, DatabaseConflicts>> {
        // What a panic may leave behind is at most a count without its conflict.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Directory {
    /// The databases that take writes beside other servers, or have had a conflict, with their conflicts.
    pub fn replica_conflicts(&self) -> Vec<(Arc<NamingContext>, DatabaseConflicts)> {
        let configuration = self.configuration();
        let all = self.conflicts().locked();
        let of_database = |context: &Arc<NamingContext>| {
            let conflicts = all.get(context.suffixes().first()?.pretty());
            let is_shown = context.settings.multi_provider || conflicts.is_some();
            is_shown.then(|| (Arc::clone(context), conflicts.cloned().unwrap_or_default()))
        };
        configuration.contexts.iter().filter_map(of_database).collect()
    }

    /// Keeps conflicts that were decided in a transaction, after its commit.
    pub(crate) fn keep_conflicts(&self, suffix: &str, via: u16, conflicts: Vec<Conflict>) {
        if conflicts.is_empty() {
            return;
        }
        let now = self.clock().now();
        let mut all = self.conflicts().locked();
        let of_database = all.entry(suffix.into()).or_default();
        for conflict in conflicts {
            of_database.take(conflict, via, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conflict(kind: ConflictKind, number: u8) -> Conflict {
        let loser = ConflictSide {
            uuid: [number; 16],
            csn: None,
        };
        Conflict {
            kind,
            name: "cn=a".into(),
            other_name: None,
            winner: ConflictSide::default(),
            loser,
        }
    }

    #[test]
    fn the_last_ones_are_kept_and_all_are_counted_once() {
        let mut kept = DatabaseConflicts::default();
        let now = WallTime::from_unix_micros(1);
        for number in 0..=255 {
            kept.take(conflict(ConflictKind::Name, number), 3, now);
            kept.take(conflict(ConflictKind::Name, number), 4, now);
        }
        kept.take(conflict(ConflictKind::Delete, 7), 3, now);
        let counts: Vec<u64> = kept.counts().map(|(_, count)| count).collect();
        assert_eq!(counts, [256, 0, 0, 0, 0, 1]);
        assert_eq!(kept.last.len(), MOST_KEPT);
        let numbers = [kept.last.front(), kept.last.back()].map(|end| end.unwrap().number);
        assert_eq!(numbers, [2, 257]);
        assert!(kept.last.iter().all(|kept| kept.via == 3));
    }
}
