//! Where a log in a database begins. Its suffix entry says it in `minCSN`: the CSN of each server from which on every
//! change has its entry. A consumer that has these can be sent the entries behind its cookie in their order, whatever
//! the database's own log of changes still tells. A consumer that lacks one of them must not continue with the log,
//! unless it is the first change of its server, whose entry is there.

use ironbark_store::{ChangeRecord, ContextVector, Csn, Effect, Location, Record, ValueChange, View};

use super::{Phase, Sync};
use crate::{
    OperationError,
    refusal::SyncRefusal,
    search::{run::SearchRun, work::Step},
};

/// The attribute that says it.
const MIN_CSN: &str = "minCSN";

/// Attribute of an entry of a log whose change came with a refresh. Such changes are in no order: the log has them, and
/// not all before them.
pub const UNORDERED: &str = "ironbarkReqUnordered";

/// Name of the note in a log with the text of the first CSN of a server, if the log has all changes of that server from
/// there on, or had them until its `minCSN` was raised.
pub fn first_note(server: u16) -> String {
    format!("first {server:03x}")
}

/// What `minCSN` says about a consumer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LogBegin {
    /// The database has no such attribute.
    Unknown,
    /// Everything that the consumer lacks is in entries.
    Before,
    /// Entries that the consumer lacks are gone.
    Behind,
}

impl Sync {
    /// Compares the cookie with `minCSN`.
    pub(super) fn log_begin(&self, view: View<'_>) -> Result<LogBegin, OperationError> {
        let min = self.min_csn(view)?;
        Ok(if min.is_empty() {
            LogBegin::Unknown
        } else {
            let mut is_there = true;
            for csn in min.iter().filter(|csn| !self.knows(*csn)) {
                // Who has something of that server may lack what came before the log.
                let first = match self.known.of_server(csn.server_id()) {
                    None => view.source(&first_note(csn.server_id()))?,
                    Some(_) => None,
                };
                is_there &= first.is_some_and(|first| first == csn.text().as_bytes());
            }
            if is_there { LogBegin::Before } else { LogBegin::Behind }
        })
    }

    /// What the suffix entry says; empty if the database is not provided as a log.
    fn min_csn(&self, view: View<'_>) -> Result<ContextVector, OperationError> {
        let mut min = ContextVector::default();
        let Ok(description) = view.schema().attribute_description(MIN_CSN.as_bytes()) else {
            return Ok(min);
        };
        for suffix in self.context.suffixes().iter().filter(|_| self.may_be_log()) {
            let Location::Entry(id) = view.locate(suffix)? else {
                continue;
            };
            let record = view.record(id)?;
            if let Some(held) = record.as_ref().and_then(|record| record.values(&description)) {
                for csn in held.to_attribute()?.values.iter().filter_map(|value| Csn::parse(value)) {
                    min.merge(csn);
                }
            }
        }
        Ok(min)
    }

    /// Whether an entry of the log tells of a change whose server has made others before it that come later.
    pub(super) fn is_unordered(view: View<'_>, record: &Record<'_>) -> bool {
        let description = view.schema().attribute_description(UNORDERED.as_bytes());
        description.is_ok_and(|description| record.values(&description).is_some())
    }

    pub(super) fn may_be_log(&self) -> bool {
        self.provider.is_of_log()
    }

    /// Lets a consumer that stays go on behind a change of the log only if the log has everything before it: a place
    /// where entries never came into the log is told by a `minCSN` that the consumer does not have.
    ///
    /// # Errors
    /// The consumer must refresh the content.
    pub(super) fn goes_on_behind(&self, record: &ChangeRecord) -> Result<(), OperationError> {
        // Only the keeper of the log makes changes of it that no consumer is told.
        let mut own = record.effects.iter().filter(|recorded| recorded.marks.silent);
        let is_raised = own.any(|recorded| match &recorded.effect {
            Effect::Modify { changes, .. } => changes.iter().any(|change| self.is_raised(change)),
            _ => false,
        });
        if is_raised && self.may_be_log() {
            return Err(SyncRefusal::StaleCookie.into());
        }
        Ok(())
    }

    /// Whether a change lets the log begin behind what the consumer has.
    fn is_raised(&self, change: &ValueChange) -> bool {
        match change {
            ValueChange::Replace { attribute, values } if attribute.eq_ignore_ascii_case(MIN_CSN) => {
                let mut csns = values.iter().filter_map(|value| Csn::parse(value));
                csns.any(|csn| !self.knows(csn))
            }
            _ => false,
        }
    }

    /// Lets the consumer go on, although an entry that was added before is gone now, if the database is no log.
    ///
    /// # Errors
    /// The entry was purged before it was sent: the consumer must refresh the content.
    pub(super) fn goes_on_without(&self, view: View<'_>) -> Result<(), OperationError> {
        if self.min_csn(view)?.is_empty() {
            return Ok(());
        }
        Err(SyncRefusal::StaleCookie.into())
    }
}

impl SearchRun {
    /// Lets the refresh of a log go on only while everything that the consumer lacks is there: it may be purged
    /// meanwhile.
    ///
    /// # Errors
    /// The consumer must refresh the content.
    pub(super) fn goes_on_in_log(&self, step: &mut Step<'_>) -> Result<(), OperationError> {
        let Some(sync) = self.sync() else { return Ok(()) };
        if sync.sends_log.is_none() || matches!(sync.phase, Phase::Begin | Phase::End | Phase::Persist) {
            return Ok(());
        }
        let Some(snapshot) = step.scratch.take_snapshot(&sync.context)? else {
            return Ok(());
        };
        let begin = sync.log_begin(snapshot.view());
        step.scratch.keep_snapshot(snapshot);
        match begin? {
            LogBegin::Before => Ok(()),
            LogBegin::Behind | LogBegin::Unknown => Err(SyncRefusal::StaleCookie.into()),
        }
    }
}
