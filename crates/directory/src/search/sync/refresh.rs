//! The refresh: changes are collected from the log, entries that are gone are named, the others sent.

use std::{
    cmp::Reverse,
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use ironbark_ldap_proto::controls::EntryState;
use ironbark_model::{Dn, Schema};
use ironbark_store::{ChangeRecord, Csn, Effect, EntryId, Location, RecordedEffect, StoreError, View, change::Gone};
use roaring::RoaringTreemap;

use super::{Departure, Meeting, Phase, Refresh, Sync, Turn, recent::Recent};
use crate::{
    OperationError,
    refusal::{SearchRefusal, SyncRefusal},
    search::{
        run::{SearchRun, Walked},
        target::{Target, Walk},
        work::Step,
    },
    told::SyncContent,
};

/// Changes, and effects of changes, that are read in one slice; one change is read as a whole.
const CHANGES: usize = 512;
/// Changed entries beyond which the log is left, and the fewest beyond which it may be.
const MOST_CHANGED: u64 = 4_000_000;
/// Entries that are gone, of which each takes much more memory, beyond which the log is left.
const MOST_GONE: usize = 500_000;
const FEW_CHANGED: u64 = 1_000;

/// Why the collection of changes stops.
enum Collected {
    More(u64),
    All,
    /// The log does not tell enough, or too much.
    Useless,
}

impl SearchRun {
    /// Reads some changes of the log.
    pub(super) fn collect(&mut self, next: u64, step: &mut Step<'_>) -> Result<Walked, OperationError> {
        if let Some(end) = self.time_is_up(step.scratch) {
            return Ok(end);
        }
        let Some(sync) = self.sync_mut() else {
            return Ok(Walked::Finish);
        };
        let context = Arc::clone(&sync.context);
        let Some(snapshot) = step.scratch.take_snapshot(&context)? else {
            return Ok(Walked::Finish);
        };
        let view = snapshot.view();
        let configuration = step.scratch.directory().configuration();
        let collected = sync
            .collect(view, &configuration.schema, next)
            .map_err(OperationError::from);
        let collected = collected.and_then(|collected| match collected {
            Collected::Useless => sync.leave_log(view).map(|()| None),
            collected => Ok(Some(collected)),
        });
        step.scratch.keep_snapshot(snapshot);
        sync.phase = match collected? {
            Some(Collected::More(next)) => Phase::Collect { next },
            Some(_) => {
                sync.meeting = Meeting::Note;
                Phase::Probe
            }
            None => return Ok(Walked::Through),
        };
        step.slice.has_advanced = true;
        Ok(if sync.phase == Phase::Probe {
            Walked::Through
        } else {
            Walked::SliceEnd
        })
    }

    /// Finds out which changed entries belong to the content.
    pub(super) fn probe(&mut self, step: &mut Step<'_>) -> Result<Walked, OperationError> {
        let walked = self.walk_content(step)?;
        if let Some(sync) = self.sync_mut().filter(|_| matches!(walked, Walked::Through)) {
            sync.phase = Phase::List { after: 0 };
        }
        Ok(walked)
    }

    /// Lists some of the changed entries that do not belong to the content.
    pub(super) fn list_others(&mut self, after: EntryId, step: &mut Step<'_>) -> Result<Walked, OperationError> {
        let Some(sync) = self.sync_mut() else {
            return Ok(Walked::Finish);
        };
        let context = Arc::clone(&sync.context);
        let Some(snapshot) = step.scratch.take_snapshot(&context)? else {
            return Ok(Walked::Finish);
        };
        let listed = sync.list_some_others(snapshot.view(), after);
        step.scratch.keep_snapshot(snapshot);
        step.slice.has_advanced = true;
        if let Some(after) = listed? {
            sync.phase = Phase::List { after };
            return Ok(Walked::SliceEnd);
        }
        sync.meeting = Meeting::Send(EntryState::Add, None);
        sync.phase = if sync.names_gone_first() {
            Phase::Gone { next: 0 }
        } else {
            Phase::Send
        };
        Ok(Walked::Through)
    }

    /// Sends entries: those that were found in the log, or all of the content.
    pub(super) fn send(&mut self, step: &mut Step<'_>) -> Result<Walked, OperationError> {
        if !self.has_read_recent(step)? {
            return Ok(Walked::SliceEnd);
        }
        let walked = self.walk_content(step)?;
        if let Some(sync) = self.sync_mut().filter(|_| matches!(walked, Walked::Through)) {
            let again = std::mem::take(&mut sync.refresh.deferred);
            if again.is_empty() {
                sync.phase = if sync.names_gone_first() {
                    Phase::End
                } else {
                    Phase::Gone { next: 0 }
                };
            } else {
                sync.refresh.again = Some(again);
            }
        }
        Ok(walked)
    }

    /// Walks over the content, or over those of its entries that the log has named.
    fn walk_content(&mut self, step: &mut Step<'_>) -> Result<Walked, OperationError> {
        self.walk_among(step, |sync| match sync.phase {
            Phase::Probe => Some(sync.refresh.changed.clone()),
            _ if sync.refresh.again.is_some() => sync.refresh.again.clone(),
            _ if sync.refresh.is_from_log => Some(sync.refresh.matched.clone()),
            _ => None,
        })
    }

    /// Walks over the content, or over those of its entries that are `among`, which is asked once for each walk.
    pub(super) fn walk_among(
        &mut self,
        step: &mut Step<'_>,
        among: impl FnOnce(&Sync) -> Option<RoaringTreemap>,
    ) -> Result<Walked, OperationError> {
        if self.targets.is_empty() {
            let among = self.sync().and_then(among);
            if among.is_none() && self.sync().is_some_and(Sync::is_glued) {
                let targets = self.glued_content(step)?;
                self.targets.extend(targets);
            } else {
                let target = self.content(among, step)?;
                self.targets.extend(target);
            }
        }
        let mut targets = std::mem::take(&mut self.targets);
        let walked = self.walk_all(&mut targets, step);
        self.targets = if matches!(walked, Ok(Walked::SliceEnd | Walked::Exhausted)) {
            targets
        } else {
            VecDeque::new()
        };
        walked
    }

    /// The targets of a walk over the content of all glued members. A member without entries has none.
    pub(super) fn glued_content(&mut self, step: &mut Step<'_>) -> Result<Vec<Target>, OperationError> {
        let members = self.sync().map_or(0, |sync| sync.glued.others() + 1);
        let mut targets = Vec::new();
        for _ in 0..members {
            let is_subordinate = self.sync().is_some_and(|sync| sync.is_subordinate);
            if let Some(mut target) = self.content(None, step)? {
                if is_subordinate {
                    target.mark_glued();
                }
                targets.push(target);
            }
            if let Some(sync) = self.sync_mut() {
                sync.turn();
            }
        }
        Ok(targets)
    }

    /// The target of a walk over the content; `None`: the base object is not there.
    pub(super) fn content(
        &mut self,
        among: Option<RoaringTreemap>,
        step: &mut Step<'_>,
    ) -> Result<Option<Target>, OperationError> {
        let Some(sync) = self.sync() else { return Ok(None) };
        let context = Arc::clone(&sync.context);
        let Some(snapshot) = step.scratch.take_snapshot(&context)? else {
            return Ok(None);
        };
        let found = snapshot.view().locate(&sync.base);
        let plan = among.map(|among| snapshot.view().plan_of(among));
        step.scratch.keep_snapshot(snapshot);
        let id = match found? {
            Location::Entry(id) => id,
            Location::Missing { ancestor: None } if sync.base.is_root() => 0,
            Location::Missing { .. } if sync.may_miss_base() => return Ok(None),
            Location::Missing { .. } => return Err(SearchRefusal::NoSuchBase.into()),
        };
        let mut target = Target::stored(context, id, sync.scope);
        if let Walk::Stored(walk) = &mut target.walk {
            walk.is_given = plan.is_some();
            walk.plan = plan;
        }
        if let Some(sync) = self.sync_mut() {
            sync.base_id = Some(id);
        }
        Ok(Some(target))
    }

    /// Reads recent changes, if they are told. `false`: there are more.
    pub(super) fn has_read_recent(&mut self, step: &mut Step<'_>) -> Result<bool, OperationError> {
        let Some(sync) = self.sync_mut().filter(|sync| sync.tells_recent()) else {
            return Ok(true);
        };
        let context = Arc::clone(&sync.context);
        let Some(snapshot) = step.scratch.take_snapshot(&context)? else {
            return Err(SyncRefusal::NoProvider.into());
        };
        let read = sync.read_recent(snapshot.view());
        step.scratch.keep_snapshot(snapshot);
        step.slice.has_advanced = true;
        Ok(read?)
    }
}

impl Sync {
    /// Whether recent changes are told. A database whose values are not merged has no requests in its log.
    fn tells_recent(&self) -> bool {
        self.phase == Phase::Send
            && self.asks_recent
            && self.tells_places()
            && self.content == Some(SyncContent::Whole)
            && self.context.settings.merges_values()
    }

    fn read_recent(&mut self, view: View<'_>) -> Result<bool, StoreError> {
        let recent = match &mut self.recent {
            Some(recent) => recent,
            none => none.insert(Recent::begin(view, &self.known)?),
        };
        recent.read(view, CHANGES)
    }

    /// Whether entries that are gone are named before others are sent.
    ///
    /// slapd lets its context vector take in the CSN of such a delete and ignores older changes that come after it. So
    /// the others come first, unless one of them needs a name that becomes free. Where places are told, names may be in
    /// any order, and who takes the name of an entry that is gone, or has been below it, comes first.
    pub(super) fn names_gone_first(&self) -> bool {
        self.refresh.reuses_names && !self.tells_places()
    }

    fn collect(&mut self, view: View<'_>, schema: &Schema, first: u64) -> Result<Collected, StoreError> {
        let most = (view.entry_count()? / 2).clamp(FEW_CHANGED, MOST_CHANGED);
        let Refresh { below, changed, .. } = &mut self.refresh;
        let is_found = below.walk(view, &mut |id| _ = changed.insert(id))?;
        if changed.len() > most {
            return Ok(Collected::Useless);
        }
        if !is_found {
            return Ok(Collected::More(first));
        }
        let mut gone = HashMap::new();
        gone.extend(self.refresh.gone.drain(..));
        let (mut next, mut left) = (first, CHANGES);
        for record in view.changes(first)? {
            let record = record?;
            next = record.position.sequence + 1;
            if next - 1 > self.refresh.last {
                break;
            }
            left = left.saturating_sub(record.effects.len().max(record.buried.len()).max(1));
            if !self.has(&record) {
                if !self.take_up((view, schema), &record, &mut gone)? {
                    return Ok(Collected::Useless);
                }
                if self.refresh.changed.len() + gone.len() as u64 > most || gone.len() > MOST_GONE {
                    return Ok(Collected::Useless);
                }
            }
            if left == 0 || !self.refresh.below.is_done() {
                break;
            }
        }
        self.refresh.gone = gone.into_iter().collect();
        let is_all = (next > self.refresh.last || next == first) && self.refresh.below.is_done();
        Ok(if is_all { Collected::All } else { Collected::More(next) })
    }

    /// Takes up the entries that a change is about. `false`: the log does not tell them.
    fn take_up(
        &mut self,
        (view, schema): (View<'_>, &Schema),
        record: &ChangeRecord,
        gone: &mut HashMap<[u8; 16], Departure>,
    ) -> Result<bool, StoreError> {
        let deleted_at = deletion_csn(record);
        for (recorded, csn) in record.stamped_effects().filter(|(recorded, _)| recorded.is_told()) {
            let uuid = recorded.before.entry_uuid;
            if uuid == [0; 16] {
                return Ok(false);
            }
            let found = match view.entry_of_uuid(&uuid) {
                Ok(found) => found,
                // The index of entryUUID is still being built.
                Err(StoreError::Inapplicable(_)) => return Ok(false),
                Err(error) => return Err(error),
            };
            let is_move = matches!(recorded.effect, Effect::Rename { .. });
            self.refresh.reuses_names |= is_move;
            let Some(id) = found else {
                if !self.refresh.reuses_names && !self.tells_places() {
                    self.refresh.reuses_names = is_name_in_use(view, schema, &recorded.effect)?;
                }
                let is_delete = matches!(recorded.effect, Effect::Delete { .. });
                let deletion = deleted_at.is_some().then_some(csn).filter(|_| is_delete);
                self.refresh.note_end(gone, uuid, deletion);
                continue;
            };
            self.refresh.changed.insert(id);
            if is_move {
                self.refresh.has_moves = true;
            }
            if is_move && !self.has_everything && self.holds_subtrees() {
                self.refresh.below.add(id);
            }
        }
        for uuid in &record.buried {
            self.refresh.note_end(gone, *uuid, deleted_at);
        }
        Ok(true)
    }

    /// Adds some of the changed entries that do not belong to the content to those that are gone, from behind one on.
    /// Returns the last of them, if there are more.
    fn list_some_others(&mut self, view: View<'_>, after: EntryId) -> Result<Option<EntryId>, StoreError> {
        let others = &self.refresh.changed - &self.refresh.matched;
        let mut rest = others.iter();
        rest.advance_to(after + 1);
        for (id, count) in rest.zip(1..) {
            if let Some(record) = view.record(id)?
                && let Some(uuid) = record.entry_uuid()?
            {
                let departure = Departure {
                    deletion: None,
                    instead: None,
                    turn: Turn::Left(Reverse(view.dn(id)?.depth())),
                };
                self.refresh.gone.push((uuid, departure));
            }
            if count == CHANGES {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

impl Refresh {
    /// Notes that an entry is not there, after an effect of it or a delete that was told again.
    fn note_end(&mut self, gone: &mut HashMap<[u8; 16], Departure>, uuid: [u8; 16], deletion: Option<Csn>) {
        self.effects += 1;
        let known = gone.get(&uuid).and_then(|departure| departure.deletion);
        let departure = Departure {
            deletion: deletion.or(known),
            instead: None,
            turn: Turn::Ended(self.effects),
        };
        gone.insert(uuid, departure);
    }
}

/// The CSN of the deletions in a change. A delete that came without one has that of the entry which it removed: a
/// consumer would take it for known.
pub(super) fn deletion_csn(record: &ChangeRecord) -> Option<Csn> {
    let has_own = |recorded: &RecordedEffect| match (&recorded.effect, &recorded.before.gone) {
        (Effect::Delete { .. }, Gone::Entry(attributes)) => {
            let removed = attributes
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case("entryCSN"));
            let removed = removed.and_then(|(_, values)| Csn::parse(values.first()?));
            removed != Some(record.csn)
        }
        (Effect::Delete { .. }, _) => false,
        _ => true,
    };
    let is_told = record.context_csns().next().is_some() || record.effects.iter().all(has_own);
    is_told.then_some(record.csn)
}

/// Whether an entry has the name that another one had.
fn is_name_in_use(view: View<'_>, schema: &Schema, effect: &Effect) -> Result<bool, StoreError> {
    // Without renames, the delete has the name that the consumer knows.
    if !matches!(effect, Effect::Delete { .. }) {
        return Ok(false);
    }
    // A name that cannot be read under the schema of today may be in use.
    let Ok(name) = Dn::parse(schema, effect.dn().as_bytes()) else {
        return Ok(true);
    };
    Ok(matches!(view.locate(&name)?, Location::Entry(_)))
}
