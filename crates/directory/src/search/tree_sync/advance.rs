//! The steps of a synchronization of a tree.

use std::{
    collections::HashSet,
    sync::Arc,
    task::{Context, Poll},
};

use ironbark_ldap_proto::{MessageId, response::sync_info::MOST_UUIDS};
use ironbark_model::Entry;

use super::{MOST_REMEMBERED, Phase, TreeSync, encode_ids};
use crate::{
    OperationError,
    place::uuid_of,
    refusal::SyncRefusal,
    search::{
        run::{Progress, RunLimits, SearchRun, Walked},
        work::Step,
    },
};

impl SearchRun {
    pub(in crate::search) fn tree_sync(&self) -> Option<&TreeSync> {
        self.extras.as_ref()?.tree_sync.as_deref()
    }

    fn tree_sync_mut(&mut self) -> Option<&mut TreeSync> {
        self.extras.as_mut()?.tree_sync.as_deref_mut()
    }

    /// Considers an entry in memory that belongs to the content. `true`: it is sent.
    ///
    /// # Errors
    /// The consumer would have to remember too much.
    pub(in crate::search) fn meets_in_memory(
        &mut self,
        entry: &Entry,
        out: &mut Vec<u8>,
    ) -> Result<bool, OperationError> {
        let configuration = Arc::clone(&self.configuration);
        let id = MessageId::new(self.origin.message_id).unwrap_or_default();
        let Some(sync) = self.tree_sync_mut() else {
            return Ok(true);
        };
        if sync.octets > MOST_REMEMBERED {
            return Err(SyncRefusal::StaleCookie.into());
        }
        Ok(sync.meets(&configuration.well_known, entry, id, out))
    }

    /// Whether it waits for another configuration.
    pub(in crate::search) fn waits_for_tree(&self) -> bool {
        self.tree_sync().is_some_and(|sync| sync.is_drained)
    }

    pub(in crate::search) fn poll_tree(&mut self, cx: &Context<'_>) -> Poll<()> {
        let Some(sync) = self.tree_sync_mut().filter(|sync| sync.is_drained) else {
            return Poll::Ready(());
        };
        let ready = sync.reader.poll_behind(u64::MAX, cx);
        sync.is_drained = ready.is_pending();
        ready
    }

    /// Whether it sends changes of a tree, after the refresh.
    pub(in crate::search) fn follows_tree(&self) -> bool {
        self.tree_sync()
            .is_some_and(|sync| matches!(sync.phase, Phase::Wait | Phase::Compare))
    }

    /// The request.
    pub(in crate::search) fn request_of_tree(&self) -> Option<&[u8]> {
        self.tree_sync().map(|sync| &*sync.request)
    }

    /// Continues where another run of the same request stands. A refresh begins anew: trees are small.
    ///
    /// # Errors
    /// `unavailable`: the tree provides no changes any more.
    pub(in crate::search) fn continue_tree(&mut self, former: &mut Self) -> Result<(), OperationError> {
        if !former.follows_tree() {
            return Ok(());
        }
        let configuration = Arc::clone(&self.configuration);
        let before = former.extras.as_mut().and_then(|extras| extras.tree_sync.take());
        let (Some(sync), Some(before)) = (self.tree_sync_mut(), before) else {
            return Err(SyncRefusal::NoProvider.into());
        };
        (sync.known, sync.held) = (before.known, before.held);
        sync.phase = Phase::Compare;
        let known = &configuration.well_known;
        if let Some(tree) = sync.context.backend.tree() {
            let entries = tree.entries(&configuration);
            let uuids = entries.iter().filter_map(|entry| entry.attribute(&known.entry_uuid));
            let uuids: HashSet<[u8; 16]> = uuids.filter_map(|held| uuid_of(held.values.first()?)).collect();
            sync.gone = sync
                .held
                .keys()
                .filter(|uuid| !uuids.contains(*uuid))
                .copied()
                .collect();
            sync.gone.sort_unstable();
            sync.held.retain(|uuid, _| uuids.contains(uuid));
        }
        self.limits = RunLimits::default();
        self.sent = former.sent;
        Ok(())
    }

    /// A slice of the synchronization of a tree.
    pub(in crate::search) fn advance_tree(&mut self, step: &mut Step<'_>) -> Progress {
        let own = step.scratch.directory().server_id();
        let id = MessageId::new(self.origin.message_id).unwrap_or_default();
        let phase = self.tree_sync().map(|sync| sync.phase);
        if phase == Some(Phase::Begin) {
            let begun = self.tree_sync_mut().map_or(Ok(()), |sync| sync.begin(own));
            if let Err(error) = begun {
                self.refuse(error, step.scratch, step.out);
                return Progress::Done;
            }
        }
        if phase == Some(Phase::Wait) {
            // A configuration that came since is looked at before anything is waited for.
            let is_current = Arc::ptr_eq(&step.scratch.directory().configuration(), &self.configuration);
            if let Some(sync) = self.tree_sync_mut() {
                sync.is_drained = is_current;
            }
            return Progress::More;
        }
        if let Some(sync) = self.tree_sync_mut() {
            let gone = std::mem::take(&mut sync.gone);
            gone.chunks(MOST_UUIDS)
                .for_each(|some| encode_ids(step.out, id, true, some));
        }
        let mut targets = std::mem::take(&mut self.targets);
        let walked = self.walk_all(&mut targets, step);
        self.targets = targets;
        match walked {
            Ok(Walked::Through) => {}
            Ok(Walked::SliceEnd) => return Progress::More,
            Ok(Walked::Exhausted) => return self.exhausted(step),
            Ok(Walked::Finish) => {
                self.finish(step.scratch, step.out);
                return Progress::Done;
            }
            Err(error) => {
                self.refuse(error, step.scratch, step.out);
                return Progress::Done;
            }
        }
        let ends = self.tree_sync_mut().is_none_or(|sync| {
            sync.walked(own, id, step.out);
            !sync.persists
        });
        if ends {
            self.finish(step.scratch, step.out);
            return Progress::Done;
        }
        self.limits = RunLimits::default();
        Progress::More
    }
}
