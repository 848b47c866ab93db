//! Executes a group of writes in one transaction, and commits it once.
//!
//! No effect of a refused operation is ever committed. A write is executed at most twice, whatever is refused after it:
//! a refusal that must undo an effect ends its group there. So does a write after which the group has taken long.

use std::sync::Arc;

use ironbark_store::{LogMode, WriteTransaction};

use super::{
    catch_up::catch_up,
    partner::{NotKept, Ready, all::Partners},
    site::Site,
};
use crate::{
    NamingContext, OperationError,
    backend::{
        queue::{Outcome, Queued, WriteTask},
        turns::GROUP_MICROS,
        written::{Executed, Refusal, Success},
    },
};

/// What has become of a group.
enum Committed {
    /// The outcomes of its first writes, one at least.
    Ended(Vec<Outcome>),
    /// Nothing is committed: a partner has other changes, behind which the group must be executed again.
    Overtaken,
}

/// Commits the first writes of a group, when the partners let it. Returns their outcomes: at least one.
pub(super) fn commit_first(site: &mut Site, group: &[Queued]) -> Vec<Outcome> {
    site.partners.open(group);
    let outcomes = commit_when_ready(site, group);
    site.partners.close();
    outcomes
}

fn commit_when_ready(site: &mut Site, group: &[Queued]) -> Vec<Outcome> {
    loop {
        match catch_up(site).and_then(|()| site.partners.ready(group)) {
            Ok(Ready::Now) => {}
            Ok(Ready::Behind) => continue,
            Ok(Ready::Concluded) => {
                let done = |_| Outcome::Done(Success::default(), Executed::default());
                return group.iter().map(done).collect();
            }
            Err(error) => return refuse_all(group, &error),
        }
        if let Committed::Ended(outcomes) = commit_some(site, group) {
            return outcomes;
        }
    }
}

/// Commits the writes of a group before the first one that is refused after an effect. Returns the outcomes of these
/// and of the refused one: at least one outcome. The group also ends with the write after which it has taken
/// [`GROUP_MICROS`].
///
/// The transaction of such a refused write is dropped, and the writes before it are executed again. Later writes have
/// not been executed yet, so each write is executed at most twice, whatever stands in the same group. It is executed
/// once more for each refusal among those before it that happens only the second time.
///
/// All this holds if the partners keep the changes.
fn commit_some(site: &mut Site, group: &[Queued]) -> Committed {
    let (mut part, mut refused) = (group, None);
    // What is executed again has come to its end before.
    let mut micros = GROUP_MICROS;
    loop {
        match attempt(site, part, micros) {
            Attempt::Ended(outcomes) => return conclude_refusal(outcomes, refused, &mut site.partners),
            Attempt::Overtaken => {
                for queued in group {
                    queued.task.comes_again();
                }
                return Committed::Overtaken;
            }
            Attempt::GivenUp { before, outcome } => {
                for queued in before {
                    queued.task.comes_again();
                }
                let dropped = part.get(before.len());
                if let (Some(queued), Outcome::Refused(error)) = (dropped, &*outcome) {
                    queued.task.refused(error);
                }
                (part, micros) = (before, u64::MAX);
                refused = dropped.map(|queued| (queued, *outcome));
            }
        }
    }
}

/// Adds the write whose transaction was dropped to those before it. If no partner has kept anything of those, nobody
/// has confirmed yet that its refusal does not rest on old data.
fn conclude_refusal(
    mut outcomes: Vec<Outcome>,
    refused: Option<(&Queued, Outcome)>,
    partners: &mut Partners,
) -> Committed {
    let Some((queued, outcome)) = refused else {
        return Committed::Ended(outcomes);
    };
    let is_refusal = matches!(outcome, Outcome::Refused(_));
    let is_confirmed = outcomes.iter().any(|outcome| sequence_of(outcome).is_some());
    let confirmed = if is_refusal && !is_confirmed {
        partners.confirm()
    } else {
        Ok(())
    };
    match confirmed {
        Ok(()) => outcomes.push(outcome),
        Err(NotKept::Overtaken) => {
            queued.task.comes_again();
            if outcomes.is_empty() {
                return Committed::Overtaken;
            }
            // Those before it have their outcomes, and a partner may have them though it did not answer: they must not
            // be executed again. It alone is, with the next group.
        }
        Err(NotKept::Refused(error)) => outcomes.push(Outcome::Refused(error)),
    }
    Committed::Ended(outcomes)
}

enum Attempt<'g> {
    /// The outcomes of all writes, or of the first ones.
    Ended(Vec<Outcome>),
    /// As [`Committed::Overtaken`].
    Overtaken,
    /// The write after these was refused, or comes again, after an effect: nothing is committed.
    GivenUp {
        before: &'g [Queued],
        outcome: Box<Outcome>,
    },
}

fn attempt<'g>(site: &mut Site, group: &'g [Queued], micros: u64) -> Attempt<'g> {
    if group.is_empty() {
        return Attempt::Ended(Vec::new());
    }
    let (database, needs) = (Arc::clone(&site.database), site.partners.needs());
    let mut transaction = match database.write() {
        Ok(transaction) => transaction,
        Err(error) => return Attempt::Ended(refuse_all(group, &error.into())),
    };
    transaction.log(log_mode(&site.served.context));
    if needs.batch {
        transaction.gather();
    }
    let mut outcomes = Vec::with_capacity(group.len());
    let mut changed = false;
    let begun = site.directory.monotonic_micros();
    let mut last = begun;
    for queued in group {
        if last.saturating_sub(begun) >= micros {
            break;
        }
        let task = &queued.task;
        let ended = task.execute(&site.served, &mut transaction);
        let now = site.directory.monotonic_micros();
        queued.micros.set(queued.micros.get() + now.saturating_sub(last));
        last = now;
        match ended {
            Ok((success, executed)) => {
                // A bind may have nothing to record.
                changed |= executed.has_news();
                outcomes.push(Outcome::Done(success, executed));
            }
            Err(refusal) => {
                let is_dirty = refusal.dirty;
                let outcome = outcome_of(&**task, refusal);
                if is_dirty {
                    let before = group.get(..outcomes.len()).unwrap_or_default();
                    let outcome = Box::new(outcome);
                    return Attempt::GivenUp { before, outcome };
                }
                outcomes.push(outcome);
            }
        }
    }
    let group = group.get(..outcomes.len()).unwrap_or_default();
    let closed = if changed {
        close(site, transaction, &outcomes)
    } else if needs.is_shared && needs_confirmation(group, &outcomes) {
        drop(transaction);
        site.partners.confirm()
    } else {
        Ok(())
    };
    match closed {
        Ok(()) => Attempt::Ended(outcomes),
        Err(NotKept::Overtaken) => Attempt::Overtaken,
        Err(NotKept::Refused(error)) if needs.is_shared => Attempt::Ended(refuse_all(group, &error)),
        Err(NotKept::Refused(error)) => Attempt::Ended(not_committed(group, outcomes, &error)),
    }
}

/// Whether a group that has changed nothing only counts if what it has read is not old.
fn needs_confirmation(group: &[Queued], outcomes: &[Outcome]) -> bool {
    let is_refusal = |outcome: &Outcome| matches!(outcome, Outcome::Refused(_));
    outcomes.iter().any(is_refusal) || group.iter().any(|queued| queued.task.reads_newest())
}

fn refuse_all(group: &[Queued], error: &OperationError) -> Vec<Outcome> {
    let refuse = |queued: &Queued| {
        queued.task.refused(error);
        Outcome::Refused(error.clone())
    };
    group.iter().map(refuse).collect()
}

/// The outcomes of a group that could not be committed. What was refused before the first change stays refused for its
/// own reason; later refusals may rest on changes that were not made.
fn not_committed(group: &[Queued], outcomes: Vec<Outcome>, error: &OperationError) -> Vec<Outcome> {
    let mut has_changed = false;
    let pairs = group.iter().zip(outcomes);
    let kept = pairs.map(|(queued, outcome)| {
        has_changed |= matches!(outcome, Outcome::Done(..));
        if !has_changed {
            return outcome;
        }
        queued.task.refused(error);
        Outcome::Refused(error.clone())
    });
    kept.collect()
}

/// Commits the changes of a group with its partners, and tells who follows them.
fn close(site: &mut Site, mut transaction: WriteTransaction<'_>, outcomes: &[Outcome]) -> Result<(), NotKept> {
    let put = site.followers.put_places(&mut transaction);
    put.map_err(|error| NotKept::Refused(error.into()))?;
    site.partners.commit(transaction, &site.database, outcomes)?;
    let last = outcomes.iter().rev().find_map(sequence_of);
    site.followers.committed(last);
    if let Some(last) = last {
        site.partners.committed(last);
    }
    Ok(())
}

/// What becomes of a write that was not made.
fn outcome_of(task: &dyn WriteTask, refusal: Refusal) -> Outcome {
    if let Some(wanted) = refusal.wanted {
        return Outcome::Returned(*wanted);
    }
    task.refused(&refusal.error);
    Outcome::Refused(refusal.error)
}

/// The parts of the changes of a database that are logged.
pub(super) fn log_mode(context: &NamingContext) -> LogMode {
    if context.settings.keeps_changes() {
        LogMode::RowsAndContext
    } else if context.keeps_log() {
        LogMode::Rows
    } else {
        LogMode::Off
    }
}

/// The number of a write's change, if it has made one.
fn sequence_of(outcome: &Outcome) -> Option<u64> {
    match outcome {
        Outcome::Done(_, executed) => Some(executed.record.position.sequence).filter(|&sequence| sequence != 0),
        Outcome::Refused(_) | Outcome::Returned(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use ironbark_model::ResultCode;
    use ironbark_store::{ChangeRecord, change::Position};

    use super::*;
    use crate::{
        backend::commit_log::Append,
        write::{catch_up::Foreign, partner::answering},
    };

    /// A write that succeeded, with a change of this number; 0: without one.
    fn done(sequence: u64) -> Outcome {
        let position = Position {
            generation: 1,
            sequence,
        };
        let record = ChangeRecord {
            position,
            ..ChangeRecord::default()
        };
        let executed = Executed {
            record,
            ..Executed::default()
        };
        Outcome::Done(Success::default(), executed)
    }

    /// What becomes of a write that is refused after others, when the log answers so to the question whether there is
    /// nothing newer: the number of the others, and the result codes of the refusals. `None`: all are executed again.
    fn concluded(before: Vec<Outcome>, says: Append) -> Option<(usize, Vec<u32>)> {
        let mut partners = answering(says);
        let refused = Outcome::Refused(OperationError::new(ResultCode::NO_SUCH_OBJECT, ""));
        let (queued, count) = (Queued::of_server(Box::new(Foreign)), before.len());
        match conclude_refusal(before, Some((&queued, refused)), &mut partners) {
            Committed::Overtaken => None,
            Committed::Ended(outcomes) => {
                let refusals = outcomes.iter().skip(count).map(|outcome| match outcome {
                    Outcome::Refused(error) => error.result_code.0,
                    Outcome::Done(..) | Outcome::Returned(_) => 0,
                });
                Some((count, refusals.collect()))
            }
        }
    }

    #[test]
    fn a_refusal_counts_only_if_the_log_has_nothing_newer() {
        assert_eq!(concluded(vec![], Append::Committed), Some((0, vec![32])));
        assert_eq!(concluded(vec![], Append::Overtaken), None);
        assert_eq!(concluded(vec![], Append::Away), Some((0, vec![51])));
    }

    #[test]
    fn writes_before_a_refusal_are_never_executed_again() {
        // The log has them: it has confirmed the state behind which the other one was refused.
        assert_eq!(concluded(vec![done(7)], Append::Overtaken), Some((1, vec![32])));
        // Nothing was put: the refused one alone comes again.
        assert_eq!(concluded(vec![done(0)], Append::Overtaken), Some((1, vec![])));
        assert_eq!(concluded(vec![done(0)], Append::Committed), Some((1, vec![32])));
        assert_eq!(concluded(vec![done(0)], Append::Unknown), Some((1, vec![51])));
    }
}
