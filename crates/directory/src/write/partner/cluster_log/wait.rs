//! Reads that must not be old, alone in their group.

use std::time::Duration;

use ironbark_store::ClusterLogPlace;

use crate::{
    OperationError,
    backend::commit_log::{Closed, CommitLog, Turn},
    refusal::ClusterRefusal,
    write::partner::Ready,
};

/// How long a read that must be new waits for the watch before it asks again.
const STEP: Duration = Duration::from_millis(100);

/// A wait until the database has all that the log has. It needs no turn, and is not overtaken.
#[derive(Default)]
pub(super) struct Wait {
    /// The end of the log when it was first asked.
    wanted: Option<ClusterLogPlace>,
    /// Where the database was when the log was last asked.
    before: ClusterLogPlace,
}

impl Wait {
    /// Looks whether the database, which is at `place`, has all that the log had. If not, it asks the log, which also
    /// brings some of what is missing: the watch may be cut.
    pub(super) fn step(
        &mut self,
        log: &dyn CommitLog,
        place: ClusterLogPlace,
        left: &dyn Fn() -> Duration,
    ) -> Result<Ready, OperationError> {
        if let Some(end) = self.wanted {
            // A new database takes the number of the log first.
            let is_there = place.position.generation != 0 && place.position.sequence >= end.position.sequence;
            let is_other = place.position.generation != end.position.generation
                || place.position.sequence == end.position.sequence && place.chain != end.chain;
            if is_there && is_other {
                return Err(ClusterRefusal::Diverged.into());
            }
            if is_there {
                return Ok(Ready::Concluded);
            }
            if place == self.before {
                let left = left();
                match log.turn(place, left.min(STEP)) {
                    Turn::Behind | Turn::Mine => {}
                    Turn::Closed(Closed::Late | Closed::NotJoined) if left > STEP => {}
                    Turn::Closed(closed) => return Err(ClusterRefusal::from(closed).into()),
                }
            }
        }
        let end = log.end(left()).ok_or(ClusterRefusal::Late)?;
        if end.position.sequence < place.position.sequence {
            return Err(ClusterRefusal::Diverged.into());
        }
        self.wanted.get_or_insert(end);
        self.before = place;
        Ok(Ready::Behind)
    }
}
