//! How much of the database a consumer gets, by the access rules and by its request.

use std::sync::Arc;

use ironbark_model::filter::compiled::FilterNode;

use super::{Phase, Sync, session::suffix_of};
use crate::{
    NamingContext, OperationError,
    access::{Extent, Requester},
    refusal::SyncRefusal,
    search::{run::SearchRun, work::Step},
    told::SyncContent,
};

impl SearchRun {
    /// Notes at the begin whether the consumer gets every entry of the database, or of its base, by the rules, and asks
    /// again in each slice. If of the database, it renames what is below a renamed entry, and is told places. What
    /// keeps entries from it is noted for cn=Monitor. To a search with notices it does not matter.
    ///
    /// # Errors
    /// `e-syncRefreshRequired`: it no longer does. What is told to one that does would leave it wrong.
    pub(super) fn note_extent(&mut self, step: &mut Step<'_>) -> Result<(), OperationError> {
        let is_any = match self.filter.nodes.as_slice() {
            [FilterNode::Present(slot)] => self.filter.slot(*slot) == Some(&self.configuration.well_known.object_class),
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
        let mut content = sync.content_asked_for(is_any);
        if is_begin {
            sync.content = Some(content);
        }
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
            content = under(content, extent);
            if is_begin {
                self.tell_of_partial(extent, context);
            }
        }
        if !is_begin && !is_all {
            return Err(SyncRefusal::StaleCookie.into());
        }
        if is_begin {
            self.tell_of_choice(content);
        }
        if let Some(sync) = self.sync_mut() {
            (sync.has_everything, sync.is_part) = (is_all && is_whole, !is_all);
            sync.content = Some(content);
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

    /// Says that the rules may keep something from a consumer that wants everything below its base.
    fn tell_of_partial(&self, extent: Extent, context: &NamingContext) {
        let Some(sync) = self.sync() else { return };
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
        let suffix = suffix_of(context);
        tracing::warn!(
            target: "any",
            "access rules may hide {hidden} of {suffix} from the consumer rid={rid:03} of \"{identity}\", \
             which then copies a part"
        );
    }

    /// Says that a consumer which asks for places, as servers of several writers do, gets none by what it asks for.
    fn tell_of_choice(&self, content: SyncContent) {
        let Some(sync) = self.sync().filter(|sync| sync.asks_places) else {
            return;
        };
        let (rid, identity) = (sync.consumer.0, self.origin.identity.dn.pretty());
        let (base, suffix) = (sync.base.pretty(), suffix_of(&sync.context));
        match content {
            SyncContent::Filter => tracing::warn!(
                target: "any",
                "the filter of the consumer rid={rid:03} of \"{identity}\" may leave out entries of {suffix}: \
                 it copies a part, deletes only what is named as deleted, and is not told places"
            ),
            SyncContent::Base => tracing::warn!(
                target: "any",
                "the consumer rid={rid:03} of \"{identity}\" copies a part of {suffix}, below {base}: \
                 it is not told places"
            ),
            SyncContent::Glued => tracing::warn!(
                target: "any",
                "the consumer rid={rid:03} of \"{identity}\" copies {suffix} with databases that are glued below it: \
                 it is not told places"
            ),
            SyncContent::Log | SyncContent::Rules | SyncContent::Values | SyncContent::Whole => {}
        }
    }
}

impl Sync {
    /// How much of the database the consumer asks for.
    fn content_asked_for(&self, is_any: bool) -> SyncContent {
        if self.may_be_log() {
            SyncContent::Log
        } else if !is_any {
            SyncContent::Filter
        } else if self.covers_database() {
            SyncContent::Whole
        } else if self.covers_glued() {
            SyncContent::Glued
        } else {
            SyncContent::Base
        }
    }
}

/// What is left of it under the rules.
fn under(content: SyncContent, extent: Extent) -> SyncContent {
    match (content, extent) {
        (SyncContent::Log, _) => content,
        (
            _,
            Extent {
                has_every_entry: false, ..
            },
        ) => SyncContent::Rules,
        (
            SyncContent::Whole,
            Extent {
                has_every_value: false, ..
            },
        ) => SyncContent::Values,
        _ => content,
    }
}
