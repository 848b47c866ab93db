//! Followers: they take the changes of a database from its log, in the order of the commits.

use std::io;

use ironbark_store::ChangeRecord;

/// Takes the changes of a database, on a thread that is not the writer's. A write is acknowledged when those who follow
/// its database have taken it, or could not.
///
/// The database keeps how far a follower is, with notes of its own, in the transaction of a later commit. So after a
/// crash it may be further than the database says: then [`Follower::resume`] is asked how much further.
pub trait Follower: Send + Sync {
    /// The name under which a database keeps how far it is: the same as long as it goes on with the same work.
    fn name(&self) -> String;

    /// It follows a database from here on. Gives its first notes.
    fn begin(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Sees the changes behind those that its notes are about. The number of them, from the first on, that it had taken
    /// before the process ended.
    ///
    /// # Errors
    /// It cannot be found out: none of them counts as taken.
    fn resume(&self, notes: &[u8], changes: Changes<'_>) -> io::Result<usize> {
        let _ = (notes, changes);
        Ok(0)
    }

    /// Takes changes. Gives its notes.
    ///
    /// # Errors
    /// It has taken none of them: they come again.
    fn take(&self, changes: Changes<'_>) -> io::Result<Vec<u8>>;

    /// After the last change that it takes: flush what is buffered. The server ends, or the configuration no longer has
    /// it.
    fn close(&self) {}
}

/// Changes of one database, in the order of their commits.
#[derive(Clone, Copy, Debug)]
pub struct Changes<'a> {
    /// First suffix of the database, pretty form.
    pub suffix: &'a str,
    /// The changes.
    pub records: &'a [ChangeRecord],
}
