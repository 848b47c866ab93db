//! What a writer serves, and who takes part in its commits.

use std::sync::Arc;

use ironbark_store::Database;

use super::{context, flusher::Flusher, followers::Followers, partner::all::Partners};
use crate::{Directory, backend::queue::Served, overlay::overlays_of};

/// A database under a configuration, as its writer has it.
pub(super) struct Site {
    pub(super) followers: Followers,
    pub(super) flusher: Flusher,
    pub(super) partners: Partners,
    pub(super) database: Arc<Database>,
    pub(super) served: Served,
    pub(super) directory: Arc<Directory>,
}

impl Site {
    /// Before the first write. `None`: the entries are not in a store.
    pub(super) fn new(directory: &Arc<Directory>, served: Served) -> Option<Self> {
        let database = Arc::clone(served.context.database()?);
        let partners = Partners::of(directory, &served);
        let flusher = Flusher::of(&served, directory, partners.flush());
        let followers = begin(directory, &served, &database);
        Some(Self {
            followers,
            flusher,
            partners,
            database,
            served,
            directory: Arc::clone(directory),
        })
    }

    /// Goes over to another configuration. The followers must have ended, and begin with [`Site::follow`]. `None`: its
    /// entries are not in a store.
    pub(super) fn go_over_to(&mut self, next: Served) -> Option<()> {
        overlays_of(&self.served.context).close_except(overlays_of(&next.context));
        let database = Arc::clone(next.context.database()?);
        self.partners = Partners::of(&self.directory, &next);
        self.flusher.go_over_to(&next, &self.database, self.partners.flush());
        (self.served, self.database) = (next, database);
        Some(())
    }

    /// Lets the followers follow, before the first write under a configuration.
    pub(super) fn follow(&mut self) {
        self.followers = begin(&self.directory, &self.served, &self.database);
    }

    /// Lets the followers end, after the last write under a configuration.
    pub(super) fn end_followers(&mut self) {
        std::mem::take(&mut self.followers).end(&self.database);
    }

    pub(super) fn flush_when_due(&mut self) {
        self.flusher.flush_when_due(&self.directory, &self.database);
    }
}

fn begin(directory: &Arc<Directory>, served: &Served, database: &Arc<Database>) -> Followers {
    if let Err(error) = context::take_in(served, database, directory.server_id()) {
        tracing::error!(target: "any", "reading the contextCSN of a database: {error}");
    }
    Followers::of(directory, served, database)
}
