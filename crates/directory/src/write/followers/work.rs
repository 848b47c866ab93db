//! The work of the threads of followers: they hand changes over, with the writes that made them or from the log.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
    mpsc::{Receiver, RecvTimeoutError, Sender},
};

use ironbark_store::{ChangeRecord, ContextVector, Database, StoreError};

use super::{BATCH, GATHERED, Group, Lag, Place, Places, RETRY, lock, suffix_of};
use crate::{
    Directory, NamingContext,
    overlay::{Changes, Follower},
};

/// The work of a thread.
pub(super) struct Work {
    pub(super) directory: Arc<Directory>,
    pub(super) database: Arc<Database>,
    pub(super) context: Arc<NamingContext>,
    pub(super) followers: Vec<Arc<dyn Follower>>,
    pub(super) places: Arc<Places>,
    pub(super) lag: Arc<Lag>,
    /// See [`Link::spent`].
    pub(super) back: Sender<Vec<ChangeRecord>>,
    /// See [`Follower::works_apart`]: there is one follower, which gets each change alone, from the log.
    pub(super) is_apart: bool,
    /// It is to end before the next change.
    pub(super) ends: Arc<AtomicBool>,
    /// The context vector when the followers began.
    pub(super) begun: ContextVector,
}

impl Work {
    pub(super) fn run(&self, groups: &Receiver<Group>) {
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
                Ok(_) if self.is_apart => self.catch_up(),
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
        let Some((place, records)) = self.next_rows(number, follower) else {
            return false;
        };
        if !self.is_apart {
            return self.give(number, follower, place, &records);
        }
        let give = |record| {
            let place = self.place(number).filter(|_| !self.ends.load(Ordering::Relaxed));
            place.is_some_and(|place| self.give(number, follower, place, std::slice::from_ref(record)))
        };
        !records.is_empty() && records.iter().all(give)
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
        // A new follower gets every change since it began. It lacks only what the vector of that moment covers.
        let begun = Some(&self.begun).filter(|_| next <= place.sequence + 1);
        let none = Changes {
            begun,
            ..self.changes(&[])
        };
        if let Err(error) = follower.missed(none) {
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
            begun: Some(&self.begun),
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

/// Whether these are the changes behind number `sequence`, without gaps.
fn is_next(records: &[ChangeRecord], sequence: u64) -> bool {
    let numbers = records.iter().map(|record| record.position.sequence);
    numbers.zip(sequence + 1..).all(|(number, next)| number == next)
}
