//! From a database that cannot follow the log to one that can.

use std::{fs::OpenOptions, os::unix::fs::OpenOptionsExt, sync::Arc};

use ironbark_directory::{NamingContext, open};
use ironbark_runtime::spawn_named;
use ironbark_store::{ClusterLogPlace, Staging};
use tokio::{runtime::Builder, sync::oneshot, task::LocalSet};

use super::{Host, receive::receive_copy};
use crate::{error::CopyError, membership::Membership};

/// The part of a session that gets copies for its database.
pub(crate) struct Fetcher {
    pub(crate) member: Arc<Membership>,
    pub(crate) context: Arc<NamingContext>,
    pub(crate) host: Arc<dyn Host>,
}

impl Fetcher {
    /// Gets a copy and makes it the database. If that succeeds, the session ends meanwhile, since it is one of the
    /// former database; a thread of its own does the work, which ends if the session ends before.
    ///
    /// # Errors
    /// The copy could not be stored, or was not sound: why.
    pub(crate) async fn fetch(self, end: ClusterLogPlace) -> Result<(), CopyError> {
        let (done, result) = oneshot::channel();
        let (_wanted, unwanted) = oneshot::channel::<()>();
        spawn_named("copy", move || {
            // Nobody may be there to hear it.
            let _ = done.send(self.run(end, unwanted));
        })?;
        result.await.unwrap_or_else(|_| Err(CopyError::ThreadEnded))
    }

    /// The same, on the thread.
    fn run(self, end: ClusterLogPlace, unwanted: oneshot::Receiver<()>) -> Result<(), CopyError> {
        let settings = &self.context.settings;
        let folder = settings.directory.clone();
        let staging = Staging::new(&folder)?;
        self.receive(&staging, unwanted)?;
        tracing::info!(target: "any", "cluster: {}: a copy has come, and is checked", self.member.suffix);
        self.member.shared.set_copied(None);
        let (options, schema) = (open::options(settings), self.host.schema());
        let entries = staging.verify(&options, &schema, &mut |_, _| ())?;
        let place = staging
            .open(&options, &schema)
            .and_then(|database| database.snapshot()?.view().log_place())?;
        if place.position.generation != end.position.generation
            || place.position.sequence < self.member.shared.place().position.sequence
        {
            return Err(CopyError::OtherLog);
        }
        let (suffix, host) = (self.member.suffix.clone(), self.host);
        // The former database is closed when nobody uses it.
        drop((self.context, self.member));
        // It is freed when the database is served again.
        let mut former = None;
        let install = || {
            staging.take_followers(&folder, &options, &schema)?;
            former = staging.replace(&folder)?;
            Ok(())
        };
        host.renew(&folder, Box::new(install))?;
        drop(former);
        tracing::info!(
            target: "any",
            "cluster: {suffix}: a copy with {entries} entries and all changes up to {} is in place",
            place.position.sequence
        );
        Ok(())
    }

    fn receive(&self, staging: &Staging, unwanted: oneshot::Receiver<()>) -> Result<(), CopyError> {
        let mode = self.context.settings.mdb.mode & 0o777;
        let path = staging.file();
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path);
        let file = file.map_err(|error| CopyError::File {
            path: path.display().to_string(),
            error,
        })?;
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let key = self.member.keys.asker(self.member.shared.id);
        let received = LocalSet::new().block_on(&runtime, async {
            tokio::select! {
                received = receive_copy(&self.member, &key, staging, &file) => received,
                _ = unwanted => Err(CopyError::NotWanted),
            }
        });
        if received.is_err() {
            self.member.shared.set_copied(None);
        }
        received
    }
}
