//! The place of a database in its cluster: where the one who follows the log reaches its writer.

use super::{commit_log::CommitLog, naming_context::NamingContext, queue::WriterHandle};

/// The seat of a database in its cluster.
#[derive(Clone, Debug)]
pub struct Seat(WriterHandle);

impl Seat {
    /// The seat of a database whose settings say `cluster`. `None`: it has none.
    pub fn of(context: &NamingContext) -> Option<Self> {
        context.settings.cluster.as_ref()?;
        let writer = context.backend.own_writer().or(context.backend.tree_writer());
        writer.cloned().map(Self)
    }

    /// Whether both are of one writer: a database that was opened anew has another.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self.0.log(), other.0.log())
    }

    /// From now on this is the log of the database, which is no tree. Without one it takes no writes.
    pub fn take_log(&self, log: Option<Box<dyn CommitLog>>) {
        self.0.log().set(log);
        self.0.received();
    }

    /// The log has something: the writer asks it.
    pub fn call(&self) {
        self.0.received();
    }
}
