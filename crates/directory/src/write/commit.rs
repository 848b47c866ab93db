//! Executes a group of writes in one transaction, and commits it once.
//!
//! No effect of a refused operation is ever committed. A write is executed at most twice, whatever is refused after it:
//! a refusal that must undo an effect ends its group there. So does a write after which the group has taken long.

use ironbark_store::{Database, LogMode, WriteTransaction};

use super::{
    clustered::{Appender, NotAppended},
    files,
    followers::Followers,
};
use crate::{
    NamingContext, OperationError,
    backend::{
        queue::{Outcome, Queued, Served, WriteTask},
        turns::GROUP_MICROS,
        written::Refusal,
    },
    refusal::ClusterRefusal,
};

/// The served configuration, the database, and its followers.
pub(super) type Site<'s> = (&'s Served, &'s Database, &'s mut Followers);

/// Microseconds of a monotonic clock.
pub(super) type Clock<'c> = &'c dyn Fn() -> u64;

/// What has become of a group.
pub(super) enum Committed {
    /// The outcomes of its first writes, one at least.
    Ended(Vec<Outcome>),
    /// Nothing is committed: the log of the cluster has other changes, behind which it must be executed again.
    Overtaken,
}

/// Commits the writes of a group before the first one that is refused after an effect. Returns the outcomes of these
/// and of the refused one: at least one outcome. The group also ends with the write after which it has taken
/// [`GROUP_MICROS`].
///
/// The transaction of such a refused write is dropped, and the writes before it are executed again. Later writes have
/// not been executed yet, so each write is executed at most twice, whatever stands in the same group. It is executed
/// once more for each refusal among those before it that happens only the second time.
///
/// With an `appender` all this holds if the log of the cluster has taken the changes.
pub(super) fn commit_some(
    (served, database, followers): Site<'_>,
    group: &[Queued],
    appender: Option<&Appender<'_>>,
    clock: Clock<'_>,
) -> Committed {
    let (mut part, mut refused) = (group, None);
    // What is executed again has come to its end before.
    let mut micros = GROUP_MICROS;
    loop {
        match attempt((served, database, &mut *followers), part, appender, (clock, micros)) {
            Attempt::Ended(outcomes) => return conclude_refusal(outcomes, refused, appender),
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

/// Adds the write whose transaction was dropped to those before it. If they have put nothing into the log of the
/// cluster, nobody has confirmed yet that its refusal does not rest on old data.
fn conclude_refusal(
    mut outcomes: Vec<Outcome>,
    refused: Option<(&Queued, Outcome)>,
    appender: Option<&Appender<'_>>,
) -> Committed {
    let Some((queued, outcome)) = refused else {
        return Committed::Ended(outcomes);
    };
    let is_refusal = matches!(outcome, Outcome::Refused(_));
    let is_confirmed = outcomes.iter().any(|outcome| sequence_of(outcome).is_some());
    let appender = appender.filter(|_| is_refusal && !is_confirmed);
    match appender.map_or(Ok(()), Appender::confirm) {
        Ok(()) => outcomes.push(outcome),
        Err(NotAppended::Overtaken) => {
            queued.task.comes_again();
            if outcomes.is_empty() {
                return Committed::Overtaken;
            }
            // Those before it have their outcomes, and the log may have them though it did not answer: they must not be
            // executed again. It alone is, with the next group.
        }
        Err(NotAppended::Refused(error)) => outcomes.push(Outcome::Refused(error)),
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

fn attempt<'g>(
    (served, database, followers): Site<'_>,
    group: &'g [Queued],
    appender: Option<&Appender<'_>>,
    (clock, micros): (Clock<'_>, u64),
) -> Attempt<'g> {
    if group.is_empty() {
        return Attempt::Ended(Vec::new());
    }
    let refuse_all = |group: &[Queued], error: OperationError| {
        let refuse = |queued: &Queued| {
            queued.task.refused(&error);
            Outcome::Refused(error.clone())
        };
        Attempt::Ended(group.iter().map(refuse).collect())
    };
    let mut transaction = match database.write() {
        Ok(transaction) => transaction,
        Err(error) => return refuse_all(group, error.into()),
    };
    transaction.log(log_mode(&served.context));
    if appender.is_some() {
        transaction.gather();
    }
    let mut outcomes = Vec::with_capacity(group.len());
    let mut changed = false;
    let begun = clock();
    let mut last = begun;
    for queued in group {
        if last.saturating_sub(begun) >= micros {
            break;
        }
        let task = &queued.task;
        let ended = task.execute(served, &mut transaction);
        let now = clock();
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
    let is_refusal = |outcome: &Outcome| matches!(outcome, Outcome::Refused(_));
    let confirms = outcomes.iter().any(is_refusal) || group.iter().any(|queued| queued.task.reads_newest());
    let appender = appender.filter(|_| changed || confirms);
    match close(
        (served, database, followers),
        transaction,
        (changed, &outcomes),
        appender,
    ) {
        Ok(()) => Attempt::Ended(outcomes),
        Err(NotAppended::Overtaken) => Attempt::Overtaken,
        Err(NotAppended::Refused(error)) if appender.is_some() => refuse_all(group, error),
        Err(NotAppended::Refused(error)) => Attempt::Ended(not_committed(group, outcomes, &error)),
    }
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

/// Commits what was executed, if there is something: `changed`. With an appender and no change, it makes sure that what
/// was read is not old.
fn close(
    (served, database, followers): Site<'_>,
    mut transaction: WriteTransaction<'_>,
    (changed, outcomes): (bool, &[Outcome]),
    appender: Option<&Appender<'_>>,
) -> Result<(), NotAppended> {
    let refused = |error: OperationError| Err(NotAppended::Refused(error));
    if !changed {
        return appender.map_or(Ok(()), Appender::confirm);
    }
    if let Err(error) = files::write(served, &transaction, outcomes) {
        return refused(error);
    }
    if let Err(error) = followers.put_places(&mut transaction) {
        files::write_back(served, database, outcomes);
        return refused(error.into());
    }
    let is_appended = appender.map_or(Ok(false), |appender| appender.append(&mut transaction))?;
    if let Err(error) = transaction.commit() {
        files::write_back(served, database, outcomes);
        return refused(if is_appended {
            ClusterRefusal::NotHere.into()
        } else {
            error.into()
        });
    }
    let last = outcomes.iter().rev().find_map(sequence_of);
    followers.committed(last);
    if let (Some(last), Some(writer)) = (last, served.context.backend.own_writer()) {
        writer.feed().committed(last);
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
        backend::{
            commit_log::Append,
            written::{Executed, Success},
        },
        write::clustered::{Foreign, tests::Answers},
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
        let answers = Answers(says);
        let refused = Outcome::Refused(OperationError::new(ResultCode::NO_SUCH_OBJECT, ""));
        let (queued, count) = (Queued::of_server(Box::new(Foreign)), before.len());
        match conclude_refusal(before, Some((&queued, refused)), Some(&answers.appender())) {
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
