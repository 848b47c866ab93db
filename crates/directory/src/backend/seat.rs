//! The place of a database in its cluster: where the one who follows the log reaches its writer.

use super::{commit_log::CommitLog, naming_context::NamingContext, queue::WriterHandle};

/// The seat of a database in its cluster.
#[derive(Clone, Debug)]
pub struct Seat(WriterHandle);

impl Seat {
    /// The seat of a database whose settings say `cluster`. `None`: it has none.
    pub fn of(context: &NamingContext) -> Option<Self> {
        context.settings.cluster.as_ref()?;
        context.backend.own_writer().cloned().map(Self)
    }

    /// From now on this is the log. Without one the database takes no writes.
    pub fn take_log(&self, log: Option<Box<dyn CommitLog>>) {
        self.0.log().set(log);
        self.0.received();
    }

    /// The log has something: the writer asks it.
    pub fn call(&self) {
        self.0.received();
    }
}
