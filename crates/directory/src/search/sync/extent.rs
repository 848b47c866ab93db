//! How much of the database a consumer gets, by the access rules and by its request.

use std::sync::Arc;

use ironbark_model::{Dn, filter::compiled::Node};

use super::{Phase, Sync};
use crate::{
    NamingContext, OperationError,
    access::{Extent, Requester},
    refusal::SyncRefusal,
    search::{run::SearchRun, work::Step},
};

impl SearchRun {
    /// Notes at the begin whether the consumer gets every entry of the database, or of its base, by the rules, and asks
    /// again in each slice. If of the database, it renames what is below a renamed entry, and is told places. To a
    /// persistent search it does not matter.
    ///
    /// # Errors
    /// `e-syncRefreshRequired`: it no longer does. What is told to one that does would leave it wrong.
    pub(super) fn note_extent(&mut self, step: &mut Step<'_>) -> Result<(), OperationError> {
        let is_any = match self.filter.nodes.as_slice() {
            [Node::Present(slot)] => self.filter.slot(*slot) == Some(&self.configuration.well_known.object_class),
            _ => false,
        };
        let Some(sync) = self.sync_mut().filter(|sync| sync.notices.is_none()) else {
            return Ok(());
        };
        let is_begin = sync.phase == Phase::Begin;
        let is_whole = is_any && sync.covers_database();
        let matters = if is_begin {
            is_whole || sync.asks_places
        } else {
            sync.has_everything || sync.asks_places && !sync.is_part
        };
        if !matters {
            return Ok(());
        }
        let mut contexts = Vec::new();
        let _: Result<(), ()> = sync.for_each_member(|sync| {
            contexts.push(Arc::clone(&sync.context));
            Ok(())
        });
        let mut is_all = is_any;
        for context in &contexts {
            let extent = self.extent(context, step)?;
            is_all &= extent.has_every_entry;
            if is_whole {
                self.tell_of_partial(extent, context);
            }
        }
        if !is_begin && !is_all {
            return Err(SyncRefusal::StaleCookie.into());
        }
        if let Some(sync) = self.sync_mut() {
            (sync.has_everything, sync.is_part) = (is_all && is_whole, !is_all);
        }
        Ok(())
    }

    fn extent(&self, context: &Arc<NamingContext>, step: &mut Step<'_>) -> Result<Extent, OperationError> {
        let Some(snapshot) = step.scratch.take_snapshot(context)? else {
            return Err(SyncRefusal::NoProvider.into());
        };
        let view = snapshot.view();
        let standing = step.scratch.standing(&self.configuration, context, &self.origin, view);
        let requester = Requester::of(&self.configuration, context, &self.origin);
        let extent = Extent::of(requester, standing.as_deref(), view);
        step.scratch.keep_snapshot(snapshot);
        Ok(extent)
    }

    /// Says once in a session that a copy of the whole database may lack something.
    fn tell_of_partial(&self, extent: Extent, context: &NamingContext) {
        let Some(sync) = self.sync().filter(|sync| sync.phase == Phase::Begin) else {
            return;
        };
        let hidden = match extent {
            Extent {
                has_every_entry: false, ..
            } => "entries",
            Extent {
                has_every_value: false, ..
            } => "values",
            Extent { .. } => return,
        };
        let (rid, identity) = (sync.consumer.0, self.origin.identity.dn.pretty());
        let suffix = context.suffixes().first().map_or("", Dn::pretty);
        tracing::warn!(
            target: "any",
            "access rules may hide {hidden} of {suffix} from the consumer rid={rid:03} of \"{identity}\", \
             which then copies a part"
        );
    }
}
