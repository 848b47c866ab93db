//! The entries below a renamed one. They have other names, but no change of their own.
//!
//! A consumer that has the renamed entry, and keeps it, renames what is below it. Others must be told, and so must all
//! if the renamed entry is gone by now, and glue keeps its last name for what is below.

use std::sync::Arc;

use ironbark_ldap_proto::controls::EntryState;
use ironbark_model::Dn;
use ironbark_store::{Effect, EntryId, HeldSnapshot, Location, Record, StoreError, Subtrees, View};
use roaring::RoaringTreemap;

use super::{Below, Meeting, Stage, Sync};
use crate::{
    OperationError,
    refusal::SyncRefusal,
    search::{
        run::{SearchRun, Walked},
        work::Step,
    },
};

impl Sync {
    /// Notes the entries below a renamed one, once for each effect.
    pub(super) fn note_below(
        &mut self,
        snapshot: &HeldSnapshot,
        effect: &Effect,
        id: Option<EntryId>,
    ) -> Result<(), OperationError> {
        let Effect::Rename { new_dn, .. } = effect else {
            return Ok(());
        };
        let (has_everything, is_move) = (self.has_everything, self.holds_subtrees());
        let is_told = is_move && !(has_everything && id.is_some());
        let Some(persisting) = self
            .persisting
            .as_mut()
            .filter(|persisting| is_told && persisting.below.is_none())
        else {
            return Ok(());
        };
        let view = snapshot.view();
        if !has_everything {
            persisting.in_doubt_until = view.log_state()?.last;
        }
        let above = match id {
            Some(id) => Some(id),
            None => glue_at(view, new_dn)?,
        };
        let mut subtrees = Subtrees::default();
        if let Some(id) = above {
            subtrees.add(id);
        }
        persisting.below = Some(Below {
            subtrees,
            all: Vec::new(),
            matched: RoaringTreemap::new(),
            stage: Stage::Find,
        });
        Ok(())
    }

    fn below(&mut self) -> Option<&mut Below> {
        self.persisting.as_mut()?.below.as_mut()
    }

    /// Finds some of the entries below. `false`: there are more.
    fn find_below(&mut self, view: View<'_>) -> Result<bool, StoreError> {
        let has_everything = self.has_everything;
        let Some(persisting) = &mut self.persisting else {
            return Ok(true);
        };
        let Some(below) = &mut persisting.below else {
            return Ok(true);
        };
        let is_done = below.subtrees.walk(view, &mut |id| below.all.push(id))?;
        if is_done {
            persisting.withholds_cookie = has_everything && !below.all.is_empty();
            below.stage = if below.all.is_empty() { Stage::Send } else { Stage::Note };
        }
        Ok(is_done)
    }

    /// Those that were chosen of the entries below.
    fn chosen_below(&self, choose: impl FnOnce(&Below) -> RoaringTreemap) -> Option<RoaringTreemap> {
        self.persisting.as_ref()?.below.as_ref().map(choose)
    }
}

/// The glue of this name.
fn glue_at(view: View<'_>, name: &str) -> Result<Option<EntryId>, StoreError> {
    let Ok(name) = Dn::parse(view.schema(), name.as_bytes()) else {
        return Ok(None);
    };
    let Location::Entry(id) = view.locate(&name)? else {
        return Ok(None);
    };
    Ok(view.record(id)?.filter(Record::is_glue).map(|_| id))
}

impl SearchRun {
    /// Before the renamed entry: names the entries below it that do not belong to the content, the deepest first.
    pub(super) fn name_below(&mut self, step: &mut Step<'_>) -> Result<Walked, OperationError> {
        loop {
            let Some(sync) = self.sync_mut() else {
                return Ok(Walked::Finish);
            };
            let Some(below) = sync.below() else {
                return Ok(Walked::Through);
            };
            match below.stage {
                Stage::Find => {
                    let context = Arc::clone(&sync.context);
                    let Some(snapshot) = step.scratch.take_snapshot(&context)? else {
                        return Err(SyncRefusal::NoProvider.into());
                    };
                    let is_done = sync.find_below(snapshot.view());
                    step.scratch.keep_snapshot(snapshot);
                    step.slice.has_advanced = true;
                    if !is_done? {
                        return Ok(Walked::SliceEnd);
                    }
                }
                Stage::Note => {
                    sync.meeting = Meeting::Note;
                    let all = |below: &Below| below.all.iter().copied().collect();
                    let walked = self.walk_among(step, |sync| sync.chosen_below(all))?;
                    if !matches!(walked, Walked::Through) {
                        return Ok(walked);
                    }
                    let Some(sync) = self.sync_mut() else {
                        return Ok(Walked::Finish);
                    };
                    let matched = std::mem::take(&mut sync.refresh.matched);
                    if let Some(below) = sync.below() {
                        (below.matched, below.stage) = (matched, Stage::Name(below.all.len()));
                    }
                }
                Stage::Name(left) => {
                    let walked = self.name_some_below(left, step)?;
                    if !matches!(walked, Walked::Through) {
                        return Ok(walked);
                    }
                }
                Stage::Send => return Ok(Walked::Through),
            }
        }
    }

    fn name_some_below(&mut self, mut left: usize, step: &mut Step<'_>) -> Result<Walked, OperationError> {
        let Some(sync) = self.sync() else {
            return Ok(Walked::Finish);
        };
        let cookie = sync.cookie_of_part(step.scratch.directory().server_id());
        let context = Arc::clone(&sync.context);
        let Some(snapshot) = step.scratch.take_snapshot(&context)? else {
            return Err(SyncRefusal::NoProvider.into());
        };
        let mut named = Ok(Walked::Through);
        while left > 0 {
            if step.is_used_up() {
                named = Ok(Walked::SliceEnd);
                break;
            }
            left -= 1;
            let Some(below) = self.sync_mut().and_then(Sync::below) else {
                break;
            };
            below.stage = Stage::Name(left);
            let Some(id) = below.all.get(left).copied().filter(|id| !below.matched.contains(*id)) else {
                continue;
            };
            let found = snapshot.view().record(id).and_then(|record| match record {
                Some(record) => record.entry_uuid(),
                None => Ok(None),
            });
            match found {
                Ok(Some(uuid)) => self.send_gone(uuid, cookie.as_deref(), step.out),
                Ok(None) => {}
                Err(error) => {
                    named = Err(error.into());
                    break;
                }
            }
        }
        step.scratch.keep_snapshot(snapshot);
        if left == 0
            && let Some(below) = self.sync_mut().and_then(Sync::below)
        {
            below.stage = Stage::Send;
        }
        named
    }

    /// After the renamed entry: sends the entries below it that belong to the content.
    pub(super) fn send_below(&mut self, step: &mut Step<'_>) -> Result<Walked, OperationError> {
        let Some(sync) = self.sync_mut() else {
            return Ok(Walked::Finish);
        };
        if sync.below().is_none_or(|below| below.all.is_empty()) {
            return Ok(Walked::Through);
        }
        sync.meeting = Meeting::Send(EntryState::Modify, None);
        self.walk_among(step, |sync| sync.chosen_below(|below| below.matched.clone()))
    }
}
