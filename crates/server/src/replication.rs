//! The consumers of this server, as its configuration says.

use std::sync::Arc;

use ironbark_directory::Service;
use ironbark_replication::{Consumers, Status, lines};

/// The consumers of this server.
pub(crate) struct Replication {
    directory: Arc<Service>,
    consumers: Consumers,
}

impl Replication {
    /// Without consumers, until [`Self::configure`].
    pub(crate) fn new(directory: Arc<Service>) -> Self {
        Self {
            consumers: Consumers::new(Arc::clone(&directory)),
            directory,
        }
    }

    /// Lets the consumers run that the configuration in force has.
    pub(crate) fn configure(&self) {
        let configuration = self.directory.configuration();
        self.consumers.run(lines(&configuration, self.directory.server_id()));
    }

    /// What the consumers are doing.
    pub(crate) fn status(&self) -> Vec<Status> {
        self.consumers.status()
    }

    /// Ends all consumers.
    pub(crate) fn close(&self) {
        self.consumers.close();
    }
}
