//! Followers: they take the changes of a database from its log, in the order of the commits.

use std::{io, sync::Arc, time::Duration};

use ironbark_model::{Dn, Entry};
use ironbark_store::{
    ChangeRecord, ContextVector, RecordedEffect,
    change::{RequestedChange, TextAttribute},
};

use crate::Directory;

/// Takes the changes of a database on a thread other than the writer's. A write is acknowledged when the followers of
/// its database have taken it, or have failed to, or may be behind ([`Follower::lag`]).
///
/// In the transaction of a later commit, the database stores the position of a follower, with the follower's own notes.
/// So after a crash the follower may be ahead of the stored position: [`Follower::resume`] is then asked how far.
pub trait Follower: Send + Sync {
    /// The name under which a database stores its position. It must not change as long as the follower continues the
    /// same work.
    fn name(&self) -> String;

    /// It follows a database from here on. Returns its first notes.
    fn begin(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Gets the changes after those that its notes cover. Returns how many of them, from the first on, it had taken
    /// before the process ended.
    ///
    /// # Errors
    /// This cannot be found out: none of the changes counts as taken.
    fn resume(&self, notes: &[u8], changes: Changes<'_>) -> io::Result<usize> {
        let _ = (notes, changes);
        Ok(0)
    }

    /// Takes changes. Returns its notes.
    ///
    /// # Errors
    /// It has taken none of them: they are delivered again.
    fn take(&self, changes: Changes<'_>) -> io::Result<Vec<u8>>;

    /// There may be changes that it has not taken and will not get. They were made before it followed the database, or
    /// by a tool without records (`slapadd`), or their records were deleted while it could not take them. Called before
    /// it gets what comes after them. `changes` has no records.
    ///
    /// # Errors
    /// It cannot note that. It is told again.
    fn missed(&self, changes: Changes<'_>) -> io::Result<()> {
        let _ = changes;
        Ok(())
    }

    /// It follows a database without a log of changes from here on: one with entries in memory, or with none. Called
    /// before its first change. `changes` has no records.
    ///
    /// # Errors
    /// What it needs is not there yet.
    fn open(&self, changes: Changes<'_>) -> io::Result<()> {
        let _ = changes;
        Ok(())
    }

    /// A change of a database without a log of changes is about to be made. If the process ends before the follower
    /// gets it, [`tree_shows`](super::tree_shows) says at the next start whether it was
    /// made.
    ///
    /// # Errors
    /// It cannot be noted.
    fn announce(&self, changes: Changes<'_>) -> io::Result<()> {
        let _ = changes;
        Ok(())
    }

    /// What it wants to know of an entry of a tree in memory as it was before this effect of a request. The tree has no
    /// transaction in which overlays could ask.
    fn former(&self, entry: &Entry, effect: &RecordedEffect, requested: &RequestedChange) -> Vec<TextAttribute> {
        let _ = (entry, effect, requested);
        Vec::new()
    }

    /// The suffix of another database that it writes to, and waits for. That database must not have such a follower
    /// itself: its writer ends after this one.
    fn writes_to(&self) -> Option<&Dn> {
        None
    }

    /// Whether it works on a thread of its own, for what may take long or hang: no write waits for it. While it is
    /// behind, changes are kept for it up to the size of the log. When the server ends, a change that it has not taken
    /// in time is delivered again at the next start. It does not get the changes of databases without a log.
    fn works_apart(&self) -> bool {
        false
    }

    /// How far it may be behind writes that are answered. Changes are gathered for half of that time.
    fn lag(&self) -> Duration {
        Duration::ZERO
    }

    /// Called after its last change: write out buffered data. The server ends, or the configuration no longer has the
    /// follower.
    fn close(&self) {}
}

/// Changes of one database, in the order of their commits.
#[derive(Clone, Copy)]
pub struct Changes<'a> {
    /// The server.
    pub directory: &'a Arc<Directory>,
    /// First suffix of the database, pretty form.
    pub suffix: &'a str,
    /// The changes.
    pub records: &'a [ChangeRecord],
    /// The context vector of the database when the follower began to follow it: what has come since is a change that it
    /// gets. `None`: the database has no log of changes, or the follower has missed some of them since.
    pub begun: Option<&'a ContextVector>,
}
