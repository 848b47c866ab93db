//! What a consumer that stays shows of itself ([`sync_sessions`](crate::backend::sync_sessions)).

use std::sync::{Arc, atomic::Ordering::Relaxed};

use ironbark_model::Dn;

use super::{Follower, Persisting, Sync};
use crate::{
    NamingContext,
    backend::sync_sessions::{OwnSession, Place, SyncConsumer},
    search::{run::SearchRun, tree_sync::TreeSync, work::Step},
    told::{SyncContent, SyncPlaces},
};

impl SearchRun {
    /// Begins the session of a consumer that stays, if it has none.
    pub(in crate::search) fn begin_session(&mut self, step: &Step<'_>) {
        if self.session_mut().is_some() {
            return;
        }
        let of_sync = self.sync().and_then(Sync::follower);
        let of_tree = || self.tree_sync().and_then(TreeSync::follower);
        let Some(follower) = of_sync.or_else(of_tree) else {
            return;
        };
        let (rid, sid) = follower.id;
        let consumer = SyncConsumer {
            connection: self.origin.connection,
            operation: self.origin.operation,
            peer: self.origin.peer.name.clone(),
            identity: self.origin.identity.dn.pretty().into(),
            suffix: suffix_of(follower.context).into(),
            base: follower.base.into(),
            rid,
            sid,
        };
        let directory = step.scratch.directory();
        let session = directory.sessions().begin(consumer, directory.clock().now());
        if let Some(extras) = &mut self.extras {
            extras.session = Some(session);
        }
    }

    /// Tells how far the consumer is, at the end of a slice.
    pub(in crate::search) fn tell_session(&mut self, step: &Step<'_>) {
        let (persists, sent, told) = (self.follows(), self.sent, self.sync().and_then(Sync::told));
        let Some(session) = self.session_mut() else { return };
        session.tell(persists, sent, step.scratch.directory().clock().now());
        session.tell_extent(told);
        if let Some(sync) = self.sync_mut() {
            sync.all_persisting().for_each(|persisting| persisting.tell());
        }
    }

    /// Shows the places in the logs from which the consumer goes on after its refresh.
    pub(super) fn show_places(&mut self) {
        let mut places = Vec::new();
        if let Some(sync) = self.sync_mut() {
            let _: Result<(), ()> = sync.for_each_member(|sync| {
                places.extend(sync.persisting.as_ref().map(|persisting| {
                    persisting.tell();
                    Place {
                        suffix: suffix_of(&sync.context).into(),
                        feed: Arc::clone(persisting.reader.feed()),
                        position: Arc::clone(&persisting.told),
                    }
                }));
                Ok(())
            });
        }
        if let Some(session) = self.session_mut() {
            session.follow(places);
        }
    }

    /// Goes on with the session of another run of the same request.
    pub(super) fn continue_session(&mut self, former: &mut Self) {
        let session = former.extras.as_mut().and_then(|extras| extras.session.take());
        if let Some(extras) = &mut self.extras {
            extras.session = session;
        }
    }

    /// Counts an entry that had been encoded for another consumer.
    pub(super) fn count_shared(&mut self) {
        if let Some(session) = self.session_mut() {
            session.shared += 1;
        }
    }

    fn session_mut(&mut self) -> Option<&mut OwnSession> {
        self.extras.as_mut()?.session.as_mut()
    }
}

impl Sync {
    fn follower(&self) -> Option<Follower<'_>> {
        (self.persists && self.notices.is_none()).then_some(Follower {
            id: self.consumer,
            context: &self.context,
            base: self.base.pretty(),
        })
    }

    /// How much the consumer is told, once that is known.
    fn told(&self) -> Option<(SyncContent, SyncPlaces)> {
        let places = match (self.asks_places, self.has_everything, self.is_part) {
            _ if self.asks_logged_places && self.content == Some(SyncContent::Log) => SyncPlaces::Told,
            (false, _, _) => SyncPlaces::Unasked,
            (true, true, _) => SyncPlaces::Told,
            (true, false, true) => SyncPlaces::Part,
            (true, false, false) => SyncPlaces::None,
        };
        self.content.map(|content| (content, places))
    }
}

impl Persisting {
    fn tell(&self) {
        self.told.store(self.next.saturating_sub(1), Relaxed);
    }
}

pub(super) fn suffix_of(context: &NamingContext) -> &str {
    context.suffixes().first().map_or("", Dn::pretty)
}
